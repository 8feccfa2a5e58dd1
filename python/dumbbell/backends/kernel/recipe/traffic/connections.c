// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of transfers: opened when a transfer begins, accepted, and closed once its bytes have
 * arrived. Process 1 draws bytes and times beforehand, from the generators that it uses without the
 * module, and reads afterwards what was opened and closed, in this order. Here sockets are made,
 * configured and closed by the calls of process 1 (guest/src/tcp_flow.rs), in the same order, and no
 * call reads the clock more or less often. ends.c reads and writes.
 */
#include <linux/fcntl.h>
#include <linux/hashtable.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "traffic.h"

/* Most of a schedule, and most options of a socket. */
#define MOST_TRANSFERS (1U << 20)
#define MOST_OPTIONS 32

struct transfers {
	struct due due; /* planned while the next transfer waits for nothing else */
	struct dumbbell_traffic_transfers asked;
	struct dumbbell_traffic_option *options;
	struct socket *of_host; /* of the host that opens connections */
	struct dumbbell_traffic_transfer *schedule;
	u32 count;
	u32 next;
	bool is_last;
	u32 begun;
	struct list_head connections; /* in the order of their numbers */
	struct end listener;
};

struct connection {
	struct transfers *transfers;
	u32 number; /* of the transfer, from 1, if connections may overlap; else 0 */
	struct list_head place; /* in `connections` */
	struct hlist_node with_port;
	u16 port; /* of the sender */
	struct end sender;
	struct end receiver; /* without a socket until it is accepted */
};

/* By the number of their flow. */
static DEFINE_XARRAY(all_transfers);
static DEFINE_HASHTABLE(by_port, 10);

/* The lower half of orders and tokens is the number of the flow. */
static unsigned long flow_of(u64 order)
{
	return (u32)order;
}

/* --- calls ----------------------------------------------------------------------------------- */

static int set_option(struct socket *sock, int level, int name, void *value, u32 bytes)
{
	sockptr_t from = KERNEL_SOCKPTR(value);

	if (level == SOL_SOCKET)
		return returned(sock_setsockopt(sock, level, name, from, bytes));
	return returned(sock->ops->setsockopt(sock, level, name, from, bytes));
}

/* The socket's own port, or that of the other end. */
static int port_of(struct socket *sock, bool is_peer)
{
	struct sockaddr_in address;
	int length = returned(sock->ops->getname(sock, (struct sockaddr *)&address, is_peer ? 2 : 0));

	return length < 0 ? length : ntohs(address.sin_port);
}

/* TCP closes a socket on the way back from close(2). */
static void close_socket(struct socket *sock)
{
	cond_resched();
	sock_release(sock);
	cond_resched();
}

/* --- opening --------------------------------------------------------------------------------- */

static int make_socket(const struct transfers *transfers, struct socket **made)
{
	u32 number;
	int error;

	cond_resched(); /* process 1 enters the host */
	error = returned(__sock_create(sock_net(transfers->of_host->sk), AF_INET, SOCK_STREAM, 0, made,
				       0));
	for (number = 0; !error && number < transfers->asked.option_count; number++) {
		struct dumbbell_traffic_option *option = transfers->options + number;

		error = set_option(*made, option->level, option->name, option->value, option->bytes);
		if (error)
			sock_release(*made);
	}
	return error;
}

static int begin_to_connect(struct socket *sock, const struct transfers *transfers)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = transfers->asked.port,
		.sin_addr.s_addr = transfers->asked.address,
	};
	int error = returned(kernel_connect(sock, (struct sockaddr *)&to, sizeof(to), O_NONBLOCK));

	if (error && error != -EINPROGRESS)
		return error;
	cond_resched(); /* process 1 adds it to those it waits for */
	return port_of(sock, false);
}

