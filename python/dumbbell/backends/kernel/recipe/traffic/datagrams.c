// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams: process 1 computes times and contents beforehand, from the generators that it uses
 * without the module, and reads afterwards what was sent and received, in this order. Here they are
 * sent, received and sent back by the calls of process 1 (guest/src/udp_flow.rs, guest/src/probes.rs),
 * and no call reads the clock more or less often.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>
#include <net/sock.h>

#include "traffic.h"

/* The largest datagram of IPv4, and the buffer of process 1 for one that is sent back. */
#define MOST_BYTES (1U << 16)
/* Most of a schedule. */
#define MOST_DATAGRAMS (1U << 20)

struct inlet {
	struct dumbbell_traffic_inlet asked;
	u8 *classes; /* NULL if nothing is sent back */
};

struct source {
	struct due due; /* planned while something is left of the schedule */
	struct dumbbell_traffic_source asked;
	struct socket *sock;
	struct dumbbell_traffic_datagram *schedule;
	u32 count;
	u32 next;
	bool is_last;
};

static DEFINE_XARRAY(sources);
static void *echoed;

/* --- calls ----------------------------------------------------------------------------------- */

static int set_class(struct socket *sock, int class)
{
	return returned(sock->ops->setsockopt(sock, SOL_IP, IP_TOS, KERNEL_SOCKPTR(&class),
					      sizeof(class)));
}

static int send_to(struct socket *sock, struct sockaddr_in *to, struct kvec parts[2])
{
	struct msghdr message = {
		.msg_name = to,
		.msg_namelen = sizeof(*to),
		.msg_flags = MSG_DONTWAIT,
	};
	size_t bytes = parts[0].iov_len + parts[1].iov_len;

	return min(returned(kernel_sendmsg(sock, &message, parts, 2, bytes)), 0);
}

static int receive(struct socket *sock, struct sockaddr_in *from, void *to, u32 room, int flags)
{
	struct kvec place = { .iov_base = to, .iov_len = room };
	struct msghdr message = { .msg_name = from };

	return returned(kernel_recvmsg(sock, &message, &place, 1, room, flags | MSG_DONTWAIT));
}

/* --- what arrives ---------------------------------------------------------------------------- */

static int keep_arrival(const struct inlet *inlet, u64 now_ns, u32 bytes, u32 client, void *head)
{
	struct dumbbell_traffic_arrival arrival = { .at_ns = now_ns, .bytes = bytes, .client = client };

	return keep_item(inlet->asked.token, DUMBBELL_TRAFFIC_ARRIVED, &arrival, sizeof(arrival), head,
			 min(bytes, inlet->asked.head_bytes));
}

static int take_datagrams(struct socket *sock, const struct inlet *inlet, u64 now_ns)
{
	u8 head[DUMBBELL_TRAFFIC_HEAD_BYTES];
	int error = 0;

	while (!error) {
		int got = receive(sock, NULL, head, inlet->asked.head_bytes, MSG_TRUNC);

		if (got < 0)
			return got == -EAGAIN ? 0 : got;
		error = keep_arrival(inlet, now_ns, got, 0, head);
	}
	return error;
}

static int send_back(struct socket *sock, const struct inlet *inlet, u64 now_ns)
{
	int error = 0;

	while (!error) {
		struct sockaddr_in from;
		int got = receive(sock, &from, echoed, MOST_BYTES, 0);
		struct kvec parts[2] = { { .iov_base = echoed, .iov_len = max(got, 0) } };
		u16 client;

		if (got < 0)
			return got == -EAGAIN ? 0 : got;
		client = ntohs(from.sin_port) - inlet->asked.first_port;
		if (client >= inlet->asked.class_count)
			continue;
		error = set_class(sock, inlet->classes[client]);
		if (!error)
			error = send_to(sock, &from, parts);
		if (!error)
			error = keep_arrival(inlet, now_ns, got, client, echoed);
	}
	return error;
}

int serve_inlet(struct socket *sock, const struct inlet *inlet, u64 now_ns)
{
	if (inlet->classes)
		return send_back(sock, inlet, now_ns);
	return take_datagrams(sock, inlet, now_ns);
}

struct inlet *make_inlet(const struct dumbbell_traffic_inlet *asked)
{
	struct inlet *inlet;

