/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a NIC has seen, under the names that Linux shows in /sys/class/infiniband/DEVICE/ports/1/hw_counters where it has
 * one; the others are marked. 64 bits, monotonic, of a NIC's whole life.
 */
#ifndef SOFTNIC_COUNTERS_H
#define SOFTNIC_COUNTERS_H

#include <stdint.h>

#define SN_COUNTERS(X)                                                                                                 \
    X(rx_packets)                  /* ours: transport packets that a QP took up; a burst counts as if it had been cut */ \
    X(tx_packets)                  /* ours */                                                                          \
    X(rx_bytes)                    /* ours: payload of those packets */                                                \
    X(tx_bytes)                    /* ours */                                                                          \
    X(rx_dropped)                  /* ours: no such QP, wrong peer, state or Q_Key, malformed */                       \
    X(rx_write_requests)                                                                                               \
    X(rx_send_requests)            /* ours */                                                                          \
    X(rx_read_requests)                                                                                                \
    X(rx_atomic_requests)                                                                                              \
    X(duplicate_request)           /* responder: PSN before the expected one */                                        \
    X(out_of_sequence)             /* responder: PSN beyond the expected one */                                        \
    X(out_of_buffer)               /* responder: no receive WQE */                                                     \
    X(tx_nak_sequence)             /* ours, responder: NAKs sent, by code */                                           \
    X(tx_nak_invalid)                                                                                                  \
    X(tx_nak_access)                                                                                                   \
    X(tx_nak_operational)                                                                                              \
    X(tx_rnr_nak)                                                                                                      \
    X(packet_seq_err)              /* requester: NAKs "PSN sequence error" */                                          \
    X(rnr_nak_retry_err)           /* requester: RNR NAKs */                                                           \
    X(local_ack_timeout_err)       /* requester: timeouts */                                                           \
    X(implied_nak_seq_err)         /* requester: an answer beyond one that is due */                                   \
    X(rx_reserved_syndrome)        /* ours, requester: answers with a reserved AETH syndrome, dropped */               \
    X(peer_starved)                /* ours, requester: timeouts not counted: the peer's process had no processor */    \
    X(retransmissions)             /* ours, requester: times it went back */                                           \
    X(req_cqe_error)                                                                                                   \
    X(req_cqe_flush_error)                                                                                             \
    X(req_remote_access_errors)                                                                                        \
    X(req_remote_invalid_request)                                                                                      \
    X(resp_cqe_error)                                                                                                  \
    X(resp_cqe_flush_error)                                                                                            \
    X(resp_local_length_error)                                                                                         \
    X(resp_remote_access_errors)                                                                                       \
    X(unreliable_dropped)          /* ours: UC and UD packets dropped in silence: gaps, no receive, wrong key */        \
    X(qkey_violations)             /* "qkey_viol" of the port counters */                                              \
    X(np_ecn_marked_roce_packets)  /* packets that came with congestion experienced */                                 \
    X(np_cnp_sent)                                                                                                     \
    X(rp_cnp_handled)              /* CNPs for a QP of ours; nothing slows down */                                     \
    X(rp_cnp_ignored)              /* CNPs for nobody */                                                               \
    X(rp_becn)                     /* ours: other packets with BECN */

struct sn_counters {
#define SN_COUNTER_FIELD(name) uint64_t name;
    SN_COUNTERS(SN_COUNTER_FIELD)
#undef SN_COUNTER_FIELD
};

#endif
