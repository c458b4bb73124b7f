/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTNIC_VERBS_STATS_H
#define SOFTNIC_VERBS_STATS_H

void sv_count_command(void); /* one DEVX command reached the NIC */

#endif
