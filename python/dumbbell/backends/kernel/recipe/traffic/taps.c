// SPDX-License-Identifier: GPL-2.0
/*
 * Records of packets before and behind a queue, in place of packet sockets of process 1
 * (guest/src/sys/ring.rs) and without the copies of packets that those need.
 *
 * The times are those of packet sockets. Under time-travel=inf-cpu reading the clock advances it, but not
 * while softirqs are disabled (timer_read, arch/um/kernel/time.c), as they are wherever a packet is sent. So
 * it does not matter how often it is read there.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <net/act_api.h>
#include <net/pkt_cls.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#include <net/tcx.h>
#endif

#include "traffic.h"

/* From here on process 1 is to fetch the records. */
#define MANY_BYTES (1U << 19)
/* Records are kept in pieces of memory, of which process 1 fetches whole ones. */
#define PIECE_ORDER 4
#define PIECE_BYTES (PAGE_SIZE << PIECE_ORDER)
#define MOST_PIECES 512UL
/* So many are there from the beginning, and are kept when they were fetched. */
#define SPARE_PIECES (2 * MANY_BYTES / PIECE_BYTES)
/* Headers of Ethernet and IPv4 without options, and as much of what follows as process 1 looks at: the
 * length of TCP's header is in the 13th byte. */
#define LOOKED_AT_BYTES 14
#define HEAD_BYTES (ETH_HLEN + sizeof(struct iphdr) + LOOKED_AT_BYTES)

/* Where packets are seen. */
struct point {
	u32 number;
	u32 head_bytes; /* of each packet are recorded at least */
	u32 missed;
};

/* A device that records what it sends: its operations are these. */
struct sender {
	struct point point;
	struct net_device_ops operations;
	netdev_tx_t (*send)(struct sk_buff *skb, struct net_device *device);
};

/* Both points of a queue. Never freed: the devices stay as long as the guest. */
struct tap {
	struct list_head place;
	struct sender before; /* the device that gets copies of packets */
	struct sender behind;
	/* The operations of the action that copies. */
	struct tc_action_ops action;
	int (*copy)(struct sk_buff *skb, const struct tc_action *action, struct tcf_result *result);
};

struct piece {
	struct list_head place;
	u32 used;
	u8 records[] __aligned(SMP_CACHE_BYTES); /* most records are as long as a line of the cache */
};

static LIST_HEAD(taps);

/* Written where packets are sent, with softirqs disabled. */
static DEFINE_SPINLOCK(lock);
static LIST_HEAD(pieces);
static LIST_HEAD(spare);
static u32 piece_count; /* in both lists */
static u32 spare_count;
static u32 recorded_bytes;

bool are_records_many(void)
{
	return READ_ONCE(recorded_bytes) >= MANY_BYTES;
}

/* --- recording ------------------------------------------------------------------------------- */

static struct piece *new_piece(gfp_t flags)
{
	struct piece *piece = NULL;

	if (piece_count < MOST_PIECES)
		piece = (struct piece *)__get_free_pages(flags | __GFP_NOWARN, PIECE_ORDER);
	if (piece) {
		piece->used = 0;
		piece_count++;
	}
	return piece;
}

/* Where packets are sent no memory may be waited for. */
static int prepare_pieces(void)
{
	while (spare_count < min(SPARE_PIECES, MOST_PIECES)) {
		struct piece *piece = new_piece(GFP_KERNEL);

		if (!piece)
			return -ENOMEM;
		list_add(&piece->place, &spare);
		spare_count++;
	}
	return 0;
}

static struct piece *add_piece(void)
{
	struct piece *piece = list_first_entry_or_null(&spare, struct piece, place);

	if (piece) {
		list_move_tail(&piece->place, &pieces);
		spare_count--;
		return piece;
	}
	piece = new_piece(GFP_ATOMIC);
	if (piece)
		list_add_tail(&piece->place, &pieces);
	return piece;
}

static void *room_for(u32 bytes)
{
	struct piece *last = list_empty(&pieces) ? NULL : list_last_entry(&pieces, struct piece, place);
	void *room;

	if (!last || last->used + bytes > PIECE_BYTES - sizeof(*last))
		last = add_piece();
	if (!last)
		return NULL;
	room = last->records + last->used;
	last->used += bytes;
	WRITE_ONCE(recorded_bytes, recorded_bytes + bytes);
	return room;
}

