// SPDX-License-Identifier: GPL-2.0
/*
 * Sources: what is sent, or opened, at times that process 1 has computed before, in the order of these
 * times, and of sources at the same time.
 */
#include "traffic.h"

static struct rb_root_cached sources_due = RB_ROOT_CACHED;
static bool wants_schedule; /* a source has used all of its schedule, and more will follow */

static bool is_earlier(struct rb_node *one, const struct rb_node *other)
{
	const struct due *a = rb_entry(one, struct due, place);
	const struct due *b = rb_entry(other, struct due, place);

	return a->at_ps < b->at_ps || (a->at_ps == b->at_ps && a->order < b->order);
}

void plan_due(struct due *due, u64 at_ps)
{
	due->at_ps = at_ps;
	rb_add_cached(&due->place, &sources_due, is_earlier);
}

static struct due *first_due(void)
{
	struct rb_node *first = rb_first_cached(&sources_due);

	return first ? rb_entry(first, struct due, place) : NULL;
}

u64 first_due_ps(void)
{
	struct due *due = first_due();

	return due ? due->at_ps : NEVER;
}

void set_wants_schedule(bool wanted)
{
	wants_schedule = wanted;
}

int send_due(u64 now_ps, u64 before_ps, u64 before_order)
{
	struct due *due;
	int error = 0;

	while (!error && !wants_schedule && (due = first_due())) {
		if (due->at_ps > now_ps || due->at_ps > before_ps ||
		    (due->at_ps == before_ps && due->order >= before_order))
			break;
		was_due(due->at_ps, now_ps);
		rb_erase_cached(&due->place, &sources_due);
		error = due->act(due);
	}
	return error ? error : wants_schedule;
}
