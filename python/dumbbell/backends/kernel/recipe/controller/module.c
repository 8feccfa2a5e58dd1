// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a controller of dumbbell_cc.h available to Linux: implements `struct tcp_congestion_ops`
 * (net/tcp.h) with `struct dumbbell_cc_ops`.
 *
 * | of Linux | here |
 * | --- | --- |
 * | init, release | init; the state's memory |
 * | pkts_acked, in_ack_event | on_rtt, if a round-trip time was measured |
 * | cong_avoid, or cong_control with owns_recovery | on_ack |
 * | ssthresh | on_rto, on_ecn or on_loss |
 * | set_state to Loss | on_enter_loss |
 * | CA_EVENT_COMPLETE_CWR; with owns_recovery, which does not get this event, set_state | on_exit_recovery |
 * | undo_cwnd | on_undo |
 * | CA_EVENT_TX_START, CA_EVENT_CWND_RESTART | on_transmit_start, on_idle_restart |
 * | min_tso_segs, sndbuf_expand | least_burst_pkts, send_buffer_windows |
 *
 * Linux does not pass the rate sample to `cong_avoid`. `on_ack` then gets -1 as `delivered_pkts`;
 * the other fields are set as far as they are known from elsewhere.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <net/tcp.h>

#include <dumbbell_cc.h>
#include <dumbbell_cc_record.h>

/* Name, parameter values and settings of the description; generated for each module. */
#include "instance.h"

/* Start of the run on the monotonic clock, set by the guest. */
static ulong zero_ns;
module_param(zero_ns, ulong, 0600);

/* State of a connection. Its address is stored in Linux's private data of the controller. */
struct flow {
	u64 una_pkts;
	u64 rtt_ns; /* that this acknowledgement measured */
	u32 lost_pkts; /* when it came */
	u32 probe_end_seq;
	u32 number;
	bool has_probe; /* a packet sent again as a probe was not yet answered when it came */
	bool is_echo;
	bool is_rtt_told;
	bool is_probe_repaired;
	bool is_paced;
	u64 state[];
};

static struct flow *flow_of(const struct sock *sk)
{
	return *(struct flow **)inet_csk_ca(sk);
}

static u64 run_ns(u64 monotonic_ns)
{
	return monotonic_ns > zero_ns ? monotonic_ns - zero_ns : 0;
}

static u64 srtt_ns(const struct tcp_sock *tp)
{
	return tp->srtt_us ? (u64)tp->srtt_us * 125 : DUMBBELL_CC_NONE; /* eighths of microseconds */
}

static u64 min_rtt_ns(const struct tcp_sock *tp)
{
	return tcp_min_rtt(tp) == ~0U ? DUMBBELL_CC_NONE : (u64)tcp_min_rtt(tp) * NSEC_PER_USEC;
}

static u64 delivered_time_ns(const struct tcp_sock *tp)
{
	return run_ns(tp->delivered_mstamp * NSEC_PER_USEC);
}

/* --- records ------------------------------------------------------------------------------- */

#if DUMBBELL_MOST_RECORDS
static struct dumbbell_cc_record *records;
static u32 record_count;

static void record(u32 event, const struct flow *flow, const struct dumbbell_cc_window *before,
		   const struct dumbbell_cc_window *after, const void *told, size_t told_bytes)
{
	struct dumbbell_cc_record *now = &records[record_count];

	if (record_count == DUMBBELL_MOST_RECORDS)
		return;
	record_count++;
	now->event = event;
	now->connection = flow->number;
	now->before = *before;
	now->after = *after;
	memcpy(&now->told, told, told_bytes);
}

static ssize_t read_records(struct file *file, char __user *to, size_t bytes, loff_t *at)
{
	return simple_read_from_buffer(to, bytes, at, records, record_count * sizeof(*records));
}

static const struct proc_ops records_ops = {
	.proc_read = read_records,
	.proc_lseek = default_llseek,
};

static int begin_records(void)
{
	records = vzalloc(array_size(DUMBBELL_MOST_RECORDS, sizeof(*records)));
	if (!records || !proc_create(DUMBBELL_NAME, 0400, NULL, &records_ops))
		return -ENOMEM;
	return 0;
}
#else
static void record(u32 event, const struct flow *flow, const struct dumbbell_cc_window *before,
		   const struct dumbbell_cc_window *after, const void *told, size_t told_bytes)
{
}

static int begin_records(void)
{
	return 0;
}
#endif