/* How much of a packet is recorded: options of IPv4 come in addition. */
static u32 head_bytes(const struct sk_buff *skb, const struct point *point)
{
	u32 bytes = max_t(u32, point->head_bytes, HEAD_BYTES);

	if (skb->protocol == htons(ETH_P_IP) && skb_headlen(skb) > ETH_HLEN) {
		const struct iphdr *ip = (const void *)(skb->data + ETH_HLEN);

		bytes = max_t(u32, bytes, ETH_HLEN + 4 * ip->ihl + LOOKED_AT_BYTES);
	}
	return min(bytes, skb->len);
}

static u64 wall_clock_ns(void)
{
	struct timespec64 now;

	ktime_get_real_ts64(&now);
	return timespec64_to_ns(&now);
}

/* A new record without the head. NULL if there is no memory. */
static struct dumbbell_traffic_record *new_record(const struct sk_buff *skb, struct point *point,
						  u32 head_bytes)
{
	struct dumbbell_traffic_record *record;

	record = room_for(sizeof(*record) + ALIGN(head_bytes, 8));
	if (!record) {
		point->missed++;
		return NULL;
	}
	record->at_ns = wall_clock_ns();
	record->bytes = skb->len;
	record->point = point->number;
	record->is_partial = skb->ip_summed == CHECKSUM_PARTIAL;
	record->head_bytes = head_bytes;
	return record;
}

static void record_whole(const struct sk_buff *skb, struct point *point)
{
	u32 length = head_bytes(skb, point);
	struct dumbbell_traffic_record *record;

	spin_lock(&lock);
	record = new_record(skb, point, length);
	if (record)
		skb_copy_bits(skb, 0, record + 1, length);
	spin_unlock(&lock);
}

static netdev_tx_t see_sent(struct sk_buff *skb, struct net_device *device)
{
	struct sender *sender = container_of(device->netdev_ops, struct sender, operations);

	record_whole(skb, &sender->point);
	return sender->send(skb, device);
}

/* Bytes of the headers of a packet of several segments of TCP; 0 for others, and for those that would not
 * be segmented (tcp_gso_segment, net/ipv4/tcp_offload.c). */
static u32 headers_of_segments(const struct sk_buff *skb)
{
	u32 headers;

	if (skb_shinfo(skb)->gso_type & ~(SKB_GSO_TCPV4 | SKB_GSO_TCP_ECN) ||
	    !(skb_shinfo(skb)->gso_type & SKB_GSO_TCPV4) || skb->protocol != htons(ETH_P_IP))
		return 0;
	headers = skb_transport_offset(skb) + tcp_hdrlen(skb);
	if (headers > skb_headlen(skb) || skb->len - headers <= skb_shinfo(skb)->gso_size)
		return 0;
	return headers;
}

/* The segments that a packet would be divided into: each has the next identification and sequence number. */
static void record_segments(const struct sk_buff *skb, struct point *point, u32 headers)
{
	u32 length = head_bytes(skb, point), transport = skb_transport_offset(skb);
	u32 segment = skb_shinfo(skb)->gso_size, left = skb->len - headers, number;
	struct dumbbell_traffic_record *record;

	spin_lock(&lock);
	for (number = 0; left; number++) {
		u32 payload = min(left, segment);
		struct tcphdr *tcp;
		struct iphdr *ip;

		left -= payload;
		record = new_record(skb, point, length);
		if (!record)
			continue;
		record->bytes = headers + payload;
		skb_copy_bits(skb, 0, record + 1, length);
		ip = (void *)(record + 1) + ETH_HLEN;
		tcp = (void *)(record + 1) + transport;
		ip->id = htons(ntohs(ip->id) + number);
		tcp->seq = htonl(ntohl(tcp->seq) + number * segment);
	}
	spin_unlock(&lock);
}

/* In place of a copy to a device that sees it. */
static int see_arrival(struct sk_buff *skb, const struct tc_action *action, struct tcf_result *result)
{
	struct tap *tap = container_of(action->ops, struct tap, action);
	u32 headers;

	if (!skb_is_gso(skb)) {
		record_whole(skb, &tap->before.point);
		return READ_ONCE(action->tcfa_action);
	}
	headers = headers_of_segments(skb);
	if (!headers)
		return tap->copy(skb, action, result);
	record_segments(skb, &tap->before.point, headers);
	return READ_ONCE(action->tcfa_action);
}

/* --- requests of process 1 ------------------------------------------------------------------- */

static int observe(struct sender *sender, struct net *net, u32 index)
{
	struct net_device *device = __dev_get_by_index(net, index);

	if (!device)
		return -ENODEV;
	if (device->type != ARPHRD_ETHER)
		return -EINVAL;
	sender->operations = *device->netdev_ops;
	sender->send = sender->operations.ndo_start_xmit;
	sender->operations.ndo_start_xmit = see_sent;
	WRITE_ONCE(device->netdev_ops, &sender->operations);
	return 0;
}

