/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration: values of the SOFTNIC_* variables. Refused with the variable's name, or within its limits. */
#include <stdlib.h>
#include <string.h>

#include "gdaki/softnic.h"
#include "rig.h"
#include "softnic/verbs/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, size};
    size_t rows;
    const struct softnic_env *table = softnic_env_table(&rows);
    struct sv_config config, untouched;

    for (size_t i = 0; i < rows; i++)
        unsetenv(table[i].name);
    setenv("SOFTNIC_LOG", "off", 1);
    for (unsigned n = 0; n < 4 && in.left != 0; n++) {
        char value[256] = "";
        const char *name = table[fuzz_u8(&in) % rows].name;
        fuzz_bytes(&in, value, fuzz_u8(&in) % sizeof(value));
        value[sizeof(value) - 1] = '\0';
        if (strcmp(name, "SOFTNIC_LOG") != 0 || strlen(value) < 3 || value[0] == 'o') /* the loud levels are slow */
            setenv(name, value, 1);
    }
    memset(&config, 0x5c, sizeof(config));
    memset(&untouched, 0x5c, sizeof(untouched));
    if (sv_config_read(&config) != 0) {
        FUZZ_CHECK(memcmp(&config, &untouched, sizeof(config)) == 0, "refused, and changed");
        FUZZ_CHECK(softnic_last_error()[0] != '\0', "refused without a reason");
        return 0;
    }
    FUZZ_CHECK(config.devices >= 1 && config.devices <= SV_MAX_DEVICES, "%u devices", config.devices);
    FUZZ_CHECK(config.ring_bytes >= 65536 && (config.ring_bytes & (config.ring_bytes - 1)) == 0, "ring of %zu", config.ring_bytes);
    return 0;
}
