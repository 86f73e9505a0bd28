/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A connected pair of local sockets that never blocks and can hold a whole
 * sample.
 */
#ifndef UNIX_PAIR_H
#define UNIX_PAIR_H

#include "descriptors.h"

#include <sys/socket.h>

/*
 * The default of net.core.wmem_max in bytes. The kernel doubles it, for its own
 * overhead. That is room for LARGE_BATCH messages of the largest size.
 */
#define UNIX_PAIR_ROOM 212992

/*
 * Setup for benchmarks that create and close pairs. The kernel frees pairs by
 * RCU. With PREEMPT_RT, its thread has the priority of KM_LOW and alternates
 * with it.
 */
static inline const char *pairs_are_freed(struct km_run *r)
{
	(void)r;
	return port_preempt_rt() ?
	       "with PREEMPT_RT, closing a socket waits for a lock held by "
	       "the thread that frees earlier ones (rcuc)" : NULL;
}

/*
 * Creates the pair in e. Returns NULL, or why it cannot. It does not block, so
 * that a full buffer is a wrong result instead of a hang.
 */
static inline const char *unix_pair(struct ends *e, int type)
{
	int fd[2], size = UNIX_PAIR_ROOM, room = 0;
	socklen_t length = sizeof(room);

	if (socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd))
		return "socketpair failed";
	*e = (struct ends){ .to = fd[0], .from = fd[1] };
	if (setsockopt(e->to, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) ||
	    getsockopt(e->to, SOL_SOCKET, SO_SNDBUF, &room, &length) ||
	    room < 2 * UNIX_PAIR_ROOM) {
		close_ends(e);
		return "needs a send buffer of 208 KiB; allow it with: sudo "
		       "sysctl net.core.wmem_max=212992";
	}
	return NULL;
}

#endif
