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
	DUMBBELL_TRAFFIC_DUE = 4, /* an event of the plan is for process 1 to do */
};

struct dumbbell_traffic_turn {
	__u64 at_ns; /* on the monotonic clock; given to DUMBBELL_TRAFFIC_SERVE, else the answer */
	__u64 token; /* which end is over, or failed */
	__u32 what;
	__u32 error; /* errno(3) of the call that failed */
	__u32 is_due; /* the timer has expired, and what is due is for process 1 to do afterwards */
	/* Since the last wait or service: */
	__u32 checks; /* of the rings that were due and found them far from full */
	__u32 samples; /* that were taken */
	__u32 sample_bytes; /* of all samples that process 1 has not fetched */
	__u64 latest_ps; /* the longest delay of one of them */
};

/*
 * Events that are due, in picoseconds after time zero; ~0: none. Checks of the rings and samples
 * recur, and the module does them, in this order at the same time, unless another event is due too.
 */
struct dumbbell_traffic_plan {
	__u64 zero_ns; /* time zero on the monotonic clock */
	__u64 other_ps;
	__u64 check_ps;
	__u64 check_step_ps;
	__u64 sample_ps;
	__u64 sample_step_ps;
	__u64 last_sample_ps; /* there is none after it */
};

/* What is looked at when an event of the plan is due. Given once; the arrays stay process 1's. */
struct dumbbell_traffic_watch {
	__u64 rings; /* address of an array of addresses, each of a status word of a packet ring */
	__u64 sockets; /* address of an array of descriptors of route netlink sockets, __s32 */
	__u64 request; /* address of the message by which each is asked for its disciplines */
	__u32 ring_count; /* a ring is read by process 1 once its word is not zero */
	__u32 socket_count;
	__u32 request_bytes;
	__u32 unused;
	__u64 to_receiver; /* token of a sender less that of its receiver */
};

/* A buffer for the samples taken so far, which process 1 fetches. */
struct dumbbell_traffic_fetch {
	__u64 address;
	__u64 bytes;
};

enum {
	DUMBBELL_TRAFFIC_SAMPLE = 0, /* of: its time in the plan. What follows belongs to it. */
	DUMBBELL_TRAFFIC_NETLINK = 1, /* of: number of the socket; a message */
	DUMBBELL_TRAFFIC_END = 2, /* of: token; struct dumbbell_traffic_count, struct tcp_info */
};

/* Samples are a sequence of items. */
struct dumbbell_traffic_item {
	__u64 of;
	__u32 kind;
	__u32 bytes; /* that follow, filled up to a multiple of 8 */
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
/* Set what is looked at, once; set the timer to the first event; fetch the samples. */
#define DUMBBELL_TRAFFIC_WATCH _IOW('D', 8, struct dumbbell_traffic_watch)
#define DUMBBELL_TRAFFIC_PLAN _IOW('D', 9, struct dumbbell_traffic_plan)
#define DUMBBELL_TRAFFIC_FETCH _IOW('D', 10, struct dumbbell_traffic_fetch)

#endif
