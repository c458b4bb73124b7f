/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's vector types, for `cpu`. Sizes and alignments are CUDA's, so structures laid out by nvcc and by g++ agree.
 */
#ifndef GDAKI_CPU_VECTOR_TYPES_H
#define GDAKI_CPU_VECTOR_TYPES_H

typedef struct char1 {
    signed char x;
} char1;
typedef struct char2 {
    signed char x, y;
} __attribute__((aligned(2))) char2;
typedef struct char3 {
    signed char x, y, z;
} char3;
typedef struct char4 {
    signed char x, y, z, w;
} __attribute__((aligned(4))) char4;
typedef struct uchar1 {
    unsigned char x;
} uchar1;
typedef struct uchar2 {
    unsigned char x, y;
} __attribute__((aligned(2))) uchar2;
typedef struct uchar3 {
    unsigned char x, y, z;
} uchar3;
typedef struct uchar4 {
    unsigned char x, y, z, w;
} __attribute__((aligned(4))) uchar4;
typedef struct short1 {
    short x;
} short1;
typedef struct short2 {
    short x, y;
} __attribute__((aligned(4))) short2;
typedef struct short3 {
    short x, y, z;
} short3;
typedef struct short4 {
    short x, y, z, w;
} __attribute__((aligned(8))) short4;
typedef struct ushort1 {
    unsigned short x;
} ushort1;
typedef struct ushort2 {
    unsigned short x, y;
} __attribute__((aligned(4))) ushort2;
typedef struct ushort3 {
    unsigned short x, y, z;
} ushort3;
typedef struct ushort4 {
    unsigned short x, y, z, w;
} __attribute__((aligned(8))) ushort4;
typedef struct int1 {
    int x;
} int1;
typedef struct int2 {
    int x, y;
} __attribute__((aligned(8))) int2;
typedef struct int3 {
    int x, y, z;
} int3;
typedef struct int4 {
    int x, y, z, w;
} __attribute__((aligned(16))) int4;
typedef struct uint1 {
    unsigned int x;
} uint1;
typedef struct uint2 {
    unsigned int x, y;
} __attribute__((aligned(8))) uint2;
typedef struct uint3 {
    unsigned int x, y, z;
} uint3;
typedef struct uint4 {
    unsigned int x, y, z, w;
} __attribute__((aligned(16))) uint4;
typedef struct long1 {
    long int x;
} long1;
typedef struct long2 {
    long int x, y;
} __attribute__((aligned(16))) long2;
typedef struct long3 {
    long int x, y, z;
} long3;
typedef struct long4 {
    long int x, y, z, w;
} __attribute__((aligned(16))) long4;
typedef struct ulong1 {
    unsigned long int x;
} ulong1;
typedef struct ulong2 {
    unsigned long int x, y;
} __attribute__((aligned(16))) ulong2;
typedef struct ulong3 {
    unsigned long int x, y, z;
} ulong3;
typedef struct ulong4 {
    unsigned long int x, y, z, w;
} __attribute__((aligned(16))) ulong4;
typedef struct longlong1 {
    long long int x;
} longlong1;
typedef struct longlong2 {
    long long int x, y;
} __attribute__((aligned(16))) longlong2;
typedef struct longlong3 {
    long long int x, y, z;
} longlong3;
typedef struct longlong4 {
    long long int x, y, z, w;
} __attribute__((aligned(16))) longlong4;
typedef struct ulonglong1 {
    unsigned long long int x;
} ulonglong1;
typedef struct ulonglong2 {
    unsigned long long int x, y;
} __attribute__((aligned(16))) ulonglong2;
typedef struct ulonglong3 {
    unsigned long long int x, y, z;
} ulonglong3;
typedef struct ulonglong4 {
    unsigned long long int x, y, z, w;
} __attribute__((aligned(16))) ulonglong4;
typedef struct float1 {
    float x;
} float1;
typedef struct float2 {
    float x, y;
} __attribute__((aligned(8))) float2;
typedef struct float3 {
    float x, y, z;
} float3;
typedef struct float4 {
    float x, y, z, w;
} __attribute__((aligned(16))) float4;
typedef struct double1 {
    double x;
} double1;
typedef struct double2 {
    double x, y;
} __attribute__((aligned(16))) double2;
typedef struct double3 {
    double x, y, z;
} double3;
typedef struct double4 {
    double x, y, z, w;
} __attribute__((aligned(16))) double4;

typedef struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
    {
    }
    constexpr operator uint3() const
    {
        return uint3{x, y, z};
    }
#endif
} dim3;

