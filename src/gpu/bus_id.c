/* SPDX-License-Identifier: Apache-2.0 */
/* PCI bus ids as users type them. */
#include "gpu/internal.h"

#include <ctype.h>
#include <errno.h>

/* Up to `digits` hexadecimal digits; NULL when there is none or one too many. */
static const char *hex_field(const char *p, int digits, unsigned *out)
{
    unsigned value = 0;
    int seen = 0;

    for (; isxdigit((unsigned char)*p); p++, seen++) {
        int c = tolower((unsigned char)*p);

        value = value * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        if (seen == digits)
            return NULL;
    }
    *out = value;
    return seen > 0 ? p : NULL;
}

int gdaki_bus_id_parse(const char *text, struct gdaki_bus_id *out)
{
    struct gdaki_bus_id id = {0};
    unsigned fields[3];
    int count = 0;
    const char *p = text;

    do {
        if (count == 3)
            return -EINVAL;
        p = hex_field(count == 0 ? p : p + 1, 8, &fields[count]);
        if (p == NULL)
            return -EINVAL;
        count++;
    } while (*p == ':');
    if (count < 2)
        return -EINVAL;
    if (*p == '.') {
        p = hex_field(p + 1, 1, &id.function);
        if (p == NULL)
            return -EINVAL;
    }
    if (*p != '\0')
        return -EINVAL;
    id.domain = count == 3 ? fields[0] : 0;
    id.bus = fields[count - 2];
    id.device = fields[count - 1];
    if (id.bus > 0xff || id.device > 0x1f || id.function > 7)
        return -EINVAL;
    *out = id;
    return 0;
}
