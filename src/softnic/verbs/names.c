/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/verbs/names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "softnic/verbs/log.h"

/* What a folder of sysfs may be called, and nothing that a path or a client's filter would read otherwise. */
static bool is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    return length && !text[length] && length < SV_NAME_BYTES && text[0] != '.' && text[0] != '-';
}

static bool is_prefix(const char *text, unsigned devices)
{
    size_t length = strlen(text);
    return !strchr(text, ',') && (devices > 1 || !length || !isdigit((unsigned char)text[length - 1]));
}

/* The index-th word between commas; false where there is none or it is too long. */
static bool word_of(const char *text, unsigned index, char out[SV_NAME_BYTES])
{
    for (; index; index--) {
        text = strchr(text, ',');
        if (!text)
            return false;
        text++;
    }
    size_t length = strcspn(text, ",");
    if (length >= SV_NAME_BYTES)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

void sv_names_of(const char *text, unsigned devices, unsigned index, char out[SV_NAME_BYTES])
{
    if (is_prefix(text, devices))
        snprintf(out, SV_NAME_BYTES, "%.60s%u", text, index);
    else if (!word_of(text, index, out))
        out[0] = '\0';
}

static bool is_repeated(const char *text, unsigned index, const char *name)
{
    char other[SV_NAME_BYTES];
    for (unsigned i = 0; i < index; i++)
        if (word_of(text, i, other) && !strcmp(other, name))
            return true;
    return false;
}

int sv_names_check(const char *text, unsigned devices)
{
    char name[SV_NAME_BYTES];
    unsigned words = 1;
    if (strlen(text) >= SV_NAMES_BYTES)
        return -sv_refuse(EINVAL, "SOFTNIC_NAMES: %zu bytes are too long", strlen(text));
    if (is_prefix(text, devices)) {
        if (strlen(text) > SV_NAME_BYTES - 4 || !is_name(text))
            return -sv_refuse(EINVAL, "SOFTNIC_NAMES=%s: expected a prefix such as mlx5_ of letters, digits, _ . -", text);
        return 0;
    }
    for (const char *p = text; *p; p++)
        words += *p == ',';
    if (words != devices)
        return -sv_refuse(EINVAL, "SOFTNIC_NAMES=%s: %u names for %u devices", text, words, devices);
    for (unsigned i = 0; i < words; i++) {
        if (!word_of(text, i, name) || !is_name(name))
            return -sv_refuse(EINVAL, "SOFTNIC_NAMES=%s: name %u: expected letters, digits, _ . - (at most 63)", text,
                              i + 1);
        if (is_repeated(text, i, name))
            return -sv_refuse(EINVAL, "SOFTNIC_NAMES=%s: %s stands there twice", text, name);
    }
    return 0;
}

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* Not "any", multicast or reserved (IPv4's 224/4 and 240/4). */
static bool is_station(const uint8_t gid[16])
{
    static const uint8_t none[16];
    if (!memcmp(gid, mapped, sizeof(mapped)))
        return gid[12] < 224 && memcmp(gid + 12, none, 4) != 0;
    return memcmp(gid, none, 16) != 0 && gid[0] != 0xff;
}

/* As an address of ibv_gid: IPv4 mapped into IPv6. */
static bool to_gid(const char *text, uint8_t gid[16])
{
    if (inet_pton(AF_INET, text, gid + 12) == 1)
        memcpy(gid, mapped, sizeof(mapped));
    else if (inet_pton(AF_INET6, text, gid) != 1)
        return false;
    return is_station(gid);
}

int sv_gids_parse(const char *text, uint8_t (*out)[16], unsigned room)
{
    char word[SV_NAME_BYTES];
    unsigned count = 0;
    while (*text && word_of(text, count, word)) {
        if (count == room)
            return -sv_refuse(EINVAL, "SOFTNIC_GID=%s: more addresses than devices (%u)", text, room);
        if (!to_gid(word, out[count]))
            return -sv_refuse(EINVAL, "SOFTNIC_GID=%s: %s: expected an IPv4 or IPv6 address of one station", text, word);
        for (unsigned i = 0; i < count; i++)
            if (!memcmp(out[i], out[count], 16))
                return -sv_refuse(EINVAL, "SOFTNIC_GID=%s: %s stands there twice", text, word);
        count++;
    }
    return (int)count;
}
