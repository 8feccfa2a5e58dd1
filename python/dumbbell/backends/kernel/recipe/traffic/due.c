// SPDX-License-Identifier: GPL-2.0
/*
 * The timer of process 1, and what it does when the timer expires: it sends the datagrams that are due
 * (datagrams.c), opens connections (connections.c), checks whether there are many records of packets
 * (taps.c), and takes samples of disciplines and connections.
 *
 * Samples are what process 1 would have received: the answers of route netlink to the same message
 * and struct tcp_info, asked for in the same order. They are kept here until it fetches them. The
 * clock is read as often as timerfd_settime(2) and process 1 do (see ends.c).
 */
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/sock.h>

#include "traffic.h"

/* From here on process 1 is to fetch what was kept. */
#define MANY_BYTES (1U << 20)
/* The most that are kept, and the buffer for a message of netlink, as large as process 1's. */
#define MOST_BYTES (1U << 28)
#define MESSAGE_BYTES (1U << 16)

static DEFINE_SPINLOCK(timer_lock);
static struct hrtimer timer;
static bool expired; /* set in interrupts */
static struct dumbbell_traffic_plan plan;
static struct dumbbell_traffic_watch watched;
static struct socket **sockets;
static void *request;
static void *message;

/* Items for process 1, and what was done since it was told last. */
static u8 *kept;
static u32 kept_bytes;
static u32 kept_room;
static u32 checks;
static u64 latest_ps;

/* --- the timer ------------------------------------------------------------------------------- */

static enum hrtimer_restart expire(struct hrtimer *which)
{
	WRITE_ONCE(expired, true);
	wake_waiting();
	return HRTIMER_NORESTART;
}

void prepare_timer(void)
{
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer.function = expire;
}

bool has_expired(void)
{
	return READ_ONCE(expired);
}

void set_timer(void)
{
	u64 first_ps = min3(plan.other_ps, plan.check_ps, plan.sample_ps);
	unsigned long flags;
	u64 at_ns;

	first_ps = min(first_ps, first_due_ps());
	if (first_ps == NEVER)
		return;
	if (check_add_overflow(plan.zero_ns, DIV_ROUND_UP_ULL(first_ps, 1000), &at_ns))
		at_ns = KTIME_MAX;
	/* As timerfd_settime(2): no interrupt in between, and it returns the time that was left, for which
	 * it reads the clock. */
	spin_lock_irqsave(&timer_lock, flags);
	while (hrtimer_try_to_cancel(&timer) < 0) {
		spin_unlock_irqrestore(&timer_lock, flags);
		cpu_relax();
		spin_lock_irqsave(&timer_lock, flags);
	}
	hrtimer_expires_remaining_adjusted(&timer);
	WRITE_ONCE(expired, false);
	prepare_timer();
	hrtimer_start(&timer, ns_to_ktime(min_t(u64, at_ns, KTIME_MAX)), HRTIMER_MODE_ABS);
	spin_unlock_irqrestore(&timer_lock, flags);
}

void set_plan(const struct dumbbell_traffic_plan *asked)
{
	plan = *asked;
	set_timer();
}

/* --- items ----------------------------------------------------------------------------------- */

static int make_room(u32 bytes)
{
	u32 room = max(kept_room, MESSAGE_BYTES);
	u8 *larger;

	if (kept_bytes + bytes <= kept_room)
		return 0;
	while (room < kept_bytes + bytes)
		room *= 2;
	if (room > MOST_BYTES)
		return -ENOBUFS;
	larger = kvmalloc(room, GFP_KERNEL);
	if (!larger)
		return -ENOMEM;
	if (kept_bytes)
		memcpy(larger, kept, kept_bytes);
	kvfree(kept);
	kept = larger;
	kept_room = room;
	return 0;
}

int keep_item(u64 of, u32 kind, const void *bytes, u32 length, const void *more, u32 more_length)
{
	struct dumbbell_traffic_item item = { .of = of, .kind = kind, .bytes = length + more_length };
	u32 whole = sizeof(item) + ALIGN(item.bytes, 8);
	u8 *at;
	int error = make_room(whole);

	if (error)
		return error;
	at = kept + kept_bytes;
	memset(at + whole - 8, 0, 8);
	memcpy(at, &item, sizeof(item));
	if (length)
		memcpy(at + sizeof(item), bytes, length);
	if (more_length)
		memcpy(at + sizeof(item) + length, more, more_length);
	kept_bytes += whole;
	return 0;
}

int fetch_items(const struct dumbbell_traffic_fetch *asked)
{
	if (asked->bytes != kept_bytes)
		return -EINVAL;
	if (copy_to_user(u64_to_user_ptr(asked->address), kept, kept_bytes))
		return -EFAULT;
	kept_bytes = 0;
	return 0;
}

/* --- samples --------------------------------------------------------------------------------- */

static bool is_last(int length)
{
	struct nlmsghdr *at = message;

	for (; NLMSG_OK(at, length); at = NLMSG_NEXT(at, length)) {
		if (at->nlmsg_type == NLMSG_DONE)
			return true;
	}
	return false;
}

