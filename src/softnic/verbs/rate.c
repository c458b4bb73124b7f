/* SPDX-License-Identifier: Apache-2.0 */
/* Static rates (IBTA vol. 1, 9.11.1): what the codes of enum ibv_rate stand for. */
#include "softnic/verbs/local.h"

/* `mult`: times 2.5 Gbit/s, for the codes that have one; `mbps`: data rate of the link, in Mbit/s. */
static const struct {
    enum ibv_rate code;
    int mult, mbps;
} rates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500},     {IBV_RATE_5_GBPS, 2, 5000},       {IBV_RATE_10_GBPS, 4, 10000},
    {IBV_RATE_20_GBPS, 8, 20000},     {IBV_RATE_30_GBPS, 12, 30000},    {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000},    {IBV_RATE_80_GBPS, 32, 80000},    {IBV_RATE_120_GBPS, 48, 120000},
    {IBV_RATE_14_GBPS, 0, 14062},     {IBV_RATE_56_GBPS, 0, 56250},     {IBV_RATE_112_GBPS, 0, 112500},
    {IBV_RATE_168_GBPS, 0, 168750},   {IBV_RATE_25_GBPS, 0, 25781},     {IBV_RATE_100_GBPS, 0, 103125},
    {IBV_RATE_200_GBPS, 0, 206250},   {IBV_RATE_300_GBPS, 0, 309375},   {IBV_RATE_28_GBPS, 11, 28125},
    {IBV_RATE_50_GBPS, 20, 53125},    {IBV_RATE_400_GBPS, 160, 425000}, {IBV_RATE_600_GBPS, 240, 637500},
    {IBV_RATE_800_GBPS, 320, 850000}, {IBV_RATE_1200_GBPS, 480, 1275000},
};
enum { RATES = sizeof(rates) / sizeof(rates[0]) };

int softnic_ibv_rate_to_mult(enum ibv_rate rate)
{
    for (unsigned i = 0; i < RATES; i++)
        if (rates[i].code == rate && rates[i].mult)
            return rates[i].mult;
    return -1;
}

enum ibv_rate softnic_mult_to_ibv_rate(int mult)
{
    for (unsigned i = 0; mult > 0 && i < RATES; i++)
        if (rates[i].mult == mult)
            return rates[i].code;
    return IBV_RATE_MAX;
}

int softnic_ibv_rate_to_mbps(enum ibv_rate rate)
{
    for (unsigned i = 0; i < RATES; i++)
        if (rates[i].code == rate)
            return rates[i].mbps;
    return -1;
}

enum ibv_rate softnic_mbps_to_ibv_rate(int mbps)
{
    for (unsigned i = 0; i < RATES; i++)
        if (rates[i].mbps == mbps)
            return rates[i].code;
    return IBV_RATE_MAX;
}
