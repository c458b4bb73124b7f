/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files: refused with a reason, or taken; what is taken, printed and read again is the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "sim/scenario.h"

static char *print(const struct sim_scenario *sc, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);

    FUZZ_CHECK(out != NULL, "no memory");
    sim_scenario_print(sc, out);
    fclose(out);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sim_scenario first, second;
    char why[SIM_WHY_SIZE] = "";
    char *text, *again;
    size_t length, length2;
    int rc = sim_scenario_parse("fuzz", (const char *)data, size, &first, why);

    if (rc != 0) {
        FUZZ_CHECK(rc < 0 && why[0] != '\0' && memchr(why, '\0', sizeof(why)) != NULL, "refused with %d and no reason", rc);
        sim_scenario_free(&first);
        return 0;
    }
    text = print(&first, &length);
    rc = sim_scenario_parse("again", text, length, &second, why);
    FUZZ_CHECK(rc == 0, "its own print is refused: %s\n%s", why, text);
    again = print(&second, &length2);
    FUZZ_CHECK(length == length2 && memcmp(text, again, length) == 0, "printed twice and not the same:\n%s\n%s", text, again);
    free(text);
    free(again);
    sim_scenario_free(&first);
    sim_scenario_free(&second);
    return 0;
}
