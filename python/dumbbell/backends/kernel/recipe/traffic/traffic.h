/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the module share. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <linux/delay.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/version.h>

#include "dumbbell_traffic.h"

#define NEVER (~0ULL)

/* Where process 1 returns from a call and makes the next one, others may run. Linux 5.15 lets all that are
 * ready do so at the start of each call (handle_syscall, arch/um/kernel/skas/syscall.c), 6.1 only one that
 * has to run. ksoftirqd, which has packets to send, is mostly ready only. */
static inline void next_call(void)
{
	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0))
		schedule();
	else
		cond_resched();
}

/* The same after a call that may have failed: one that did, also one that would have blocked, takes a
 * microsecond (handle_syscall of 6.1; that of 5.15 does not do so). */
static inline int returned(int result)
{
	if (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0) && result < 0) {
		udelay(1);
		schedule();
	}
	next_call();
	return result;
}

/* module.c */
/* Size of the reads and writes of process 1 (guest/src/tcp_flow.rs). */
#define CHUNK (1U << 18)
extern void *zeros; /* as many bytes */

/* ends.c */
/* A socket that process 1 would wait for. */
struct end {
	struct dumbbell_traffic_end asked; /* of datagrams, and of one that listens, only the token */
	struct inlet *inlet; /* of datagrams */
	struct transfers *listens; /* accepts their connections */
	struct connection *connection; /* of a transfer; its ends are not in `ends` */
	struct dumbbell_traffic_count count;
	struct socket *sock;
	struct wait_queue_entry wait;
	struct list_head ready; /* in `ready_ends`; empty while it is not there */
	struct list_head turn; /* among those served now */
	__poll_t wanted; /* what it waits for */
	u64 write_left; /* of a write that has a size and was not taken whole */
};

void start_waiting(struct end *end, struct socket *sock);
void stop_waiting(struct end *end);
/* Before TCP closes a socket, epoll would free its entry for it by RCU. What waits for RCU when the next
 * tick comes lets others run then (rcu_sched_clock_irq(), kernel/rcu/tiny.c). */
void free_by_rcu(void);
/* Waits for a socket of process 1 from now on. */
int add_end(struct end *end, int fd, bool is_right(const struct sock *));
int sample_end(struct end *end);
int add_connection(struct dumbbell_traffic_end *asked);
int add_inlet(const struct dumbbell_traffic_inlet *asked);
int add_more(const struct dumbbell_traffic_more *more);
int count(struct dumbbell_traffic_count *count);
/* Removes an end of a TCP connection. */
int take_back(struct dumbbell_traffic_last *last);
int wait_by(u32 fd);
int wait_without_fs(struct dumbbell_traffic_turn *turn);
/* Serves the collected ends with smaller tokens until process 1 has to act. */
void serve_turns(struct dumbbell_traffic_turn *turn, u64 before);
void wake_waiting(void);
/* Adds the state of all ends to a sample: senders in the order of flows and connections, each followed
 * by its receiver. */
int sample_ends(u64 to_receiver);

/* datagrams.c */
struct inlet;
struct inlet *make_inlet(const struct dumbbell_traffic_inlet *asked);
void free_inlet(struct inlet *inlet);
/* Receives, and sends back, all that has arrived. */
int serve_inlet(struct socket *sock, const struct inlet *inlet, u64 now_ns);
int add_source(const struct dumbbell_traffic_source *asked);
int add_schedule(const struct dumbbell_traffic_schedule *asked);

/* connections.c */
int add_transfers(const struct dumbbell_traffic_transfers *asked);
int add_transfer_schedule(const struct dumbbell_traffic_transfer_schedule *asked);
int accept_connections(struct transfers *transfers);
/* A receiver has all bytes, or a sender's connection broke. The connection is no more then. */
int connection_is_over(struct end *end, u64 at_ns);
int abort_connections(u64 order);
int look_at_transfers(u64 order);
/* Adds the ends of the flows from that of one token to that of another, which have no other ends. */
int sample_transfers(u64 from_token, u64 to_token);

/* sources.c */
/* What a source does next. */
struct due {
	struct rb_node place; /* among those planned */
	u64 at_ps;
	u64 order;
	int (*act)(struct due *due); /* it is not planned any more then */
};

void plan_due(struct due *due, u64 at_ps);
u64 first_due_ps(void);
/* Whether a source needs its next schedule; before it gets one nothing is sent. */
void set_wants_schedule(bool wanted);
/* Does what is due before this time and order. Returns 1 if a source needs its next schedule. */
int send_due(u64 now_ps, u64 before_ps, u64 before_order);

/* taps.c */
bool are_records_many(void);
int add_tap(const struct dumbbell_traffic_tap *asked);
int count_missed(struct dumbbell_traffic_missed *asked);
int fetch_records(struct dumbbell_traffic_fetch *asked);

/* due.c */
void prepare_timer(void);
bool has_expired(void);
/* Sets the timer to what is due first. */
void set_timer(void);
/* An instant of the monotonic clock; 0 before time zero. */
u64 since_zero_ps(u64 at_ns);
void set_plan(const struct dumbbell_traffic_plan *asked);
int watch(const struct dumbbell_traffic_watch *asked);
int fetch_items(const struct dumbbell_traffic_fetch *asked);
int keep_item(u64 of, u32 kind, const void *bytes, u32 length, const void *more, u32 more_length);
/* An event of this time is done now. */
void was_due(u64 at_ps, u64 now_ps);
/* Does what is due and sets the timer anew. Returns 1 if process 1 is to do so instead. */
int do_due(u64 at_ns);
/* Sends datagrams that are due before an event of process 1. */
int send_before(struct dumbbell_traffic_due *asked);
/* Tells process 1 what was done since it was told last. */
void tell_done(struct dumbbell_traffic_turn *turn);

#endif