/* --- a call ---------------------------------------------------------------------------------- */

static u32 below(void *stream, u32 n)
{
	return (u64)get_random_u32() * max(n, 1U) >> 32;
}

struct call {
	struct sock *sk;
	struct dumbbell_cc_window before, window;
	struct dumbbell_cc_flow flow;
};

static void window_of(const struct sock *sk, struct dumbbell_cc_window *window)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);

	memset(window, 0, sizeof(*window));
	window->pacing_rate_bytes_per_s = rate == ~0UL ? 0 : rate;
	window->cwnd_pkts = tcp_snd_cwnd(tp);
	window->ssthresh_pkts = tp->snd_ssthresh;
	window->cwnd_clamp_pkts = tp->snd_cwnd_clamp;
	window->acked_since_growth_pkts = tp->snd_cwnd_cnt;
	window->prior_cwnd_pkts = tp->prior_cwnd;
	window->mss_bytes = tp->mss_cache;
}

static void begin(struct call *call, struct sock *sk)
{
	struct flow *flow = flow_of(sk);

	call->sk = sk;
	window_of(sk, &call->before);
	call->window = call->before;
	call->flow = (struct dumbbell_cc_flow){
		.state = flow->state,
		.window = &call->window,
		.below = below,
		.timer_hz = HZ,
		.is_linux = true,
		.hystart = DUMBBELL_HYSTART,
		.is_paced = flow->is_paced,
	};
}

/* Applies the values set by the controller and records the event. */
static void end(struct call *call, u32 event, const void *told, size_t told_bytes)
{
	struct dumbbell_cc_window *w = &call->window;
	struct tcp_sock *tp = tcp_sk(call->sk);
	u64 rate = w->pacing_rate_bytes_per_s;

	w->cwnd_clamp_pkts = max(w->cwnd_clamp_pkts, 1U);
	w->ssthresh_pkts = max(w->ssthresh_pkts, 1U);
	w->cwnd_pkts = clamp(w->cwnd_pkts, 1U, w->cwnd_clamp_pkts);
	tp->snd_cwnd_clamp = w->cwnd_clamp_pkts;
	tp->snd_ssthresh = w->ssthresh_pkts;
	tp->snd_cwnd_cnt = w->acked_since_growth_pkts;
	tp->prior_cwnd = w->prior_cwnd_pkts;
	tcp_snd_cwnd_set(tp, w->cwnd_pkts);
	if (rate != call->before.pacing_rate_bytes_per_s)
		WRITE_ONCE(call->sk->sk_pacing_rate,
			   rate ? min_t(u64, rate, READ_ONCE(call->sk->sk_max_pacing_rate)) : ~0UL);
	record(event, flow_of(call->sk), &call->before, w, told, told_bytes);
}

static void snapshot_of(const struct sock *sk, struct dumbbell_cc_snapshot *snapshot)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->now_ns = run_ns(ktime_get_ns());
	snapshot->srtt_ns = srtt_ns(tp);
	snapshot->min_rtt_ns = min_rtt_ns(tp);
	snapshot->delivered_pkts = tp->delivered;
	snapshot->delivered_time_ns = delivered_time_ns(tp);
	snapshot->lost_pkts = tp->lost;
	snapshot->in_flight_pkts = tcp_packets_in_flight(tp);
	snapshot->flight_size_pkts = tp->packets_out;
	snapshot->is_app_limited = !!tp->app_limited;
}

/* Calls the controller's function for an event with a snapshot, if it has one. */
static void tell(struct sock *sk, u32 event, dumbbell_cc_on *on)
{
	struct dumbbell_cc_snapshot snapshot;
	struct call call;

	if (!on)
		return;
	snapshot_of(sk, &snapshot);
	begin(&call, sk);
	on(&call.flow, &snapshot);
	end(&call, event, &snapshot, sizeof(snapshot));
}

/* --- functions called by Linux --------------------------------------------------------------- */

static void cc_init(struct sock *sk)
{
	static u32 connections;
	struct flow *flow = kzalloc(sizeof(*flow) + dumbbell_cc.state_bytes, GFP_ATOMIC);

	if (!flow)
		panic("%s: no memory for the state of a connection", DUMBBELL_NAME);
	*(struct flow **)inet_csk_ca(sk) = flow;
	flow->number = connections++;
	flow->rtt_ns = DUMBBELL_CC_NONE;
	flow->is_paced = READ_ONCE(sk->sk_pacing_status) != SK_PACING_NONE;
	if (dumbbell_cc.wants_pacing && DUMBBELL_MAY_PACE)
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	tell(sk, DUMBBELL_CC_INIT, dumbbell_cc.init);
}

