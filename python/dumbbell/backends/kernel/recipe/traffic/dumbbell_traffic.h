/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of process 1 of a guest (guest/src/sys/in_kernel.rs) to the module, by ioctl(2) on
 * /proc/dumbbell_traffic.
 *
 * An end is one end of a TCP connection, or a socket that receives datagrams; process 1 has created
 * and configured it. It is identified by its token. Ends that are ready at the same time are served in
 * the order of their tokens.
 *
 * A source sends datagrams at times and with contents that process 1 has computed before, or opens
 * connections for transfers. It is identified by its order: sources that are due at the same time act in
 * this order. The lower half of orders and tokens is the number of the flow or probe.
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
	__u64 port; /* the answer: the socket's own */
};

struct dumbbell_traffic_more {
	__u64 token; /* of a sender */
	__u64 bytes; /* that it is to hand over besides */
};

/* Most bytes of a received datagram that are kept: an IPv4 header with all options, and 8 bytes. */
#define DUMBBELL_TRAFFIC_HEAD_BYTES 68

/* A socket that receives datagrams. */
struct dumbbell_traffic_inlet {
	__u64 token;
	__s32 fd;
	__u32 head_bytes; /* of each datagram are kept */
	/* If not 0, each datagram is sent back to where it came from: address of an array of TOS bytes,
	 * __u8, by client. Those of others than clients are discarded. */
	__u64 classes;
	__u32 class_count;
	__u32 first_port; /* of client 0; client i has the i-th after it */
};

struct dumbbell_traffic_source {
	__u64 order;
	__s32 fd; /* of a datagram socket */
	__s32 traffic_class; /* TOS byte set before each datagram; negative: none is set */
	__be32 address;
	__be16 port;
	__u16 unused;
};

/* A datagram of a schedule: `head`, as much of it as fits, and zeros. */
struct dumbbell_traffic_datagram {
	__u64 at_ps; /* after time zero */
	__u32 bytes; /* of payload of IPv4 or UDP */
	__u32 head_bytes;
	__u8 head[8];
};

/* What a source sends next, once it has sent all that it was given before. */
struct dumbbell_traffic_schedule {
	__u64 order;
	__u64 datagrams; /* address of an array, in the order of times */
	__u32 count;
	__u32 is_last; /* no more will follow */
};

/* An option of a socket (setsockopt(2)). */
struct dumbbell_traffic_option {
	__s32 level;
	__s32 name;
	__u32 bytes; /* of the value */
	__u8 value[16];
	__u32 unused;
};

/*
 * A source of transfers, each over a connection of its own, which is closed once its bytes have arrived.
 * Its ends have tokens, those of the first connection as given and a step more with each following one, if
 * connections may overlap.
 */
struct dumbbell_traffic_transfers {
	__u64 order;
	__u64 accepts; /* token of the socket that listens */
	__u64 receiver; /* token of the receiver of the first connection */
	__u64 sender; /* and of its sender */
	__u64 token_step;
	__s32 listener;
	__s32 of_host; /* some socket of the host that opens connections */
	__be32 address;
	__be16 port;
	__u16 waits_for_end; /* whether a transfer begins only after the one before has ended */
	__u64 options; /* address of an array, set in this order before connecting */
	__u32 option_count;
	__u32 unused;
	__u64 write_bytes; /* as of an end */
	__u64 window_bytes;
	__u64 stop_ps; /* none begins then or later */
};

/* A transfer of a schedule. */
struct dumbbell_traffic_transfer {
	__u64 at_ps; /* after time zero; if it waits for the end of another, after that */
	__u64 bytes;
};

/* The next transfers of a source, once it has begun all that it was given before. */
struct dumbbell_traffic_transfer_schedule {
	__u64 order;
	__u64 transfers; /* address of an array, in their order */
	__u32 count;
	__u32 is_last; /* no more will follow */
};

/* Datagrams that are due, to be sent in the order of times and sources. */
struct dumbbell_traffic_due {
	__u64 at_ns; /* now, on the monotonic clock */
	__u64 before_ps; /* those of this time and order, and later ones, are not sent */
	__u64 before_order;
	__u64 wants_schedule; /* the answer: a source needs its next schedule before more can be sent */
};

