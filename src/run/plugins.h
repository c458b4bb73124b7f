/* SPDX-License-Identifier: Apache-2.0 */
/* Files that well-known libraries open by convention: no table in their ELF files names them. */
#ifndef SOFTNIC_RUN_PLUGINS_H
#define SOFTNIC_RUN_PLUGINS_H

/* Calls `found` for each plugin of the library `name` that lies where the library at `path` looks; links resolved. */
void plugins_of(const char *name, const char *path, void (*found)(void *arg, const char *plugin), void *arg);

#endif
