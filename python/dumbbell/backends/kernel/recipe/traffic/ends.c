// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets that are read and written. Process 1 waits in an ioctl(2) while this file reads the data that
 * have arrived and writes as much as TCP accepts.
 *
 * That wait combines epoll_wait(2) and the loop of process 1 around it. It is level-triggered,
 * reads the clock once each time something is ready, and makes the same calls in the same order.
 * Under time-travel=inf-cpu reading the clock advances it (timer_read, arch/um/kernel/time.c), and so
 * does a call that fails, so packets leave at the same times with both. Datagrams are in datagrams.c,
 * connections of transfers in connections.c, what is due in due.c.
 */
#include <linux/file.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "traffic.h"

/* All data below are accessed only by process 1, the only user, except those set in interrupts. */
static DEFINE_XARRAY(ends);
static LIST_HEAD(turns); /* those that are ready at this instant and were not served yet */

/* Set in interrupts. */
static DEFINE_SPINLOCK(ready_lock);
static LIST_HEAD(ready_ends);
static bool others_woke;
static DECLARE_WAIT_QUEUE_HEAD(waiting);

/* The epoll instance for the other events that process 1 waits for. */
static struct file *others;
static struct wait_queue_entry others_wait;
static struct poll_table_struct others_table;

/* --- ready ends ------------------------------------------------------------------------------ */

static void set_ready(struct end *end)
{
	unsigned long flags;

	spin_lock_irqsave(&ready_lock, flags);
	if (list_empty(&end->ready))
		list_add_tail(&end->ready, &ready_ends);
	spin_unlock_irqrestore(&ready_lock, flags);
}

static void set_not_ready(struct end *end)
{
	unsigned long flags;

	spin_lock_irqsave(&ready_lock, flags);
	list_del_init(&end->ready);
	spin_unlock_irqrestore(&ready_lock, flags);
}

static struct end *first_ready(void)
{
	struct end *end;
	unsigned long flags;

	spin_lock_irqsave(&ready_lock, flags);
	end = list_first_entry_or_null(&ready_ends, struct end, ready);
	if (end)
		list_del_init(&end->ready);
	spin_unlock_irqrestore(&ready_lock, flags);
	return end;
}

void wake_waiting(void)
{
	wake_up(&waiting);
}

/* Called by a socket on an event. */
static int wake_end(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	struct end *end = container_of(wait, struct end, wait);
	__poll_t happened = key_to_poll(key);

	if (happened && !(happened & end->wanted))
		return 0;
	set_ready(end);
	wake_up(&waiting);
	return 1;
}

static int wake_others(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	WRITE_ONCE(others_woke, true);
	wake_up(&waiting);
	return 1;
}

/* --- serving an end -------------------------------------------------------------------------- */

/* Releasing the lock runs pending softirqs, as TCP_INFO does, which process 1 reads. */
static bool is_closed(struct sock *sk)
{
	bool slow = lock_sock_fast(sk);
	bool closed = sk->sk_state == TCP_CLOSE;

	unlock_sock_fast(sk, slow);
	return closed;
}

static int send(struct socket *sock, u32 bytes)
{
	struct kvec from = { .iov_base = zeros, .iov_len = bytes };
	struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	return returned(kernel_sendmsg(sock, &message, &from, 1, bytes));
}

/* Returns an event, if any. */
static int serve_sender(struct end *end)
{
	struct dumbbell_traffic_end *asked = &end->asked;
	bool is_full = false;

	if (is_closed(end->sock->sk))
		return DUMBBELL_TRAFFIC_OVER;
	while (asked->bytes && !is_full) {
		u32 chunk = min_t(u64, asked->bytes, CHUNK);
		int taken;

		if (asked->write_bytes) {
			if (!end->write_left)
				end->write_left = min_t(u64, asked->write_bytes, chunk);
			chunk = end->write_left;
		}
		taken = send(end->sock, chunk);
		if (taken == -EAGAIN || taken == -ENOTCONN) {
			is_full = true;
			continue;
		}
		if (taken < 0)
			return taken;
		end->write_left -= min_t(u64, end->write_left, taken);
		/* A write of fixed size that was accepted only in part blocks, as in a program. */
		is_full = asked->write_bytes && taken < chunk;
		end->count.bytes += taken;
		if (asked->bytes == DUMBBELL_TRAFFIC_UNLIMITED)
			is_full = taken < chunk;
		else
			asked->bytes -= taken;
	}
	end->wanted = EPOLLERR | EPOLLHUP | (is_full ? EPOLLOUT : 0);
	return DUMBBELL_TRAFFIC_NOTHING;
}