struct dumbbell_traffic_count {
	__u64 token; /* asked for; the rest is the answer */
	__u64 bytes; /* that TCP took, or that were received */
	__u64 last_ns; /* when something was received last, on the monotonic clock; 0: never */
	__u64 served; /* how often */
};

/* Bytes of struct tcp_info that process 1 reads. */
#define DUMBBELL_TRAFFIC_INFO_BYTES 232

/* The counters of an end that is removed, and the beginning of struct tcp_info. */
struct dumbbell_traffic_last {
	struct dumbbell_traffic_count count;
	__u8 info[DUMBBELL_TRAFFIC_INFO_BYTES];
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
	__u64 token; /* which end is over, or failed; given to SERVE: only ends with smaller ones are served */
	__u32 what;
	__u32 error; /* errno(3) of the call that failed */
	__u32 is_due; /* the timer has expired, and what is due is for process 1 to do afterwards */
	/* Since the last wait or service: */
	__u32 checks; /* of the records that were due and found few */
	__u32 kept_bytes; /* of all items that process 1 has not fetched */
	__u32 is_rest; /* some ends that are ready were not served */
	__u64 latest_ps; /* the longest delay of one of them */
};

/*
 * Events that are due, in picoseconds after time zero; ~0: none. Checks whether there are many records
 * and samples recur, and the module does them, in this order at the same time and after sources, unless
 * another event is due too.
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

/* What is sampled. Given once. */
struct dumbbell_traffic_watch {
	__u64 sockets; /* address of an array of descriptors of route netlink sockets, __s32 */
	__u64 request; /* address of the message by which each is asked for its disciplines */
	__u32 socket_count;
	__u32 request_bytes;
	__u64 to_receiver; /* token of a sender less that of its receiver */
};

/* A buffer for the items kept so far, which process 1 fetches. */
struct dumbbell_traffic_fetch {
	__u64 address;
	__u64 bytes;
};

enum {
	DUMBBELL_TRAFFIC_SAMPLE = 0, /* of: its time in the plan. What follows belongs to it. */
	DUMBBELL_TRAFFIC_NETLINK = 1, /* of: number of the socket; a message */
	DUMBBELL_TRAFFIC_END = 2, /* of: token; struct dumbbell_traffic_count, struct tcp_info */
	DUMBBELL_TRAFFIC_SENT = 3, /* of: order of the source that sent its next datagram */
	DUMBBELL_TRAFFIC_ARRIVED = 4, /* of: token; struct dumbbell_traffic_arrival, and the head */
	DUMBBELL_TRAFFIC_OPENED = 20, /* of: order; struct dumbbell_traffic_opened */
	DUMBBELL_TRAFFIC_CLOSED = 21, /* of: token of the sender; struct dumbbell_traffic_closed */
	DUMBBELL_TRAFFIC_LOOKED = 22, /* of: order. The ends that follow are of its connections. */
};

/* A transfer has begun. */
struct dumbbell_traffic_opened {
	__u64 at_ps; /* when it was due */
	__u64 bytes;
};

/* Its connection was closed. */
struct dumbbell_traffic_closed {
	__u64 completed_ns; /* when all had arrived, on the monotonic clock; 0: it has not */
	__u64 has_receiver; /* whether it had been accepted */
	struct dumbbell_traffic_last sender;
	struct dumbbell_traffic_last receiver;
};

struct dumbbell_traffic_arrival {
	__u64 at_ns; /* on the monotonic clock */
	__u32 bytes; /* of the whole datagram */
	__u32 client; /* to whom it was sent back; 0 if it was not */
};

/* Samples and what happened to datagrams and transfers are a sequence of items. */
struct dumbbell_traffic_item {
	__u64 of;
	__u32 kind;
	__u32 bytes; /* that follow, filled up to a multiple of 8 */
};

/* Most bytes of a packet that are recorded because process 1 asks for them. */
#define DUMBBELL_TRAFFIC_SNAP_BYTES 128

/* Record what comes to and leaves the queue of a device of the network in which process 1 is. The first
 * action of the device's filter copies what comes to another device. */
