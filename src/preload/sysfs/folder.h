/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTNIC_PRELOAD_FOLDER_H
#define SOFTNIC_PRELOAD_FOLDER_H

#include <stdbool.h>

/* True if reading that folder shows something of ours: the C library cannot do it alone. */
bool pre_folder_shows_ours(int dirfd, const char *path);

#endif