static void make_end(struct end *end, struct connection *connection, u32 kind, u64 token, u64 bytes)
{
	const struct dumbbell_traffic_transfers *asked = &connection->transfers->asked;

	end->connection = connection;
	end->asked.token = token + connection->number * asked->token_step;
	end->asked.kind = kind;
	end->asked.bytes = bytes;
	end->wanted = EPOLLERR | EPOLLHUP;
	end->wanted |= kind == DUMBBELL_TRAFFIC_SENDER ? EPOLLOUT : EPOLLIN;
}

static int open_connection(struct transfers *transfers, u64 bytes)
{
	const struct dumbbell_traffic_transfers *asked = &transfers->asked;
	struct connection *connection;
	struct socket *sock;
	int port, error;

	connection = kzalloc(sizeof(*connection), GFP_KERNEL);
	if (!connection)
		return -ENOMEM;
	error = make_socket(transfers, &sock);
	if (error) {
		kfree(connection);
		return error;
	}
	port = begin_to_connect(sock, transfers);
	if (port < 0) {
		sock_release(sock);
		kfree(connection);
		return port;
	}
	transfers->begun++;
	connection->transfers = transfers;
	connection->number = asked->waits_for_end ? 0 : transfers->begun;
	connection->port = port;
	list_add_tail(&connection->place, &transfers->connections);
	hash_add(by_port, &connection->with_port, connection->port);
	make_end(&connection->receiver, connection, DUMBBELL_TRAFFIC_RECEIVER, asked->receiver, bytes);
	make_end(&connection->sender, connection, DUMBBELL_TRAFFIC_SENDER, asked->sender, bytes);
	connection->receiver.asked.window_bytes = asked->window_bytes;
	connection->sender.asked.write_bytes = asked->write_bytes;
	start_waiting(&connection->sender, sock);
	return 0;
}

static int begin_next(struct due *due)
{
	struct transfers *transfers = container_of(due, struct transfers, due);
	struct dumbbell_traffic_opened opened = {
		.at_ps = due->at_ps,
		.bytes = transfers->schedule[transfers->next].bytes,
	};
	int error = open_connection(transfers, opened.bytes);

	if (error)
		return error;
	transfers->next++;
	if (transfers->next == transfers->count) {
		if (!transfers->is_last)
			set_wants_schedule(true);
	} else if (!transfers->asked.waits_for_end) {
		plan_due(due, transfers->schedule[transfers->next].at_ps);
	}
	return keep_item(due->order, DUMBBELL_TRAFFIC_OPENED, &opened, sizeof(opened), NULL, 0);
}

/* --- accepting ------------------------------------------------------------------------------- */

static struct connection *find(const struct transfers *transfers, u16 port)
{
	struct connection *connection;

	hash_for_each_possible(by_port, connection, with_port, port) {
		if (connection->transfers == transfers && connection->port == port)
			return connection;
	}
	return NULL;
}

/* As do_accept() (net/socket.c). A socket to which nothing was accepted is freed on the way back from the
 * call, after its microsecond (see free_by_rcu()). */
static int accept_next(struct socket *listener, struct socket **accepted)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	struct proto_accept_arg how = { .flags = O_NONBLOCK };
#endif
	struct sock *sk = listener->sk;
	struct socket *sock;
	int error;

	error = sock_create_lite(sk->sk_family, sk->sk_type, sk->sk_protocol, &sock);
	if (error)
		return error;
	sock->ops = listener->ops;
	__module_get(sock->ops->owner);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
	error = sock->ops->accept(listener, sock, &how);
#else
	error = sock->ops->accept(listener, sock, O_NONBLOCK, false);
#endif
	if (!error)
		error = min(port_of(sock, true), 0);
	else
		returned(error);
	if (error)
		close_socket(sock);
	else
		*accepted = sock;
	return error;
}

int accept_connections(struct transfers *transfers)
{
	for (;;) {
		struct connection *connection;
		struct socket *sock;
		int error = accept_next(transfers->listener.sock, &sock);

		if (error)
			return error == -EAGAIN ? 0 : error;
		connection = find(transfers, ntohs(inet_sk(sock->sk)->inet_dport));
		if (!connection || connection->receiver.sock) {
			close_socket(sock); /* its sender has given it up */
			continue;
		}
		start_waiting(&connection->receiver, sock);
		cond_resched(); /* process 1 adds it to those it waits for */
	}
}

