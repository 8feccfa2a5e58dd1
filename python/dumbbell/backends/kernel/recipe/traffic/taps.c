// SPDX-License-Identifier: GPL-2.0
/*
 * Records of packets that leave a device, in place of packet sockets of process 1 (guest/src/sys/ring.rs).
 *
 * Under time-travel=inf-cpu reading the clock advances it, so a tap reads it where a packet socket does: for
 * every packet of the device that carries no time, also for those that arrive, which are not recorded
 * (tpacket_rcv, net/packet/af_packet.c).
 */
#include <linux/etherdevice.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "traffic.h"

/* From here on process 1 is to fetch the records. */
#define MANY_BYTES (1U << 19)
/* Records are kept in pieces of memory, of which process 1 fetches whole ones. */
#define PIECE_ORDER 4
#define PIECE_BYTES (PAGE_SIZE << PIECE_ORDER)
#define MOST_PIECES 512
/* So many are kept for later when they were fetched. */
#define SPARE_PIECES (2 * MANY_BYTES / PIECE_BYTES)
/* Headers of Ethernet and IPv4 without options, and as much of what follows as process 1 looks at: the
 * length of TCP's header is in the 13th byte. */
#define LOOKED_AT_BYTES 14
#define HEAD_BYTES (ETH_HLEN + sizeof(struct iphdr) + LOOKED_AT_BYTES)

struct tap {
	struct list_head place;
	struct packet_type hook;
	struct dumbbell_traffic_tap asked;
	u32 missed;
};

struct piece {
	struct list_head place;
	u32 used;
	u8 records[];
};

static LIST_HEAD(taps);

/* Written by taps, in softirqs. */
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

static struct piece *add_piece(void)
{
	struct piece *piece = list_first_entry_or_null(&spare, struct piece, place);

	if (piece) {
		list_move_tail(&piece->place, &pieces);
		spare_count--;
		return piece;
	}
	if (piece_count == MOST_PIECES)
		return NULL;
	piece = (struct piece *)__get_free_pages(GFP_ATOMIC | __GFP_NOWARN, PIECE_ORDER);
	if (!piece)
		return NULL;
	piece->used = 0;
	list_add_tail(&piece->place, &pieces);
	piece_count++;
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
static u32 head_bytes(const struct sk_buff *skb, const struct tap *tap)
{
	u32 bytes = max_t(u32, tap->asked.head_bytes, HEAD_BYTES);

	if (skb->protocol == htons(ETH_P_IP) && skb_headlen(skb) > ETH_HLEN) {
		const struct iphdr *ip = (const void *)(skb->data + ETH_HLEN);

		bytes = max_t(u32, bytes, ETH_HLEN + 4 * ip->ihl + LOOKED_AT_BYTES);
	}
	return min(bytes, skb->len);
}

static void record(const struct sk_buff *skb, struct tap *tap, u64 at_ns)
{
	u32 length = head_bytes(skb, tap);
	u32 whole = sizeof(struct dumbbell_traffic_record) + ALIGN(length, 8);
	struct dumbbell_traffic_record *record;

	spin_lock(&lock);
	record = room_for(whole);
	if (record) {
		record->at_ns = at_ns;
		record->bytes = skb->len;
		record->point = tap->asked.point;
		record->is_partial = skb->ip_summed == CHECKSUM_PARTIAL;
		record->head_bytes = length;
		skb_copy_bits(skb, 0, record + 1, length);
	} else {
		tap->missed++;
	}
	spin_unlock(&lock);
}

static u64 seen_at_ns(const struct sk_buff *skb)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
	ktime_t stamp = skb_tstamp(skb);
#else
	ktime_t stamp = skb->tstamp;
#endif
	struct timespec64 now;

	if (stamp)
		return ktime_to_ns(stamp);
	ktime_get_real_ts64(&now);
	return timespec64_to_ns(&now);
}

/* Called with softirqs disabled. */
static int see(struct sk_buff *skb, struct net_device *device, struct packet_type *hook,
	       struct net_device *original)
{
	struct tap *tap = container_of(hook, struct tap, hook);

	if (skb->pkt_type != PACKET_LOOPBACK) {
		u64 at_ns = seen_at_ns(skb);

		if (skb->pkt_type == PACKET_OUTGOING)
			record(skb, tap, at_ns);
	}
	consume_skb(skb);
	return 0;
}

/* --- requests of process 1 ------------------------------------------------------------------- */

int add_tap(const struct dumbbell_traffic_tap *asked)
{
	struct tap *tap;

	BUILD_BUG_ON(DUMBBELL_TRAFFIC_SNAP_BYTES > U8_MAX);
	BUILD_BUG_ON(ETH_HLEN + 60 + LOOKED_AT_BYTES > U8_MAX);
	if (asked->head_bytes > DUMBBELL_TRAFFIC_SNAP_BYTES || asked->point > U16_MAX)
		return -EINVAL;
	tap = kzalloc(sizeof(*tap), GFP_KERNEL);
	if (!tap)
		return -ENOMEM;
	tap->asked = *asked;
	tap->hook.dev = dev_get_by_index(current->nsproxy->net_ns, asked->device);
	if (!tap->hook.dev) {
		kfree(tap);
		return -ENODEV;
	}
	tap->hook.type = htons(ETH_P_ALL);
	tap->hook.func = see;
	list_add_tail(&tap->place, &taps);
	dev_add_pack(&tap->hook);
	return 0;
}

/* A device cannot be removed while it has taps. */
void remove_taps(void)
{
	struct tap *tap, *next;

	list_for_each_entry_safe(tap, next, &taps, place) {
		dev_remove_pack(&tap->hook);
		dev_put(tap->hook.dev);
		list_del(&tap->place);
		kfree(tap);
	}
}

int count_missed(struct dumbbell_traffic_missed *asked)
{
	struct tap *tap;

	list_for_each_entry(tap, &taps, place) {
		if (tap->asked.point == asked->point) {
			asked->packets = tap->missed;
			return 0;
		}
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
