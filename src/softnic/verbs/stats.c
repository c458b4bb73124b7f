/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/verbs/stats.h"

#include <stdatomic.h>
#include <string.h>

#include "gdaki/softnic.h"
#include "softnic/verbs/log.h"
#include "softnic/wire/packet_wire.h"
#include "softnic/wire/shm.h"

static atomic_ullong commands;

void sv_count_command(void)
{
    atomic_fetch_add_explicit(&commands, 1, memory_order_relaxed);
}

size_t softnic_stats(struct softnic_stats *stats, size_t size)
{
    struct sn_shm_counters shm;
    struct sn_packet_counters f;
    sn_shm_count(&shm);
    sn_packet_count(&f);
    struct softnic_stats s = {.commands = atomic_load_explicit(&commands, memory_order_relaxed),
                              .refused = sv_log_refused(),
                              .shm_bursts_sent = shm.bursts_sent,
                              .shm_bytes_sent = shm.bytes_sent,
                              .shm_bursts_received = shm.bursts_received,
                              .shm_bytes_received = shm.bytes_received,
                              .shm_wakes = shm.wakes,
                              .shm_connections = shm.connections,
                              .shm_peers_lost = shm.peers_lost,
                              .shm_bad_records = shm.bad_records,
                              .frames_sent = f.frames_sent,
                              .frame_bytes_sent = f.bytes_sent,
                              .frame_calls = f.calls_sent,
                              .frames_received = f.frames_received,
                              .frame_bytes_received = f.bytes_received,
                              .frames_not_roce = f.refused[SN_FRAME_NOT_ROCE],
                              .frames_short = f.refused[SN_FRAME_SHORT],
                              .frames_bad_ip = f.refused[SN_FRAME_IP],
                              .frames_bad_length = f.refused[SN_FRAME_LENGTH],
                              .frames_bad_bth = f.refused[SN_FRAME_BTH],
                              .frames_bad_payload = f.refused[SN_FRAME_PAYLOAD],
                              .frames_bad_icrc = f.refused[SN_FRAME_ICRC],
                              .frames_partly = f.partly,
                              .frames_for_nobody = f.no_nic,
                              .frames_passed_on = f.passed_on,
                              .frames_passed_to_us = f.passed_to_us,
                              .frames_lost = f.lost,
                              .bursts_waited = f.full,
                              .bursts_unresolved = f.unresolved,
                              .frame_wakes = f.wakes};
    if (stats)
        memcpy(stats, &s, size < sizeof(s) ? size : sizeof(s));
    return sizeof(s);
}
