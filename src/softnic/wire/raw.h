/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backends that carry whole Ethernet frames. All of them check the invariant CRC, find MAC addresses by ARP and
 * neighbour discovery where the QP's path has none, and serve one NIC.
 */
#ifndef SOFTNIC_WIRE_RAW_H
#define SOFTNIC_WIRE_RAW_H

#include "softnic/wire/packet_wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A packet socket on an interface that the kernel goes on using: it answers ARP, and gets to see our frames too, so a
 * deaf UDP socket on port 4791 of our addresses keeps it from answering them with "port unreachable". Needs
 * CAP_NET_RAW. MAC and MTU are the interface's.
 */
int sn_afpacket_open(const char *interface, struct sn_backend **out);

/*
 * AF_XDP in copy mode: UDP packets for port 4791 on the interface's queue 0 bypass the kernel's network stack,
 * everything else goes its way, and a packet socket as above has what arrives on other queues. Frames up to 3840 bytes
 * (path MTU 2048). Needs CAP_NET_ADMIN and CAP_BPF (CAP_SYS_ADMIN on old kernels). -EBUSY: the interface has a program,
 * or another process has the queue.
 */
int sn_xdp_open(const char *interface, struct sn_backend **out);
/*
 * What to do about a failure to open that has to do with the memory that may be locked, `limit` bytes (RLIMIT_MEMLOCK): words that
 * follow the error's own. False: it has nothing to do with that.
 */
bool sn_xdp_explain(int error, uint64_t limit, char *text, size_t size);
enum { SN_XDP_MTU = 4096 - 256 - 14 };

/* The far end of a TAP interface, which is made if it is not there. The NIC is a machine of its own on that link. */
int sn_tap_open(const char *interface, const uint8_t mac[6], struct sn_backend **out);

/*
 * One Ethernet frame a datagram, as `qemu -netdev dgram` has it: a Unix datagram socket bound to `local` (whatever was
 * there before is removed if nobody has it) that sends to `remote`. While nobody is there, frames are lost.
 */
int sn_dgram_open(const char *local, const char *remote, const uint8_t mac[6], struct sn_backend **out);

/* The same over a connected datagram socket that is taken over: one end of a socketpair. */
int sn_dgram_open_fd(int fd, const uint8_t mac[6], struct sn_backend **out);

/*
 * Plays a capture to the NIC, frame by frame, as fast as they are taken; what the NIC sends goes to the capture file
 * `record` (NULL: nowhere). *why says what is wrong with a file.
 */
int sn_replay_open(const char *play, const char *record, const uint8_t mac[6], struct sn_backend **out,
                   const char **why);

/* Of an interface: -ENODEV. */
int sn_interface_mac(const char *interface, uint8_t mac[6]);
int sn_interface_mtu(const char *interface);

#ifdef __cplusplus
}
#endif
#endif