static void cc_release(struct sock *sk)
{
	kfree(flow_of(sk));
	*(struct flow **)inet_csk_ca(sk) = NULL;
}

/* Which of the two functions Linux calls first for an acknowledgement; the order changed within
 * 6.1. The acknowledgement of the SYN, before the connection exists, shows which. */
static enum { NOT_KNOWN, PKTS_ACKED, IN_ACK_EVENT } first_called;

static void tell_rtt(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct flow *flow = flow_of(sk);
	struct dumbbell_cc_rtt_sample rtt;
	struct call call;

	if (flow->is_rtt_told || flow->rtt_ns == DUMBBELL_CC_NONE || !dumbbell_cc.on_rtt)
		return;
	flow->is_rtt_told = true;
	memset(&rtt, 0, sizeof(rtt));
	rtt.now_ns = run_ns(ktime_get_ns());
	rtt.rtt_ns = flow->rtt_ns;
	rtt.una_pkts = flow->una_pkts;
	rtt.next_pkts = flow->una_pkts + tp->packets_out;
	rtt.is_echo = flow->is_echo;
	begin(&call, sk);
	dumbbell_cc.on_rtt(&call.flow, &rtt);
	end(&call, DUMBBELL_CC_ON_RTT, &rtt, sizeof(rtt));
}

static void cc_in_ack_event(struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct flow *flow = flow_of(sk);

	if (first_called == NOT_KNOWN)
		first_called = IN_ACK_EVENT;
	if (!flow)
		return;
	flow->is_echo = flags & CA_ACK_ECE;
	flow->has_probe = tp->tlp_high_seq && tp->tlp_retrans;
	flow->probe_end_seq = tp->tlp_high_seq;
	if (first_called == PKTS_ACKED)
		tell_rtt(sk);
}

static void cc_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct flow *flow = flow_of(sk);

	if (first_called == NOT_KNOWN)
		first_called = PKTS_ACKED;
	if (!flow)
		return;
	flow->una_pkts += sample->pkts_acked;
	flow->lost_pkts = tcp_sk(sk)->lost;
	flow->rtt_ns = sample->rtt_us < 0 ? DUMBBELL_CC_NONE : (u64)sample->rtt_us * NSEC_PER_USEC;
	flow->is_rtt_told = false;
	if (first_called == IN_ACK_EVENT)
		tell_rtt(sk);
}

static void on_ack(struct sock *sk, u32 acked, const struct dumbbell_cc_rate_sample *rate)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct flow *flow = flow_of(sk);
	struct dumbbell_cc_ack ack;
	struct call call;

	memset(&ack, 0, sizeof(ack));
	ack.now_ns = run_ns(ktime_get_ns());
	ack.rtt_ns = flow->rtt_ns;
	ack.srtt_ns = srtt_ns(tp);
	ack.min_rtt_ns = min_rtt_ns(tp);
	ack.una_pkts = flow->una_pkts;
	ack.next_pkts = flow->una_pkts + tp->packets_out;
	ack.delivered_pkts = tp->delivered;
	ack.delivered_time_ns = delivered_time_ns(tp);
	ack.lost_pkts = tp->lost;
	ack.earliest_departure_ns = max(run_ns(tp->tcp_wstamp_ns), ack.now_ns);
	ack.acked_pkts = acked;
	ack.newly_delivered_pkts = acked;
	ack.in_flight_pkts = tcp_packets_in_flight(tp);
	ack.state = inet_csk(sk)->icsk_ca_state;
	ack.is_cwnd_limited = tcp_is_cwnd_limited(sk);
	ack.rate = *rate;
	begin(&call, sk);
	dumbbell_cc.on_ack(&call.flow, &ack);
	end(&call, DUMBBELL_CC_ON_ACK, &ack, sizeof(ack));
}

static void cc_cong_avoid(struct sock *sk, u32 seq, u32 acked)
{
	const struct flow *flow = flow_of(sk);
	struct dumbbell_cc_rate_sample rate;

	if (!flow)
		return;
	memset(&rate, 0, sizeof(rate));
	rate.delivered_pkts = -1;
	rate.rtt_ns = flow->rtt_ns;
	rate.losses_pkts = tcp_sk(sk)->lost - flow->lost_pkts;
	rate.acked_sacked_pkts = acked;
	on_ack(sk, acked, &rate);
}

