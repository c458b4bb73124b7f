/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/verbs/stats.h"

#include <stdatomic.h>
#include <string.h>

#include "gdaki/softnic.h"
#include "softnic/verbs/log.h"
#include "softnic/wire/shm.h"

static atomic_ullong commands;

void sv_count_command(void)
{
    atomic_fetch_add_explicit(&commands, 1, memory_order_relaxed);
}

size_t softnic_stats(struct softnic_stats *stats, size_t size)
{
    struct sn_shm_counters shm;
    sn_shm_count(&shm);
    struct softnic_stats s = {.commands = atomic_load_explicit(&commands, memory_order_relaxed),
                              .refused = sv_log_refused(),
                              .shm_bursts_sent = shm.bursts_sent,
                              .shm_bytes_sent = shm.bytes_sent,
                              .shm_bursts_received = shm.bursts_received,
                              .shm_bytes_received = shm.bytes_received,
                              .shm_wakes = shm.wakes,
                              .shm_connections = shm.connections,
                              .shm_peers_lost = shm.peers_lost,
                              .shm_bad_records = shm.bad_records};
    if (stats)
        memcpy(stats, &s, size < sizeof(s) ? size : sizeof(s));
    return sizeof(s);
}
