/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/prm/check.h"

#include <errno.h>
#include <string.h>

struct field {
    uint8_t id;
    uint8_t width;
    uint16_t bit;
};

#define ONE_ROW(s, f, first, bits) {PRM_ID_##s, bits, first},
static const struct field fields[] = {PRM_FIELDS(ONE_ROW)};

static void clear_known(uint8_t *copy, const struct prm_layout *layout)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].id == layout->id)
            prm_set_bits(copy + layout->at, fields[i].bit, fields[i].width, 0);
}

int prm_check_layout(const void *in, size_t inlen, size_t size, const struct prm_layout *layout, size_t count,
                     size_t free_at, size_t free_bytes, struct prm_call *call)
{
    if (!in || inlen < size)
        return prm_refuse(call, PRM_STATUS_BAD_INPUT_LEN, PRM_WHY_INPUT_LENGTH, "input of %zu bytes, %zu needed",
                          in ? inlen : 0, size);
    if (inlen > PRM_MAX_INPUT)
        return prm_refuse(call, PRM_STATUS_BAD_INPUT_LEN, PRM_WHY_INPUT_LENGTH, "input of %zu bytes, at most %d", inlen,
                          (int)PRM_MAX_INPUT);
    uint8_t copy[PRM_MAX_INPUT];
    memcpy(copy, in, inlen);
    for (size_t i = 0; i < count; i++)
        clear_known(copy, &layout[i]);
    memset(copy + free_at, 0, free_bytes);
    for (size_t i = 0; i < inlen; i++)
        if (copy[i])
            return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_RESERVED,
                              "byte 0x%zx has bits 0x%02x, which are not modelled", i, copy[i]);
    return 0;
}