	if (asked->head_bytes > DUMBBELL_TRAFFIC_HEAD_BYTES || asked->class_count > U16_MAX + 1)
		return ERR_PTR(-EINVAL);
	inlet = kzalloc(sizeof(*inlet), GFP_KERNEL);
	if (!inlet)
		return ERR_PTR(-ENOMEM);
	inlet->asked = *asked;
	if (!asked->classes)
		return inlet;
	if (!echoed)
		echoed = kvmalloc(MOST_BYTES, GFP_KERNEL);
	inlet->classes = echoed ? vmemdup_user(u64_to_user_ptr(asked->classes), asked->class_count)
				: ERR_PTR(-ENOMEM);
	if (IS_ERR(inlet->classes)) {
		int error = PTR_ERR(inlet->classes);

		kfree(inlet);
		return ERR_PTR(error);
	}
	return inlet;
}

void free_inlet(struct inlet *inlet)
{
	if (!inlet)
		return;
	kvfree(inlet->classes);
	kfree(inlet);
}

/* --- what is sent ---------------------------------------------------------------------------- */

static int send_next(struct due *due)
{
	struct source *source = container_of(due, struct source, due);
	struct dumbbell_traffic_datagram *datagram = source->schedule + source->next;
	u32 head_bytes = min(datagram->head_bytes, datagram->bytes);
	struct kvec parts[2] = {
		{ .iov_base = datagram->head, .iov_len = head_bytes },
		{ .iov_base = zeros, .iov_len = datagram->bytes - head_bytes },
	};
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = source->asked.port,
		.sin_addr.s_addr = source->asked.address,
	};
	int error = 0;

	if (source->asked.traffic_class >= 0)
		error = set_class(source->sock, source->asked.traffic_class);
	if (!error)
		error = send_to(source->sock, &to, parts);
	if (error)
		return error;
	source->next++;
	if (source->next < source->count)
		plan_due(due, source->schedule[source->next].at_ps);
	else if (!source->is_last)
		set_wants_schedule(true);
	return keep_item(source->asked.order, DUMBBELL_TRAFFIC_SENT, NULL, 0, NULL, 0);
}

int add_source(const struct dumbbell_traffic_source *asked)
{
	struct source *source;
	int error;

	source = kzalloc(sizeof(*source), GFP_KERNEL);
	if (!source)
		return -ENOMEM;
	source->asked = *asked;
	source->due.order = asked->order;
	source->due.act = send_next;
	source->is_last = true;
	source->sock = sockfd_lookup(asked->fd, &error);
	if (!source->sock) {
		kfree(source);
		return error;
	}
	error = source->sock->type == SOCK_STREAM ? -EINVAL : 0;
	if (!error)
		error = xa_insert(&sources, asked->order, source, GFP_KERNEL);
	if (error) {
		sockfd_put(source->sock);
		kfree(source);
	}
	return error;
}

static bool is_schedule(const struct dumbbell_traffic_datagram *schedule, u32 count)
{
	u32 number;

	for (number = 0; number < count; number++) {
		if (schedule[number].bytes > MOST_BYTES ||
		    schedule[number].head_bytes > sizeof(schedule->head) ||
		    (number && schedule[number].at_ps < schedule[number - 1].at_ps))
			return false;
	}
	return true;
}

int add_schedule(const struct dumbbell_traffic_schedule *asked)
{
	struct source *source = xa_load(&sources, asked->order);
	struct dumbbell_traffic_datagram *schedule;

	if (!source)
		return -ENOENT;
	if (source->next < source->count)
		return -EBUSY;
	if (!asked->count || asked->count > MOST_DATAGRAMS)
		return -EINVAL;
	schedule = vmemdup_user(u64_to_user_ptr(asked->datagrams), asked->count * sizeof(*schedule));
	if (IS_ERR(schedule))
		return PTR_ERR(schedule);
	if (!is_schedule(schedule, asked->count)) {
		kvfree(schedule);
		return -EINVAL;
	}
	kvfree(source->schedule);
	source->schedule = schedule;
	source->count = asked->count;
	source->next = 0;
	source->is_last = asked->is_last;
	plan_due(&source->due, schedule->at_ps);
	set_wants_schedule(false);
	return 0;
}