static void control(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct flow *flow = flow_of(sk);
	bool is_valid = rs->delivered >= 0 && rs->interval_us > 0;
	struct dumbbell_cc_rate_sample rate;
	bool limited;

	if (!flow) /* that of a SYN */
		return;
	limited = dumbbell_cc.limits_itself && dumbbell_cc.limits_itself(flow->state);
	memset(&rate, 0, sizeof(rate));
	rate.delivered_pkts = is_valid ? rs->delivered : -1;
	rate.prior_delivered_pkts = rs->prior_delivered;
	rate.prior_time_ns = rs->prior_mstamp ? run_ns(rs->prior_mstamp * NSEC_PER_USEC) : 0;
	rate.interval_ns = is_valid ? (u64)rs->interval_us * NSEC_PER_USEC : 0;
	rate.rtt_ns = rs->rtt_us < 0 ? DUMBBELL_CC_NONE : (u64)rs->rtt_us * NSEC_PER_USEC;
	rate.losses_pkts = rs->losses;
	rate.prior_in_flight_pkts = rs->prior_in_flight;
	rate.acked_sacked_pkts = rs->acked_sacked;
	rate.is_app_limited = rs->is_app_limited;
	rate.is_ack_delayed = rs->is_ack_delayed;
	on_ack(sk, rs->acked_sacked, &rate);
	/* Data delivered in the meantime give no information about the capacity of the path. */
	if (limited || (dumbbell_cc.limits_itself && dumbbell_cc.limits_itself(flow->state)))
		tp->app_limited = (tp->delivered + tcp_packets_in_flight(tp)) ?: 1;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
static void cc_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	control(sk, rs);
}
#else
static void cc_cong_control(struct sock *sk, const struct rate_sample *rs)
{
	control(sk, rs);
}
#endif

/* Determines which of its callers asks for the threshold (net/ipv4/tcp_input.c). `tcp_enter_loss`
 * is called by the retransmission timer: the timer is then not pending although packets are lost.
 * `tcp_enter_cwr` has cleared the undo state, and `tcp_enter_recovery` has just set it.
 * `tcp_process_tlp_ack` has found that the packet of a tail loss probe is acknowledged. */
static u32 cc_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct flow *flow = flow_of(sk);

	if (!flow) /* a SYN was lost; `tcp_init_metrics` puts the threshold back */
		return tp->snd_ssthresh;
	if (!inet_csk(sk)->icsk_pending && tp->lost_out) {
		if (dumbbell_cc.on_rto)
			tell(sk, DUMBBELL_CC_ON_RTO, dumbbell_cc.on_rto);
		else
			tell(sk, DUMBBELL_CC_ON_LOSS, dumbbell_cc.on_loss);
		return tp->snd_ssthresh;
	}
	if (flow->has_probe && after(tp->snd_una, flow->probe_end_seq)) {
		flow->has_probe = false;
		flow->is_probe_repaired = true;
		tell(sk, DUMBBELL_CC_ON_LOSS, dumbbell_cc.on_loss);
	} else if (!tp->undo_marker && !tp->prior_ssthresh && dumbbell_cc.on_ecn) {
		tell(sk, DUMBBELL_CC_ON_ECN, dumbbell_cc.on_ecn);
	} else {
		tell(sk, DUMBBELL_CC_ON_LOSS, dumbbell_cc.on_loss);
	}
	return tp->snd_ssthresh;
}

static void cc_set_state(struct sock *sk, u8 state)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 was = inet_csk(sk)->icsk_ca_state;
	struct flow *flow = flow_of(sk);
	bool is_over, is_probe;

	if (!flow)
		return;
	is_probe = flow->is_probe_repaired && state == TCP_CA_CWR;
	flow->is_probe_repaired = false;
	if (state == TCP_CA_Loss)
		tell(sk, DUMBBELL_CC_ON_ENTER_LOSS, dumbbell_cc.on_enter_loss);
	if (!dumbbell_cc.owns_recovery)
		return;
	/* `tcp_end_cwnd_reduction` does not notify a controller with cong_control. */
	is_over = state < TCP_CA_CWR && (was == TCP_CA_CWR || was == TCP_CA_Recovery) &&
		  !before(tp->snd_una, tp->high_seq);
	if (is_probe || is_over)
		tell(sk, DUMBBELL_CC_ON_EXIT_RECOVERY, dumbbell_cc.on_exit_recovery);
}

