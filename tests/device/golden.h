/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WQEs, doorbells and records byte by byte, written down from the Programmer's Reference Manual's formats, for QPN 0xabcdef,
 * WQE index 0x1234, keys given as 0x44332211 (rkey) and 0x88776655 (lkey), remote address 0x0102030405060708, local address
 * 0x1112131415161718. The host and the device test read the same table.
 */
#ifndef TESTS_DEVICE_GOLDEN_H
#define TESTS_DEVICE_GOLDEN_H

#define GOLDEN_QPN    0xabcdefu
#define GOLDEN_INDEX  0x1234
#define GOLDEN_RKEY   0x44332211u
#define GOLDEN_LKEY   0x88776655u
#define GOLDEN_RADDR  0x0102030405060708ull
#define GOLDEN_LADDR  0x1112131415161718ull
#define GOLDEN_LADDR1 0x2122232425262728ull

enum golden_case {
    GOLDEN_NOP,
    GOLDEN_WRITE,
    GOLDEN_WRITE_FENCED,
    GOLDEN_WRITE_IMM,
    GOLDEN_WRITE_2,
    GOLDEN_WRITE_31_BITS,
    GOLDEN_INLINE_1,
    GOLDEN_INLINE_4,
    GOLDEN_INLINE_8,
    GOLDEN_INLINE_12,
    GOLDEN_INLINE_13,
    GOLDEN_INLINE_28,
    GOLDEN_READ,
    GOLDEN_READ_2,
    GOLDEN_FETCH_ADD,
    GOLDEN_CMP_SWAP,
    GOLDEN_MASKED_FA_4,
    GOLDEN_MASKED_FA_8,
    GOLDEN_MASKED_CS_4,
    GOLDEN_MASKED_CS_8,
    GOLDEN_MASKED_BAD_OPCODE,
    GOLDEN_WAIT,
    GOLDEN_DUMP,
    GOLDEN_COUNT
};

/* Inline data of n bytes is a0 a1 a2 ... */
#define GOLDEN_RSEG "0102030405060708 11223344 00000000 "
#define GOLDEN_DSEG "00001000 55667788 1112131415161718 "

