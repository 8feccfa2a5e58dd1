/* Reno (RFC 5681): a packet more for each round trip, half of the window at a loss. It fills every
 * buffer, so a call waits behind it. */
#include <dumbbell_cc.h>

static unsigned int increase = 1; /* packets a round trip */
static unsigned int keep = 50;    /* of the window at a loss, percent */

static const struct dumbbell_cc_parameter parameters[] = {
	DUMBBELL_CC_PARAMETER(increase, 1, 100),
	DUMBBELL_CC_PARAMETER(keep, 10, 99),
};

static void on_ack(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_ack *ack)
{
	struct dumbbell_cc_window *w = flow->window;
	uint32_t acked = ack->newly_delivered_pkts;

	if (!ack->is_cwnd_limited) /* the application sends less: the window has not been tried */
		return;
	if (w->cwnd_pkts < w->ssthresh_pkts)
		acked = dumbbell_cc_slow_start(w, acked);
	if (acked)
		dumbbell_cc_grow_by_one_per(w, w->cwnd_pkts / increase, acked);
}

static void on_loss(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_snapshot *now)
{
	struct dumbbell_cc_window *w = flow->window;
	uint64_t kept = (uint64_t)w->cwnd_pkts * keep / 100;

	(void)now;
	w->ssthresh_pkts = kept > 2 ? (uint32_t)kept : 2;
}

const struct dumbbell_cc_ops dumbbell_cc = {
	.version = DUMBBELL_CC_VERSION,
	.name = "ben",
	.on_ack = on_ack,
	.on_loss = on_loss,
	.parameters = parameters,
	.parameters_count = sizeof(parameters) / sizeof(parameters[0]),
};