static int sample_disciplines(u32 number)
{
	struct kvec from = { .iov_base = request, .iov_len = watched.request_bytes };
	struct msghdr asking = { };
	int got;

	got = kernel_sendmsg(sockets[number], &asking, &from, 1, from.iov_len);
	next_call();
	if (got < 0)
		return got;
	do {
		struct kvec to = { .iov_base = message, .iov_len = MESSAGE_BYTES };
		struct msghdr answer = { };
		int error;

		got = kernel_recvmsg(sockets[number], &answer, &to, 1, MESSAGE_BYTES,
				     MSG_TRUNC | MSG_DONTWAIT);
		next_call();
		if (got < 0)
			return got;
		got = min_t(int, got, MESSAGE_BYTES);
		error = keep_item(number, DUMBBELL_TRAFFIC_NETLINK, message, got, NULL, 0);
		if (error)
			return error;
	} while (!is_last(got));
	return 0;
}

static int sample(void)
{
	u32 number;
	int error = keep_item(plan.sample_ps, DUMBBELL_TRAFFIC_SAMPLE, NULL, 0, NULL, 0);

	for (number = 0; !error && number < watched.socket_count; number++)
		error = sample_disciplines(number);
	return error ? error : sample_ends(watched.to_receiver);
}

/* --- what is due ----------------------------------------------------------------------------- */

u64 since_zero_ps(u64 at_ns)
{
	return at_ns < plan.zero_ns ? 0 : (at_ns - plan.zero_ns) * 1000;
}

void was_due(u64 at_ps, u64 now_ps)
{
	latest_ps = max(latest_ps, now_ps - at_ps);
}

/* Does what is due and recurs. Returns 1 if process 1 is to go on. */
static int recur(u64 now_ps)
{
	u64 *due = plan.check_ps <= plan.sample_ps ? &plan.check_ps : &plan.sample_ps;
	int error;

	if (due == &plan.check_ps) {
		if (are_records_many())
			return 1;
		was_due(*due, now_ps);
		checks++;
		*due += plan.check_step_ps;
		return 0;
	}
	if (kept_bytes >= MANY_BYTES)
		return 1;
	was_due(*due, now_ps);
	error = sample();
	*due += plan.sample_step_ps;
	if (*due > plan.last_sample_ps)
		*due = NEVER;
	return error;
}

int do_due(u64 at_ns)
{
	u64 now_ps, recurring_ps;
	int result;

	/* Before time zero nothing is due. */
	if (at_ns < plan.zero_ns)
		return 1;
	now_ps = since_zero_ps(at_ns);
	if (plan.other_ps <= now_ps)
		return 1;
	do {
		recurring_ps = min(plan.check_ps, plan.sample_ps);
		result = send_due(now_ps, recurring_ps, NEVER);
		if (!result && recurring_ps <= now_ps)
			result = recur(now_ps);
	} while (!result && recurring_ps <= now_ps);
	if (!result && kept_bytes >= MANY_BYTES)
		return 1;
	if (!result)
		set_timer();
	return result;
}

int send_before(struct dumbbell_traffic_due *asked)
{
	int result = 0;

	asked->wants_schedule = 0;
	if (asked->at_ns >= plan.zero_ns)
		result = send_due(since_zero_ps(asked->at_ns), asked->before_ps,
				  asked->before_order);
	if (result > 0)
		asked->wants_schedule = 1;
	return min(result, 0);
}

void tell_done(struct dumbbell_traffic_turn *turn)
{
	turn->checks = checks;
	turn->latest_ps = latest_ps;
	turn->kept_bytes = kept_bytes;
	checks = 0;
	latest_ps = 0;
}

static int look_up_sockets(void)
{
	s32 __user *fds = u64_to_user_ptr(watched.sockets);
	u32 number;

	for (number = 0; number < watched.socket_count; number++) {
		int error;
		s32 fd;

		if (get_user(fd, fds + number))
			return -EFAULT;
		sockets[number] = sockfd_lookup(fd, &error);
		if (!sockets[number])
			return error;
		if (sockets[number]->sk->sk_family != AF_NETLINK)
			return -EINVAL;
	}
	return 0;
}

int watch(const struct dumbbell_traffic_watch *asked)
{
	if (sockets)
		return -EBUSY;
	if (!asked->request_bytes || asked->request_bytes > MESSAGE_BYTES)
		return -EINVAL;
	sockets = kvcalloc(asked->socket_count + 1, sizeof(*sockets), GFP_KERNEL);
	message = kvmalloc(MESSAGE_BYTES, GFP_KERNEL);
	if (!sockets || !message)
		return -ENOMEM;
	request = vmemdup_user(u64_to_user_ptr(asked->request), asked->request_bytes);
	if (IS_ERR(request))
		return PTR_ERR(request);
	watched = *asked;
	return look_up_sockets();
}