/* Linux 6.12 recomputes the window from the buffer when the segment size changes. */
static void hold_window(struct end *end)
{
	struct socket *sock = end->sock;
	int bytes = end->asked.window_bytes;

	if (bytes && tcp_sk(sock->sk)->window_clamp > bytes)
		sock->ops->setsockopt(sock, SOL_TCP, TCP_WINDOW_CLAMP, KERNEL_SOCKPTR(&bytes),
				      sizeof(bytes));
}

/* Reads and discards the data that have arrived (tcp(7): MSG_TRUNC). */
static int serve_receiver(struct end *end, u64 now_ns)
{
	int got;

	do {
		struct kvec nowhere = { .iov_len = CHUNK };
		struct msghdr message = { };

		got = returned(kernel_recvmsg(end->sock, &message, &nowhere, 1, CHUNK,
					      MSG_TRUNC | MSG_DONTWAIT));
		if (got == -EAGAIN)
			break;
		if (got < 0)
			return got;
		if (!got) {
			end->wanted = 0; /* nothing will come */
			break;
		}
		hold_window(end);
		end->count.bytes += got;
		end->count.last_ns = now_ns;
	} while (got == CHUNK);
	return end->count.bytes >= end->asked.bytes ? DUMBBELL_TRAFFIC_OVER
						    : DUMBBELL_TRAFFIC_NOTHING;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Collects the ends that are ready according to poll(2), ordered by token. */
static void take_ready(void)
{
	struct list_head *at;
	struct end *end;

	while ((end = first_ready())) {
		struct socket *sock = end->sock;

		if (!(sock->ops->poll(sock->file, sock, NULL) & end->wanted))
			continue;
		list_for_each_prev(at, &turns) {
			if (list_entry(at, struct end, turn)->asked.token < end->asked.token)
				break;
		}
		list_add(&end->turn, at);
	}
}

/* Returns an event for process 1, if any; the end is then not served any more. */
static int serve(struct end *end, u64 now_ns)
{
	int what;

	if (end->inlet)
		what = serve_inlet(end->sock, end->inlet, now_ns);
	else if (end->listens)
		what = accept_connections(end->listens);
	else if (end->asked.kind == DUMBBELL_TRAFFIC_SENDER)
		what = serve_sender(end);
	else
		what = serve_receiver(end, now_ns);
	if (what == DUMBBELL_TRAFFIC_OVER && end->connection)
		return connection_is_over(end, now_ns);
	if (what)
		end->wanted = 0;
	return what;
}

void serve_turns(struct dumbbell_traffic_turn *turn, u64 before)
{
	struct end *end;
	int what;

	turn->what = DUMBBELL_TRAFFIC_NOTHING;
	while (!turn->what && (end = list_first_entry_or_null(&turns, struct end, turn))) {
		if (end->asked.token >= before)
			break;
		list_del_init(&end->turn);
		set_ready(end); /* whether it still is, is asked before the next wait */
		end->count.served++;
		turn->token = end->asked.token;
		what = serve(end, turn->at_ns);
		if (!what)
			continue;
		turn->what = what < 0 ? DUMBBELL_TRAFFIC_FAILED : what;
		turn->error = what < 0 ? -what : 0;
	}
	turn->is_rest = !list_empty(&turns);
}

/* Serves what is ready at one time, which it reads. Returns 0 if there is nothing for process 1. */
static int serve_at_once(struct dumbbell_traffic_turn *turn)
{
	bool is_due = has_expired();
	int result;

	cond_resched();
	turn->at_ns = ktime_get_ns();
	next_call();
	serve_turns(turn, NEVER);
	turn->is_due = is_due;
	if (turn->what || !is_due)
		return turn->what;
	next_call();
	result = do_due(turn->at_ns);
	next_call();
	if (result > 0)
		turn->what = DUMBBELL_TRAFFIC_DUE;
	return result;
}

static int wait_and_serve(struct dumbbell_traffic_turn *turn)
{
	if (!others)
		return -EINVAL;
	for (;;) {
		WRITE_ONCE(others_woke, false);
		take_ready();
		if (vfs_poll(others, NULL) & EPOLLIN) {
			turn->what = DUMBBELL_TRAFFIC_OTHERS;
			turn->is_due = has_expired();
			turn->is_rest = !list_empty(&turns);
			return 0;
		}
		if (!list_empty(&turns) || has_expired()) {
			int result = serve_at_once(turn);

			if (result)
				return min(result, 0);
			continue;
		}
		if (wait_event_interruptible(waiting, !list_empty(&ready_ends) || has_expired() ||
							      READ_ONCE(others_woke)))
			return -EINTR;
	}
}

/*
 * In Linux 6.1 switching to a process sets its FS register in the host by three calls of ptrace(2),
 * if it has one (arch_switch_to, arch/x86/um/syscalls_64.c); 6.12 does not. Here process 1 wakes for
 * every packet and mostly sleeps again; its registers, FS among them, are set when it returns from
 * this call (userspace, arch/um/os-Linux/skas/process.c). SWITCH_SETS_FS is defined by Kbuild.
 */
int wait_without_fs(struct dumbbell_traffic_turn *turn)
{
	int result;
#ifdef SWITCH_SETS_FS
	unsigned long fs = current->thread.arch.fs;

	current->thread.arch.fs = 0;
#endif
	result = wait_and_serve(turn);
#ifdef SWITCH_SETS_FS
	current->thread.arch.fs = fs;
#endif
	return result;
}

/* --- samples ---------------------------------------------------------------------------------- */

int sample_end(struct end *end)
{
	struct tcp_info info;

	tcp_get_info(end->sock->sk, &info);
	next_call();
	return keep_item(end->asked.token, DUMBBELL_TRAFFIC_END, &end->count, sizeof(end->count), &info,
			 sizeof(info));
}

static bool is_sender(const struct end *end)
{
	return !end->inlet && !end->listens && end->asked.kind == DUMBBELL_TRAFFIC_SENDER;
}

int sample_ends(u64 to_receiver)
{
	struct end *end, *receiver;
	unsigned long token;
	u64 after = 0; /* from the flow of this token on, transfers were not looked at yet */
	int error = 0;

	xa_for_each(&ends, token, end) {
		if (!is_sender(end))
			continue;
		error = sample_transfers(after, token);
		after = token;
		if (!error)
			error = sample_end(end);
		receiver = xa_load(&ends, token - to_receiver);
		if (!error && receiver)
			error = sample_end(receiver);
		if (error)
			return error;
	}
	return sample_transfers(after, NEVER);
}

/* --- requests of process 1 ------------------------------------------------------------------- */

static void wait_for_others(struct file *file, wait_queue_head_t *head, poll_table *table)
{
	init_waitqueue_func_entry(&others_wait, wake_others);
	add_wait_queue(head, &others_wait);
}

void start_waiting(struct end *end, struct socket *sock)
{
	end->sock = sock;
	end->count.token = end->asked.token;
	INIT_LIST_HEAD(&end->ready);
	INIT_LIST_HEAD(&end->turn);
	init_waitqueue_func_entry(&end->wait, wake_end);
	add_wait_queue(&sock->wq.wait, &end->wait);
	set_ready(end); /* or not, as the next wait finds */
}

void stop_waiting(struct end *end)
{
	remove_wait_queue(&end->sock->wq.wait, &end->wait);
	set_not_ready(end);
	list_del(&end->turn);
}

void free_by_rcu(void)
{
	struct { struct rcu_head rcu; } *entry = kmalloc(sizeof(*entry), GFP_KERNEL);

	if (entry)
		kfree_rcu(entry, rcu);
}

static void release(struct end *end)
{
	stop_waiting(end);
	sockfd_put(end->sock);
	free_inlet(end->inlet);
	kfree(end);
}

int add_end(struct end *end, int fd, bool is_right(const struct sock *))
{
	struct socket *sock;
	int error;

	sock = sockfd_lookup(fd, &error);
	if (!sock)
		return error;
	error = is_right(sock->sk) ? xa_insert(&ends, end->asked.token, end, GFP_KERNEL) : -EINVAL;
	if (error)
		sockfd_put(sock);
	else
		start_waiting(end, sock);
	return error;
}

static bool is_tcp(const struct sock *sk)
{
	return sk->sk_type == SOCK_STREAM && sk->sk_protocol == IPPROTO_TCP;
}

static bool has_datagrams(const struct sock *sk)
{
	return sk->sk_family == AF_INET && (sk->sk_type == SOCK_DGRAM || sk->sk_type == SOCK_RAW);
}

int add_connection(struct dumbbell_traffic_end *asked)
{
	struct end *end;
	int error;

	if (asked->kind > DUMBBELL_TRAFFIC_RECEIVER || asked->window_bytes > INT_MAX)
		return -EINVAL;
	end = kzalloc(sizeof(*end), GFP_KERNEL);
	if (!end)
		return -ENOMEM;
	end->asked = *asked;
	end->wanted = EPOLLERR | EPOLLHUP;
	end->wanted |= asked->kind == DUMBBELL_TRAFFIC_SENDER ? EPOLLOUT : EPOLLIN;
	error = add_end(end, asked->fd, is_tcp);
	if (error)
		kfree(end);
	else
		asked->port = ntohs(inet_sk(end->sock->sk)->inet_sport);
	return error;
}

int add_inlet(const struct dumbbell_traffic_inlet *asked)
{
	struct end *end;
	int error;

	end = kzalloc(sizeof(*end), GFP_KERNEL);
	if (!end)
		return -ENOMEM;
	end->asked.token = asked->token;
	end->wanted = EPOLLIN | EPOLLERR | EPOLLHUP;
	end->inlet = make_inlet(asked);
	error = PTR_ERR_OR_ZERO(end->inlet);
	if (!error) {
		error = add_end(end, asked->fd, has_datagrams);
		if (error)
			free_inlet(end->inlet);
	}
	if (error)
		kfree(end);
	return error;
}

int add_more(const struct dumbbell_traffic_more *more)
{
	struct end *end = xa_load(&ends, more->token);
	int error = 0;

	if (!end || !is_sender(end))
		return -ENOENT;
	if (check_add_overflow(end->asked.bytes, more->bytes, &end->asked.bytes))
		end->asked.bytes = DUMBBELL_TRAFFIC_UNLIMITED;
	/* Writes at once, as process 1 does. A broken connection is reported when the end is served
	 * next. */
	if (end->wanted)
		error = min(serve_sender(end), 0);
	return error;
}

int wait_by(u32 fd)
{
	struct file *file;

	if (others)
		return -EBUSY;
	file = fget(fd);
	if (!file)
		return -EBADF;
	others = file;
	init_poll_funcptr(&others_table, wait_for_others);
	vfs_poll(file, &others_table);
	return 0;
}

int count(struct dumbbell_traffic_count *count)
{
	struct end *end = xa_load(&ends, count->token);

	if (!end)
		return -ENOENT;
	*count = end->count;
	return 0;
}

int take_back(struct dumbbell_traffic_last *last)
{
	struct end *end = xa_load(&ends, last->count.token);
	struct tcp_info info;

	BUILD_BUG_ON(sizeof(info) < sizeof(last->info));
	if (!end || end->inlet || end->listens)
		return -ENOENT;
	tcp_get_info(end->sock->sk, &info);
	next_call();
	memcpy(last->info, &info, sizeof(last->info));
	last->count = end->count;
	xa_erase(&ends, end->asked.token);
	release(end);
	free_by_rcu(); /* process 1 closes it next */
	return 0;
}
