/* SPDX-License-Identifier: Apache-2.0 */
/* `gdaki info` gathers everything as one JSON tree; the text form is printed from it. */
#ifndef GDAKI_TOOL_INFO_H
#define GDAKI_TOOL_INFO_H

#include <jansson.h>
#include <stdio.h>

json_t *info_gpus(void);
json_t *info_nics(void);
json_t *info_choices(void);     /* seams, queue memory, SDK, softnic */
json_t *info_doorbells(void);   /* each mode: usable, or why not */
json_t *info_environment(void); /* all variables */

/* A function of libsoftnic, which the library under us may have loaded out of our sight; NULL if it is not loaded. */
void *info_softnic_symbol(const char *symbol);

void info_print(const json_t *root, FILE *out);

#endif
