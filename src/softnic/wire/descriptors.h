/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all wires between processes share: descriptors that a forked child must not keep, since it would hold connections
 * and names open after its parent's death; and the names of process slots.
 */
#ifndef SOFTNIC_WIRE_DESCRIPTORS_H
#define SOFTNIC_WIRE_DESCRIPTORS_H

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

void sn_fd_track(int fd);
void sn_fd_close(int fd); /* no longer tracked; negative: nothing to do */
void sn_fd_after_fork_child(void); /* closes what is tracked; async-signal-safe */

/*
 * epoll_wait for threads of the NIC (port/own_thread.h), which rest meanwhile. A program may close descriptors that it does not know, ours among them (closefrom):
 * then nothing wakes the thread any more, so it looks every second whether it is to end, and errors do not make it spin.
 * ms as for epoll_wait. Events, or 0.
 */
int sn_fd_wait(int epoll, struct epoll_event *events, int room, int ms);

/* Abstract: "<prefix>/<uid>/<gid in hex>/<slot>" behind a zero byte. Returns the address length, where the name ends. */
socklen_t sn_slot_name(const char *prefix, uid_t uid, const uint8_t gid[16], unsigned slot, struct sockaddr_un *out);

/* A socket for such names: messages of one piece, close-on-exec, never waits. Negative errno. */
int sn_slot_socket(void);

/* Closes a descriptor that is not tracked, and returns `error`. */
int sn_fd_fail(int fd, int error);

/* Abstract names have no permissions: anybody may have taken one, or may connect. 0, -errno, or `foreign` for another user. */
int sn_slot_check_user(int fd, int foreign);

#endif