/* --- closing --------------------------------------------------------------------------------- */

static void look_at_end(struct end *end, struct dumbbell_traffic_last *last)
{
	struct tcp_info info;

	BUILD_BUG_ON(sizeof(info) < sizeof(last->info));
	tcp_get_info(end->sock->sk, &info);
	cond_resched();
	memcpy(last->info, &info, sizeof(last->info));
	last->count = end->count;
	last->count.token = end->asked.token;
}

static void close_end(struct end *end)
{
	if (!end->sock)
		return;
	stop_waiting(end);
	cond_resched();
	free_by_rcu();
	sock_release(end->sock);
	cond_resched();
}

/* `completed_ns` is 0 if the bytes have not arrived. An aborted connection sends nothing more. */
static int close_connection(struct connection *connection, u64 completed_ns, bool is_aborted)
{
	struct linger at_once = { .l_onoff = 1 };
	struct dumbbell_traffic_closed closed = {
		.completed_ns = completed_ns,
		.has_receiver = connection->receiver.sock != NULL,
	};
	u64 token = connection->sender.asked.token;

	look_at_end(&connection->sender, &closed.sender);
	if (closed.has_receiver)
		look_at_end(&connection->receiver, &closed.receiver);
	if (is_aborted)
		set_option(connection->sender.sock, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close_end(&connection->sender);
	close_end(&connection->receiver);
	list_del(&connection->place);
	hash_del(&connection->with_port);
	kfree(connection);
	return keep_item(token, DUMBBELL_TRAFFIC_CLOSED, &closed, sizeof(closed), NULL, 0);
}

/* A transfer has ended, and the next may begin some time later. */
static void plan_after_end(struct transfers *transfers, u64 at_ns)
{
	u64 at_ps;

	if (!transfers->asked.waits_for_end || transfers->next == transfers->count)
		return;
	if (!check_add_overflow(since_zero_ps(at_ns), transfers->schedule[transfers->next].at_ps,
				&at_ps) &&
	    at_ps < transfers->asked.stop_ps)
		plan_due(&transfers->due, at_ps);
	set_timer();
	cond_resched();
}

int connection_is_over(struct end *end, u64 at_ns)
{
	struct connection *connection = end->connection;
	struct transfers *transfers = connection->transfers;
	int error;

	if (end->asked.kind == DUMBBELL_TRAFFIC_SENDER)
		return close_connection(connection, 0, false); /* it broke */
	error = close_connection(connection, at_ns, false);
	if (!error)
		plan_after_end(transfers, at_ns);
	return error;
}

int abort_connections(u64 order)
{
	struct transfers *transfers = xa_load(&all_transfers, flow_of(order));
	struct connection *connection, *next;
	int error = 0;

	if (!transfers)
		return -ENOENT;
	list_for_each_entry_safe(connection, next, &transfers->connections, place) {
		if (!error)
			error = close_connection(connection, 0, true);
	}
	return error;
}

/* --- samples --------------------------------------------------------------------------------- */

static int sample_connections(const struct transfers *transfers)
{
	struct connection *connection;
	int error = 0;

	list_for_each_entry(connection, &transfers->connections, place) {
		error = sample_end(&connection->sender);
		if (!error && connection->receiver.sock)
			error = sample_end(&connection->receiver);
		if (error)
			break;
	}
	return error;
}

int sample_transfers(u64 from_token, u64 before_token)
{
	struct transfers *transfers;
	unsigned long flow;
	int error = 0;

	xa_for_each_range(&all_transfers, flow, transfers, flow_of(from_token),
			  flow_of(before_token)) {
		error = sample_connections(transfers);
		if (error)
			break;
	}
	return error;
}

int look_at_transfers(u64 order)
{
	struct transfers *transfers = xa_load(&all_transfers, flow_of(order));
	int error;

	if (!transfers)
		return -ENOENT;
	error = keep_item(order, DUMBBELL_TRAFFIC_LOOKED, NULL, 0, NULL, 0);
	return error ? error : sample_connections(transfers);
}

/* --- requests of process 1 ------------------------------------------------------------------- */

static bool is_schedule(const struct transfers *transfers,
			const struct dumbbell_traffic_transfer *schedule, u32 count)
{
	u32 number;

	if (transfers->asked.waits_for_end)
		return true;
	for (number = 1; number < count; number++) {
		if (schedule[number].at_ps < schedule[number - 1].at_ps)
			return false;
	}
	return true;
}

int add_transfer_schedule(const struct dumbbell_traffic_transfer_schedule *asked)
{
	struct transfers *transfers = xa_load(&all_transfers, flow_of(asked->order));
	struct dumbbell_traffic_transfer *schedule;

	if (!transfers)
		return -ENOENT;
	if (transfers->next < transfers->count)
		return -EBUSY;
	if (!asked->count || asked->count > MOST_TRANSFERS)
		return -EINVAL;
	schedule = vmemdup_user(u64_to_user_ptr(asked->transfers), asked->count * sizeof(*schedule));
	if (IS_ERR(schedule))
		return PTR_ERR(schedule);
	if (!is_schedule(transfers, schedule, asked->count)) {
		kvfree(schedule);
		return -EINVAL;
	}
	kvfree(transfers->schedule);
	transfers->schedule = schedule;
	transfers->count = asked->count;
	transfers->next = 0;
	transfers->is_last = asked->is_last;
	if (!transfers->begun || !transfers->asked.waits_for_end)
		plan_due(&transfers->due, schedule->at_ps);
	set_wants_schedule(false);
	return 0;
}

static int take_options(struct transfers *transfers)
{
	const struct dumbbell_traffic_transfers *asked = &transfers->asked;
	struct dumbbell_traffic_option *options;
	u32 number;

	if (asked->option_count > MOST_OPTIONS)
		return -EINVAL;
	options = vmemdup_user(u64_to_user_ptr(asked->options), asked->option_count * sizeof(*options));
	if (IS_ERR(options))
		return PTR_ERR(options);
	transfers->options = options;
	for (number = 0; number < asked->option_count; number++) {
		if (options[number].bytes > sizeof(options->value))
			return -EINVAL;
	}
	return 0;
}

static bool is_listening(const struct sock *sk)
{
	return sk->sk_protocol == IPPROTO_TCP && sk->sk_state == TCP_LISTEN;
}

static int take_sockets(struct transfers *transfers)
{
	struct end *listener = &transfers->listener;
	int error;

	transfers->of_host = sockfd_lookup(transfers->asked.of_host, &error);
	if (!transfers->of_host)
		return error;
	error = xa_insert(&all_transfers, flow_of(transfers->asked.order), transfers, GFP_KERNEL);
	if (error)
		return error;
	listener->listens = transfers;
	listener->asked.token = transfers->asked.accepts;
	listener->wanted = EPOLLIN | EPOLLERR | EPOLLHUP;
	error = add_end(listener, transfers->asked.listener, is_listening);
	if (error)
		xa_erase(&all_transfers, flow_of(transfers->asked.order));
	return error;
}

int add_transfers(const struct dumbbell_traffic_transfers *asked)
{
	struct transfers *transfers;
	int error;

	if (asked->window_bytes > INT_MAX)
		return -EINVAL;
	transfers = kzalloc(sizeof(*transfers), GFP_KERNEL);
	if (!transfers)
		return -ENOMEM;
	transfers->asked = *asked;
	transfers->due.order = asked->order;
	transfers->due.act = begin_next;
	INIT_LIST_HEAD(&transfers->connections);
	error = take_options(transfers);
	if (!error)
		error = take_sockets(transfers);
	if (!error)
		return 0;
	if (transfers->of_host)
		sockfd_put(transfers->of_host);
	kvfree(transfers->options);
	kfree(transfers);
	return error;
}
