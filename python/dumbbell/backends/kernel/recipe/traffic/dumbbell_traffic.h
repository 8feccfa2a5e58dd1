/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of process 1 of a guest (guest/src/sys/in_kernel.rs) to the module, by ioctl(2) on
 * /proc/dumbbell_traffic.
 *
 * An end is one end of a TCP connection: a socket that process 1 has created and configured. It is
 * identified by its token. Ends that are ready at the same time are served in the order of their
 * tokens.
 */
#ifndef DUMBBELL_TRAFFIC_H
#define DUMBBELL_TRAFFIC_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define DUMBBELL_TRAFFIC_NAME "dumbbell_traffic"
#define DUMBBELL_TRAFFIC_UNLIMITED (~0ULL)

enum {
	DUMBBELL_TRAFFIC_SENDER = 0,
	DUMBBELL_TRAFFIC_RECEIVER = 1,
};

struct dumbbell_traffic_end {
	__u64 token;
	__s32 fd;
	__u32 kind;
	__u64 bytes; /* a sender hands over as many, a receiver's transfer is complete with them */
	__u64 write_bytes; /* of one write of a sender; 0: as many as TCP takes */
	__u64 window_bytes; /* a receiver's window is held at that; 0: it grows */
};

struct dumbbell_traffic_more {
	__u64 token; /* of a sender */
	__u64 bytes; /* that it is to hand over besides */
};

struct dumbbell_traffic_count {
	__u64 token; /* asked for; the rest is the answer */
	__u64 bytes; /* that TCP took, or that were received */
	__u64 last_ns; /* when something was received last, on the monotonic clock; 0: never */
	__u64 served; /* how often */
};

enum {
	DUMBBELL_TRAFFIC_NOTHING = 0, /* all that are ready have been served */
	DUMBBELL_TRAFFIC_OTHERS = 1, /* something else is ready that process 1 waits for */
	DUMBBELL_TRAFFIC_OVER = 2, /* a receiver has all bytes, or a sender's connection is no more */
	DUMBBELL_TRAFFIC_FAILED = 3, /* a call failed */
};

struct dumbbell_traffic_turn {
	__u64 at_ns; /* on the monotonic clock; given to DUMBBELL_TRAFFIC_SERVE, else the answer */
	__u64 token; /* which end is over, or failed */
	__u32 what;
	__u32 error; /* errno(3) of the call that failed */
};

/* Add an end; add bytes to a sender; read the counters of an end; the same and remove it. */
#define DUMBBELL_TRAFFIC_ADD _IOW('D', 1, struct dumbbell_traffic_end)
#define DUMBBELL_TRAFFIC_MORE _IOW('D', 2, struct dumbbell_traffic_more)
#define DUMBBELL_TRAFFIC_COUNT _IOWR('D', 3, struct dumbbell_traffic_count)
#define DUMBBELL_TRAFFIC_REMOVE _IOWR('D', 4, struct dumbbell_traffic_count)
/* Set the epoll(7) instance on which process 1 waits for all other events. */
#define DUMBBELL_TRAFFIC_POLL _IOW('D', 5, __u32)
/* Serve ends until process 1 has to act. Ready ends that were not served are served by the next
 * call. */
#define DUMBBELL_TRAFFIC_WAIT _IOWR('D', 6, struct dumbbell_traffic_turn)
/* Serve these remaining ends, at the time that process 1 has read. */
#define DUMBBELL_TRAFFIC_SERVE _IOWR('D', 7, struct dumbbell_traffic_turn)

#endif