static void cc_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct dumbbell_cc_snapshot snapshot;
	struct call call;
	u64 since_ns;

	if (!flow_of(sk))
		return;
	if (event == CA_EVENT_COMPLETE_CWR) {
		tell(sk, DUMBBELL_CC_ON_EXIT_RECOVERY, dumbbell_cc.on_exit_recovery);
	} else if (event == CA_EVENT_CWND_RESTART) {
		tell(sk, DUMBBELL_CC_ON_IDLE_RESTART, dumbbell_cc.on_idle_restart);
	} else if (event == CA_EVENT_TX_START && dumbbell_cc.on_transmit_start) {
		/* Linux records this time in ticks. */
		since_ns = jiffies_to_nsecs(tcp_jiffies32 - tcp_sk(sk)->lsndtime);
		snapshot_of(sk, &snapshot);
		begin(&call, sk);
		dumbbell_cc.on_transmit_start(&call.flow, &snapshot,
					      run_ns(ktime_get_ns() - since_ns));
		end(&call, DUMBBELL_CC_ON_TRANSMIT_START, &snapshot, sizeof(snapshot));
	}
}

static u32 cc_undo_cwnd(struct sock *sk)
{
	struct call call;

	if (!flow_of(sk) || !dumbbell_cc.on_undo)
		return tcp_reno_undo_cwnd(sk);
	begin(&call, sk);
	dumbbell_cc.on_undo(&call.flow);
	end(&call, DUMBBELL_CC_ON_UNDO, NULL, 0);
	return tcp_snd_cwnd(tcp_sk(sk));
}

static u32 cc_min_tso_segs(struct sock *sk)
{
	struct dumbbell_cc_window window;
	const struct flow *flow = flow_of(sk);

	if (!flow)
		return 2;
	window_of(sk, &window);
	return dumbbell_cc.least_burst_pkts(flow->state, &window);
}

static u32 cc_sndbuf_expand(struct sock *sk)
{
	return dumbbell_cc.send_buffer_windows;
}

static struct tcp_congestion_ops ops __read_mostly = {
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = DUMBBELL_NAME,
	.owner = THIS_MODULE,
	.init = cc_init,
	.release = cc_release,
	.in_ack_event = cc_in_ack_event,
	.pkts_acked = cc_pkts_acked,
	.ssthresh = cc_ssthresh,
	.set_state = cc_set_state,
	.cwnd_event = cc_cwnd_event,
	.undo_cwnd = cc_undo_cwnd,
};

/* --- the module ------------------------------------------------------------------------------ */

static int set(const struct value *value)
{
	const struct dumbbell_cc_parameter *each = dumbbell_cc.parameters;
	u32 index;

	for (index = 0; index < dumbbell_cc.parameters_count; index++, each++) {
		if (strcmp(each->name, value->name))
			continue;
		if (value->value < each->least || value->value > each->most)
			return -ERANGE;
		memcpy(each->address, &value->value, min_t(u32, each->bytes, 8));
		return 0;
	}
	return -EINVAL;
}

static int __init load(void)
{
	size_t index;
	int error;

	if (!dumbbell_cc.version || dumbbell_cc.version > DUMBBELL_CC_VERSION || !dumbbell_cc.on_ack ||
	    !dumbbell_cc.on_loss || dumbbell_cc.state_bytes > DUMBBELL_CC_MOST_STATE_BYTES)
		return -EINVAL;
	for (index = 0; index + 1 < ARRAY_SIZE(values); index++) {
		error = set(&values[index]);
		if (error)
			return error;
	}
	if (dumbbell_cc.configure && dumbbell_cc.configure())
		return -EINVAL;
	if (dumbbell_cc.owns_recovery)
		ops.cong_control = cc_cong_control;
	else
		ops.cong_avoid = cc_cong_avoid;
	if (dumbbell_cc.least_burst_pkts)
		ops.min_tso_segs = cc_min_tso_segs;
	if (dumbbell_cc.send_buffer_windows)
		ops.sndbuf_expand = cc_sndbuf_expand;
	error = begin_records();
	return error ?: tcp_register_congestion_control(&ops);
}

/* The module is never unloaded: a guest lives for one run. */
module_init(load);
MODULE_INFO(intree, "Y");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A congestion controller of dumbbell_cc.h");
