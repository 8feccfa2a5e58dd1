/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What process 1 of a guest (guest/src/sys/in_kernel.rs) asks of the module, by ioctl(2) on
 * /proc/dumbbell_traffic.
 *
 * An end is one end of a connection over TCP: a socket that process 1 has made and set up. Its token
 * names it. Ends that are ready at one instant are served in the order of their tokens.
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

/* Takes over an end; gives a sender more; what an end has done; the same, and gives it back. */
#define DUMBBELL_TRAFFIC_ADD _IOW('D', 1, struct dumbbell_traffic_end)
#define DUMBBELL_TRAFFIC_MORE _IOW('D', 2, struct dumbbell_traffic_more)
#define DUMBBELL_TRAFFIC_COUNT _IOWR('D', 3, struct dumbbell_traffic_count)
#define DUMBBELL_TRAFFIC_REMOVE _IOWR('D', 4, struct dumbbell_traffic_count)
/* The epoll(7) instance by which process 1 waits for all else. */
#define DUMBBELL_TRAFFIC_POLL _IOW('D', 5, __u32)
/* Serves ends until process 1 has to act. Those of that instant that were not served wait for the next. */
#define DUMBBELL_TRAFFIC_WAIT _IOWR('D', 6, struct dumbbell_traffic_turn)
/* Serves those, at the instant that process 1 has read. */
#define DUMBBELL_TRAFFIC_SERVE _IOWR('D', 7, struct dumbbell_traffic_turn)

#endif