static inline char1 make_char1(signed char x)
{
    char1 v = {x};
    return v;
}
static inline char2 make_char2(signed char x, signed char y)
{
    char2 v = {x, y};
    return v;
}
static inline char3 make_char3(signed char x, signed char y, signed char z)
{
    char3 v = {x, y, z};
    return v;
}
static inline char4 make_char4(signed char x, signed char y, signed char z, signed char w)
{
    char4 v = {x, y, z, w};
    return v;
}
static inline uchar1 make_uchar1(unsigned char x)
{
    uchar1 v = {x};
    return v;
}
static inline uchar2 make_uchar2(unsigned char x, unsigned char y)
{
    uchar2 v = {x, y};
    return v;
}
static inline uchar3 make_uchar3(unsigned char x, unsigned char y, unsigned char z)
{
    uchar3 v = {x, y, z};
    return v;
}
static inline uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w)
{
    uchar4 v = {x, y, z, w};
    return v;
}
static inline short1 make_short1(short x)
{
    short1 v = {x};
    return v;
}
static inline short2 make_short2(short x, short y)
{
    short2 v = {x, y};
    return v;
}
static inline short3 make_short3(short x, short y, short z)
{
    short3 v = {x, y, z};
    return v;
}
static inline short4 make_short4(short x, short y, short z, short w)
{
    short4 v = {x, y, z, w};
    return v;
}
static inline ushort1 make_ushort1(unsigned short x)
{
    ushort1 v = {x};
    return v;
}
static inline ushort2 make_ushort2(unsigned short x, unsigned short y)
{
    ushort2 v = {x, y};
    return v;
}
static inline ushort3 make_ushort3(unsigned short x, unsigned short y, unsigned short z)
{
    ushort3 v = {x, y, z};
    return v;
}
static inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w)
{
    ushort4 v = {x, y, z, w};
    return v;
}
static inline int1 make_int1(int x)
{
    int1 v = {x};
    return v;
}
static inline int2 make_int2(int x, int y)
{
    int2 v = {x, y};
    return v;
}
static inline int3 make_int3(int x, int y, int z)
{
    int3 v = {x, y, z};
    return v;
}
static inline int4 make_int4(int x, int y, int z, int w)
{
    int4 v = {x, y, z, w};
    return v;
}
static inline uint1 make_uint1(unsigned int x)
{
    uint1 v = {x};
    return v;
}
static inline uint2 make_uint2(unsigned int x, unsigned int y)
{
    uint2 v = {x, y};
    return v;
}
static inline uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z)
{
    uint3 v = {x, y, z};
    return v;
}
static inline uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w)
{
    uint4 v = {x, y, z, w};
    return v;
}
static inline long1 make_long1(long int x)
{
    long1 v = {x};
    return v;
}
static inline long2 make_long2(long int x, long int y)
{
    long2 v = {x, y};
    return v;
}
static inline long3 make_long3(long int x, long int y, long int z)
{
    long3 v = {x, y, z};
    return v;
}
static inline long4 make_long4(long int x, long int y, long int z, long int w)
{
    long4 v = {x, y, z, w};
    return v;
}
static inline ulong1 make_ulong1(unsigned long int x)
{
    ulong1 v = {x};
    return v;
}
static inline ulong2 make_ulong2(unsigned long int x, unsigned long int y)
{
    ulong2 v = {x, y};
    return v;
}
static inline ulong3 make_ulong3(unsigned long int x, unsigned long int y, unsigned long int z)
{
    ulong3 v = {x, y, z};
    return v;
}
static inline ulong4 make_ulong4(unsigned long int x, unsigned long int y, unsigned long int z, unsigned long int w)
{
    ulong4 v = {x, y, z, w};
    return v;
}
static inline longlong1 make_longlong1(long long int x)
{
    longlong1 v = {x};
    return v;
}
static inline longlong2 make_longlong2(long long int x, long long int y)
{
    longlong2 v = {x, y};
    return v;
}
static inline longlong3 make_longlong3(long long int x, long long int y, long long int z)
{
    longlong3 v = {x, y, z};
    return v;
}
static inline longlong4 make_longlong4(long long int x, long long int y, long long int z, long long int w)
{
    longlong4 v = {x, y, z, w};
    return v;
}
static inline ulonglong1 make_ulonglong1(unsigned long long int x)
{
    ulonglong1 v = {x};
    return v;
}
static inline ulonglong2 make_ulonglong2(unsigned long long int x, unsigned long long int y)
{
    ulonglong2 v = {x, y};
    return v;
}
static inline ulonglong3 make_ulonglong3(unsigned long long int x, unsigned long long int y, unsigned long long int z)
{
    ulonglong3 v = {x, y, z};
    return v;
}
static inline ulonglong4 make_ulonglong4(unsigned long long int x, unsigned long long int y, unsigned long long int z, unsigned long long int w)
{
    ulonglong4 v = {x, y, z, w};
    return v;
}
static inline float1 make_float1(float x)
{
    float1 v = {x};
    return v;
}
static inline float2 make_float2(float x, float y)
{
    float2 v = {x, y};
    return v;
}
static inline float3 make_float3(float x, float y, float z)
{
    float3 v = {x, y, z};
    return v;
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    float4 v = {x, y, z, w};
    return v;
}
static inline double1 make_double1(double x)
{
    double1 v = {x};
    return v;
}
static inline double2 make_double2(double x, double y)
{
    double2 v = {x, y};
    return v;
}
static inline double3 make_double3(double x, double y, double z)
{
    double3 v = {x, y, z};
    return v;
}
static inline double4 make_double4(double x, double y, double z, double w)
{
    double4 v = {x, y, z, w};
    return v;
}

#endif