/* The first filter before a device's queue. */
static struct tcf_proto *first_filter(const struct net_device *device)
{
	struct mini_Qdisc *hook;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	struct bpf_mprog_entry *entry = rtnl_dereference(device->tcx_egress);

	hook = entry ? rtnl_dereference(tcx_entry(entry)->miniq) : NULL;
#else
	hook = rtnl_dereference(device->miniq_egress);
#endif
	return hook ? hook->filter_list : NULL;
}

/*
 * Records arriving packets where they would be copied, and does not copy them. A packet that is copied
 * nevertheless is seen by the device that gets it.
 */
static void observe_in_place(struct tap *tap, struct net *net, u32 index)
{
	struct tcf_proto *filter = first_filter(__dev_get_by_index(net, index));
	const struct tcf_exts *actions;
	struct tc_action *first;

	if (!filter || strcmp(filter->ops->kind, "matchall"))
		return;
	/* The first member of struct cls_mall_head (net/sched/cls_matchall.c). */
	actions = rtnl_dereference(filter->root);
	if (!actions || !actions->nr_actions)
		return;
	first = actions->actions[0];
	if (strcmp(first->ops->kind, "mirred"))
		return;
	tap->action = *first->ops;
	tap->copy = tap->action.act;
	tap->action.act = see_arrival;
	WRITE_ONCE(first->ops, &tap->action);
}

int add_tap(const struct dumbbell_traffic_tap *asked)
{
	struct net *net = current->nsproxy->net_ns;
	struct tap *tap;
	int error = list_empty(&taps) ? prepare_pieces() : 0;

	BUILD_BUG_ON(DUMBBELL_TRAFFIC_SNAP_BYTES > U8_MAX);
	BUILD_BUG_ON(ETH_HLEN + 60 + LOOKED_AT_BYTES > U8_MAX);
	if (asked->head_bytes > DUMBBELL_TRAFFIC_SNAP_BYTES || asked->before >= U16_MAX)
		return -EINVAL;
	if (error)
		return error;
	tap = kzalloc(sizeof(*tap), GFP_KERNEL);
	if (!tap)
		return -ENOMEM;
	tap->before.point.number = asked->before;
	tap->behind.point.number = asked->before + 1;
	tap->before.point.head_bytes = asked->head_bytes;
	tap->behind.point.head_bytes = asked->head_bytes;
	rtnl_lock();
	error = observe(&tap->before, net, asked->copies);
	if (!error)
		error = observe(&tap->behind, net, asked->device);
	/* All headers of segments are only in the segments themselves. */
	if (!error && !asked->head_bytes)
		observe_in_place(tap, net, asked->device);
	rtnl_unlock();
	/* Also after an error: a device may have its operations already. */
	list_add_tail(&tap->place, &taps);
	return error;
}

int count_missed(struct dumbbell_traffic_missed *asked)
{
	struct tap *tap;

	list_for_each_entry(tap, &taps, place) {
		if (tap->before.point.number == asked->point)
			asked->packets = tap->before.point.missed;
		else if (tap->behind.point.number == asked->point)
			asked->packets = tap->behind.point.missed;
		else
			continue;
		return 0;
	}
	return -ENOENT;
}

/* Returns a piece to the taps; those that are not needed soon to the kernel. */
static void give_back(struct piece *piece)
{
	unsigned long flags;
	bool is_spare;

	piece->used = 0;
	spin_lock_irqsave(&lock, flags);
	is_spare = spare_count < SPARE_PIECES;
	if (is_spare) {
		list_add(&piece->place, &spare);
		spare_count++;
	} else {
		piece_count--;
	}
	spin_unlock_irqrestore(&lock, flags);
	if (!is_spare)
		free_pages((unsigned long)piece, PIECE_ORDER);
}

static struct piece *first_piece(u64 room)
{
	struct piece *first;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	first = list_first_entry_or_null(&pieces, struct piece, place);
	if (first && first->used > room)
		first = NULL;
	if (first) {
		list_del(&first->place);
		recorded_bytes -= first->used;
	}
	spin_unlock_irqrestore(&lock, flags);
	return first;
}

int fetch_records(struct dumbbell_traffic_fetch *asked)
{
	u8 __user *to = u64_to_user_ptr(asked->address);
	struct piece *piece;
	u64 fetched = 0;
	int error = 0;

	while (!error && (piece = first_piece(asked->bytes - fetched))) {
		if (copy_to_user(to + fetched, piece->records, piece->used))
			error = -EFAULT;
		fetched += piece->used;
		give_back(piece);
	}
	asked->bytes = fetched;
	return error;
}