static const char *const golden_bytes[GOLDEN_COUNT] = {
    [GOLDEN_NOP] = "00123400 abcdef01 00000008 00000000",
    [GOLDEN_WRITE] = "00123408 abcdef03 00000008 00000000 " GOLDEN_RSEG GOLDEN_DSEG,
    [GOLDEN_WRITE_FENCED] = "00123408 abcdef03 00000048 00000000 " GOLDEN_RSEG GOLDEN_DSEG,
    [GOLDEN_WRITE_IMM] = "00123409 abcdef03 0000000a ddccbbaa " GOLDEN_RSEG GOLDEN_DSEG, /* signalled and solicited */
    [GOLDEN_WRITE_2] =
        "00123408 abcdef04 00000000 00000000 " GOLDEN_RSEG GOLDEN_DSEG "00000020 55667788 2122232425262728", /* unsignalled */
    [GOLDEN_WRITE_31_BITS] =
        "00123408 abcdef03 00000008 00000000 " GOLDEN_RSEG "7fffffff 55667788 1112131415161718", /* not an inline header */
    [GOLDEN_INLINE_1] = "00123408 abcdef03 00000008 00000000 " GOLDEN_RSEG "80000001 a0000000 00000000 00000000",
    [GOLDEN_INLINE_4] = "00123408 abcdef03 00000008 00000000 " GOLDEN_RSEG "80000004 a0a1a2a3 00000000 00000000",
    [GOLDEN_INLINE_8] = "00123408 abcdef03 00000008 00000000 " GOLDEN_RSEG "80000008 a0a1a2a3 a4a5a6a7 00000000",
    [GOLDEN_INLINE_12] = "00123408 abcdef03 00000008 00000000 " GOLDEN_RSEG "8000000c a0a1a2a3 a4a5a6a7 a8a9aaab",
    [GOLDEN_INLINE_13] = "00123408 abcdef04 00000008 00000000 " GOLDEN_RSEG "8000000d a0a1a2a3 a4a5a6a7 a8a9aaab"
                         "ac000000 00000000 00000000 00000000",
    [GOLDEN_INLINE_28] = "00123408 abcdef04 00000008 00000000 " GOLDEN_RSEG "8000001c a0a1a2a3 a4a5a6a7 a8a9aaab"
                         "acadaeaf b0b1b2b3 b4b5b6b7 b8b9babb",
    [GOLDEN_READ] = "00123410 abcdef03 00000008 00000000 " GOLDEN_RSEG GOLDEN_DSEG,
    [GOLDEN_READ_2] = "00123410 abcdef04 00000008 00000000 " GOLDEN_RSEG GOLDEN_DSEG "00000020 55667788 2122232425262728",
    /* addend 0x3132333435363738 */
    [GOLDEN_FETCH_ADD] = "00123412 abcdef04 00000008 00000000 " GOLDEN_RSEG
                         "3132333435363738 0000000000000000 00000008 55667788 1112131415161718",
    /* compare 0x3132333435363738, swap 0x4142434445464748: swap comes first */
    [GOLDEN_CMP_SWAP] = "00123411 abcdef04 00000008 00000000 " GOLDEN_RSEG
                        "4142434445464748 3132333435363738 00000008 55667788 1112131415161718",
    /* add 0x51525354, boundary as given 0x61626364 */
    [GOLDEN_MASKED_FA_4] = "08123415 abcdef04 00000008 00000000 " GOLDEN_RSEG
                           "51525354 64636261 0000000000000000 00000004 55667788 1112131415161718",
    [GOLDEN_MASKED_FA_8] = "09123415 abcdef04 00000008 00000000 " GOLDEN_RSEG
                           "0000000051525354 6463626100000000 00000008 55667788 1112131415161718",
    /* swap 0x71727374, compare as given 0x81828384, swap mask 0x91929394, compare mask as given 0xc1c2c3c4 */
    [GOLDEN_MASKED_CS_4] = "08123414 abcdef04 00000008 00000000 " GOLDEN_RSEG
                           "71727374 84838281 91929394 c4c3c2c1 00000004 55667788 1112131415161718",
    [GOLDEN_MASKED_CS_8] = "09123414 abcdef05 00000008 00000000 " GOLDEN_RSEG
                           "0000000071727374 8483828100000000 0000000091929394 c4c3c2c100000000"
                           "00000008 55667788 1112131415161718",
    [GOLDEN_MASKED_BAD_OPCODE] = "00000000 00000000 00000000 00000000",
    [GOLDEN_WAIT] = "0012340f abcdef02 00000008 00000000 0000000000000000 fedcba98 00765432",
    [GOLDEN_DUMP] = "00123423 abcdef02 00000008 00000000 00000001 55667788 1112131415161718",
};

#define GOLDEN_ADD           0x51525354u
#define GOLDEN_BOUNDARY      0x61626364u
#define GOLDEN_SWAP          0x71727374u
#define GOLDEN_COMPARE       0x81828384u
#define GOLDEN_SWAP_MASK     0x91929394u
#define GOLDEN_COMPARE_MASK  0xc1c2c3c4u
#define GOLDEN_ATOMIC_ADD    0x3132333435363738ull
#define GOLDEN_ATOMIC_SWAP   0x4142434445464748ull
#define GOLDEN_WAIT_INDEX    0xfedcba98u
#define GOLDEN_WAIT_CQN      0x765432u

/* Producer index 0x123456: the register keeps bits 0..23 of it, the record bits 0..15. */
#define GOLDEN_PRODUCER 0x123456ull
static const char *const golden_doorbell = "12345600 abcdef00";
static const char *const golden_record = "00003456";

/* Bytes of a hex text; returns how many. */
static inline unsigned golden_parse(const char *text, unsigned char *out)
{
    unsigned nibbles = 0;
    for (; *text != '\0'; text++) {
        if (*text == ' ')
            continue;
        unsigned v = (unsigned)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
        if (nibbles % 2 == 0)
            out[nibbles / 2] = (unsigned char)(v << 4);
        else
            out[nibbles / 2] |= (unsigned char)v;
        nibbles++;
    }
    return nibbles / 2;
}

#endif
