/* SPDX-License-Identifier: GPL-2.0 */
/* What the two files of the module share. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <linux/net.h>

#include "dumbbell_traffic.h"

/* ends.c */
void wake_waiting(void);
/* Adds the state of all ends to a sample, senders in the order of their tokens, each followed by its
 * receiver. */
int sample_ends(u64 to_receiver);

/* due.c */
void prepare_timer(void);
bool has_expired(void);
void set_plan(const struct dumbbell_traffic_plan *asked);
int watch(const struct dumbbell_traffic_watch *asked);
int fetch_samples(const struct dumbbell_traffic_fetch *asked);
int keep_item(u64 of, u32 kind, const void *bytes, u32 length, const void *more, u32 more_length);
/* Does what is due and sets the timer anew. Returns 1 if process 1 is to do so instead. */
int do_due(u64 at_ns);
/* Tells process 1 what was done since it was told last. */
void tell_done(struct dumbbell_traffic_turn *turn);

#endif