struct dumbbell_traffic_tap {
	__u32 before; /* number of the point before the queue; the one behind it has the next number */
	__u32 device; /* its index */
	__u32 copies; /* index of the device that gets copies */
	/* If not 0, so many of each packet are recorded at least, if it has as many, exactly as they are. */
	__u32 head_bytes;
};

/* A packet that came or left, followed by its beginning from the Ethernet header on, filled up to a multiple
 * of 8. */
struct dumbbell_traffic_record {
	__u64 at_ns; /* on the wall clock */
	__u32 bytes; /* with the Ethernet header */
	__u16 point;
	__u8 is_partial; /* its transport checksum is left to the network card */
	__u8 head_bytes; /* that follow */
};

struct dumbbell_traffic_missed {
	__u32 point;
	__u32 packets; /* the answer: for which there was no memory */
};

/* Add an end; add bytes to a sender; read the counters of an end; the same and remove it. */
#define DUMBBELL_TRAFFIC_ADD _IOWR('D', 1, struct dumbbell_traffic_end)
#define DUMBBELL_TRAFFIC_MORE _IOW('D', 2, struct dumbbell_traffic_more)
#define DUMBBELL_TRAFFIC_COUNT _IOWR('D', 3, struct dumbbell_traffic_count)
#define DUMBBELL_TRAFFIC_REMOVE _IOWR('D', 4, struct dumbbell_traffic_last)
/* Set the epoll(7) instance on which process 1 waits for all other events. */
#define DUMBBELL_TRAFFIC_POLL _IOW('D', 5, __u32)
/* Serve ends until process 1 has to act. Ready ends that were not served are served by the next
 * call. */
#define DUMBBELL_TRAFFIC_WAIT _IOWR('D', 6, struct dumbbell_traffic_turn)
/* Serve some of these remaining ends, at the time that process 1 has read. */
#define DUMBBELL_TRAFFIC_SERVE _IOWR('D', 7, struct dumbbell_traffic_turn)
/* Set what is looked at, once; set the timer to the first event; fetch the items. */
#define DUMBBELL_TRAFFIC_WATCH _IOW('D', 8, struct dumbbell_traffic_watch)
#define DUMBBELL_TRAFFIC_PLAN _IOW('D', 9, struct dumbbell_traffic_plan)
#define DUMBBELL_TRAFFIC_FETCH _IOW('D', 10, struct dumbbell_traffic_fetch)
/* Add a socket that receives datagrams; add a source; give a source its next schedule. */
#define DUMBBELL_TRAFFIC_INLET _IOW('D', 11, struct dumbbell_traffic_inlet)
#define DUMBBELL_TRAFFIC_SOURCE _IOW('D', 12, struct dumbbell_traffic_source)
#define DUMBBELL_TRAFFIC_SCHEDULE _IOW('D', 13, struct dumbbell_traffic_schedule)
/* Send datagrams that are due before an event of process 1; say what was done so far. */
#define DUMBBELL_TRAFFIC_SEND _IOWR('D', 14, struct dumbbell_traffic_due)
#define DUMBBELL_TRAFFIC_TELL _IOWR('D', 15, struct dumbbell_traffic_turn)
/* Add a source of transfers; give it its next ones; abort its connections; look at their ends. */
#define DUMBBELL_TRAFFIC_TRANSFERS _IOW('D', 20, struct dumbbell_traffic_transfers)
#define DUMBBELL_TRAFFIC_TRANSFER_SCHEDULE _IOW('D', 21, struct dumbbell_traffic_transfer_schedule)
#define DUMBBELL_TRAFFIC_ABORT _IOW('D', 22, __u64)
#define DUMBBELL_TRAFFIC_LOOK _IOW('D', 23, __u64)
/* Observe a queue; fetch the oldest records, in the order of what was seen, as far as there is room (64 KiB hold
 * some), and say how many bytes; count packets that were not recorded. */
#define DUMBBELL_TRAFFIC_TAP _IOW('D', 30, struct dumbbell_traffic_tap)
#define DUMBBELL_TRAFFIC_RECORDS _IOWR('D', 31, struct dumbbell_traffic_fetch)
#define DUMBBELL_TRAFFIC_MISSED _IOWR('D', 32, struct dumbbell_traffic_missed)

#endif
