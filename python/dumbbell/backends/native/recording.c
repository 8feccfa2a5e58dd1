/*
 * Wraps a controller's C file and writes every event to a file (`dumbbell_cc_record.h`).
 *
 * Licence: Apache-2.0, as dumbbell's.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Renames the controller that the file defines, so that the wrapper can define `dumbbell_cc`. */
#define dumbbell_cc dumbbell_cc_of_the_file
#include DUMBBELL_SOURCE
#undef dumbbell_cc
#include <dumbbell_cc_record.h>

/* Stored for each connection after the controller's own state. */
struct dumbbell_recording {
	uint64_t number; /* from 1 */
};

#define dumbbell_its dumbbell_cc_of_the_file
static int dumbbell_file;
static uint64_t dumbbell_connections;
static uint64_t dumbbell_count;
static struct dumbbell_cc_ops dumbbell_ops;
extern struct dumbbell_cc_ops dumbbell_cc __attribute__((alias("dumbbell_ops")));

static void dumbbell_record(uint32_t event, struct dumbbell_cc_flow *flow,
			    const struct dumbbell_cc_window *before, const void *told, size_t bytes)
{
	size_t own = (dumbbell_its.state_bytes + 7) / 8 * 8;
	struct dumbbell_recording *recording = (void *)((char *)flow->state + own);
	struct dumbbell_cc_window *w = flow->window;
	struct dumbbell_cc_record now;

	if (recording->number == 0)
		recording->number = ++dumbbell_connections;
	if (dumbbell_count++ >= DUMBBELL_MOST_RECORDS)
		return;
	memset(&now, 0, sizeof(now));
	now.event = event;
	now.connection = (uint32_t)(recording->number - 1);
	now.before = *before;
	now.after = *w;
	if (now.after.cwnd_clamp_pkts == 0)
		now.after.cwnd_clamp_pkts = 1;
	if (now.after.ssthresh_pkts == 0)
		now.after.ssthresh_pkts = 1;
	if (now.after.cwnd_pkts == 0)
		now.after.cwnd_pkts = 1;
	if (now.after.cwnd_pkts > now.after.cwnd_clamp_pkts)
		now.after.cwnd_pkts = now.after.cwnd_clamp_pkts;
	if (bytes)
		memcpy(&now.told, told, bytes);
	if (write(dumbbell_file, &now, sizeof(now)) != sizeof(now))
		dumbbell_count = DUMBBELL_MOST_RECORDS; /* a full disk */
}

#define DUMBBELL_RECORDED(name, event, type)                                          \
	static void dumbbell_##name(struct dumbbell_cc_flow *flow, const type *told)  \
	{                                                                             \
		struct dumbbell_cc_window before = *flow->window;                     \
		dumbbell_its.name(flow, told);                                        \
		dumbbell_record(event, flow, &before, told, sizeof(*told));           \
	}

DUMBBELL_RECORDED(init, DUMBBELL_CC_INIT, struct dumbbell_cc_snapshot)
DUMBBELL_RECORDED(on_ack, DUMBBELL_CC_ON_ACK, struct dumbbell_cc_ack)
DUMBBELL_RECORDED(on_loss, DUMBBELL_CC_ON_LOSS, struct dumbbell_cc_snapshot)
DUMBBELL_RECORDED(on_rtt, DUMBBELL_CC_ON_RTT, struct dumbbell_cc_rtt_sample)
DUMBBELL_RECORDED(on_rto, DUMBBELL_CC_ON_RTO, struct dumbbell_cc_snapshot)
DUMBBELL_RECORDED(on_enter_loss, DUMBBELL_CC_ON_ENTER_LOSS, struct dumbbell_cc_snapshot)
DUMBBELL_RECORDED(on_ecn, DUMBBELL_CC_ON_ECN, struct dumbbell_cc_snapshot)
DUMBBELL_RECORDED(on_exit_recovery, DUMBBELL_CC_ON_EXIT_RECOVERY, struct dumbbell_cc_snapshot)
DUMBBELL_RECORDED(on_idle_restart, DUMBBELL_CC_ON_IDLE_RESTART, struct dumbbell_cc_snapshot)

static void dumbbell_on_undo(struct dumbbell_cc_flow *flow)
{
	struct dumbbell_cc_window before = *flow->window;

	dumbbell_its.on_undo(flow);
	dumbbell_record(DUMBBELL_CC_ON_UNDO, flow, &before, NULL, 0);
}

static void dumbbell_on_transmit_start(struct dumbbell_cc_flow *flow,
				       const struct dumbbell_cc_snapshot *told, uint64_t last_sent_ns)
{
	struct dumbbell_cc_window before = *flow->window;

	dumbbell_its.on_transmit_start(flow, told, last_sent_ns);
	dumbbell_record(DUMBBELL_CC_ON_TRANSMIT_START, flow, &before, told, sizeof(*told));
}

#define DUMBBELL_HEEDED(name) dumbbell_ops.name = dumbbell_its.name ? dumbbell_##name : NULL

static void __attribute__((constructor)) dumbbell_begin(void)
{
	dumbbell_ops = dumbbell_its;
	dumbbell_ops.state_bytes =
		(dumbbell_its.state_bytes + 7) / 8 * 8 + sizeof(struct dumbbell_recording);
	DUMBBELL_HEEDED(init);
	DUMBBELL_HEEDED(on_ack);
	DUMBBELL_HEEDED(on_loss);
	DUMBBELL_HEEDED(on_rtt);
	DUMBBELL_HEEDED(on_rto);
	DUMBBELL_HEEDED(on_enter_loss);
	DUMBBELL_HEEDED(on_ecn);
	DUMBBELL_HEEDED(on_exit_recovery);
	DUMBBELL_HEEDED(on_undo);
	DUMBBELL_HEEDED(on_transmit_start);
	DUMBBELL_HEEDED(on_idle_restart);
	dumbbell_file = open(DUMBBELL_RECORDS, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}
