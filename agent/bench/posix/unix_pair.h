/* A connected pair of local sockets that never blocks and holds a whole sample. */
#ifndef UNIX_PAIR_H
#define UNIX_PAIR_H

#include "descriptors.h"

#include <sys/socket.h>

/* More than LARGE_BATCH messages with the kernel's own share of the memory. */
#define UNIX_PAIR_ROOM (384 << 10)

/*
 * NULL, or why there is none. Non-blocking, so that a full buffer is a wrong
 * result and not a hang.
 */
static inline const char *unix_pair(struct ends *e, int type)
{
	int fd[2], size = UNIX_PAIR_ROOM, room = 0;
	socklen_t length = sizeof(room);

	if (socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd))
		return "socketpair failed";
	*e = (struct ends){ .to = fd[0], .from = fd[1] };
	/* The kernel doubles what it is asked for, and is held by net.core.wmem_max. */
	if (setsockopt(e->to, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) ||
	    getsockopt(e->to, SOL_SOCKET, SO_SNDBUF, &room, &length) ||
	    room < UNIX_PAIR_ROOM) {
		close_ends(e);
		return "needs a send buffer of 384 KiB: raise it by: "
		       "sudo sysctl net.core.wmem_max=212992";
	}
	return NULL;
}

#endif
