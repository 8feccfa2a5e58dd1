/*
 * Bridge between a Linux congestion controller and the simulator: converts the events of
 * `dumbbell_cc.h` to those of `struct tcp_congestion_ops`.
 *
 * There is one socket. Before each event its fields are set to those of the connection concerned.
 * The private data of a controller are stored in the state of the connection.
 *
 * Licence: Apache-2.0, as dumbbell's. What is compiled with a file of the kernel is GPL-2.0.
 */
#include "dumbbell_linux.h"

/* Filled in when the object is loaded. */
#define dumbbell_cc dumbbell_cc_as_declared
#include <dumbbell_cc.h>
#undef dumbbell_cc

/* Clocks start at one second and ticks at one, as if the host had been running before: many
 * controllers treat 0 as "never". */
#define CLOCK_START_NS ((u64)NSEC_PER_SEC)
#define TICKS_START 1

#define MOST_PARAMETERS 64
#define ALLOCATED_BYTES 4096

int dumbbell_hz = 250;
unsigned long dumbbell_jiffies;
u64 dumbbell_now_ns;

/* State of a connection. */
struct state {
	u64 priv[ICSK_CA_PRIV_SIZE / 8];
	const struct tcp_congestion_ops *ops;
	u32 pacing_status;
	u32 allocated_bytes;
	u64 allocated[]; /* a copy of the memory, where the controller asks for any */
};

static struct tcp_sock socket;
#define SK (&socket.inet_conn.sk)
static const struct tcp_congestion_ops *registered;
static int (*module_start)(void);
static struct dumbbell_cc_parameter parameters[MOST_PARAMETERS];
static struct dumbbell_cc_flow *flow_now;

/* Memory allocated by the connection that has the event; pointers in its state refer to it. */
static u64 memory[ALLOCATED_BYTES / 8];
static u32 memory_bytes;

struct dumbbell_cc_ops dumbbell_cc;

/* Functions that the controller calls. */

u32 dumbbell_below(u32 n)
{
	return flow_now && n ? flow_now->below(flow_now->stream, n) : 0;
}

void get_random_bytes(void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((u8 *)at)[i] = dumbbell_below(256);
}

void *dumbbell_zeroed(size_t bytes)
{
	size_t rounded = (bytes + 7) / 8 * 8;
	void *found = (u8 *)memory + memory_bytes;

	if (rounded < bytes || rounded > ALLOCATED_BYTES - memory_bytes)
		return NULL;
	memset(found, 0, rounded);
	memory_bytes += rounded;
	return found;
}

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	registered = ops;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops) { (void)ops; }

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	struct dumbbell_cc_window w = {
		.cwnd_pkts = tp->snd_cwnd,
		.ssthresh_pkts = tp->snd_ssthresh,
		.cwnd_clamp_pkts = tp->snd_cwnd_clamp,
	};
	u32 left = dumbbell_cc_slow_start(&w, acked);

	tp->snd_cwnd = w.cwnd_pkts;
	return left;
}

void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked)
{
	struct dumbbell_cc_window w = {
		.cwnd_pkts = tp->snd_cwnd,
		.cwnd_clamp_pkts = tp->snd_cwnd_clamp,
		.acked_since_growth_pkts = tp->snd_cwnd_cnt,
	};

	dumbbell_cc_grow_by_one_per(&w, per, acked);
	tp->snd_cwnd = w.cwnd_pkts;
	tp->snd_cwnd_cnt = w.acked_since_growth_pkts;
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

u32 tcp_reno_ssthresh(struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd / 2, 2u); }

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

/* The sender reduces the window after the call. */
void tcp_enter_cwr(struct sock *sk)
{
	(void)sk;
	if (flow_now)
		flow_now->requests_reduction = true;
}

/* Parameters. */

static u64 least_found, most_found;
static bool is_asked_for_bounds;

static u64 number(const char *text)
{
	u64 found = 0;

	while (*text >= '0' && *text <= '9')
		found = found * 10 + (u64)(*text++ - '0');
	return found;
}

int param_set_uint_minmax(const char *value, const struct kernel_param *param, unsigned int least,
			  unsigned int most)
{
	u64 wanted = number(value);

	if (is_asked_for_bounds) {
		least_found = least;
		most_found = most;
		return 0;
	}
	if (wanted < least || wanted > most)
		return -EINVAL;
	*(unsigned int *)param->arg = wanted;
	return 0;
}

int param_set_int(const char *value, const struct kernel_param *param)
{
	(void)value;
	(void)param;
	return 0;
}

int param_get_uint(char *buffer, const struct kernel_param *param)
{
	(void)buffer;
	(void)param;
	return 0;
}

int param_get_int(char *buffer, const struct kernel_param *param)
{
	return param_get_uint(buffer, param);
}

static bool is_text(const char *a, const char *b) { return strcmp(a, b) == 0; }

void dumbbell_add_parameter(const char *name, void *at, size_t bytes, bool is_signed,
			    const struct kernel_param_ops *ops)
{
	struct dumbbell_cc_parameter *new = &parameters[dumbbell_cc.parameters_count];
	struct kernel_param param = { .name = name, .ops = ops, .arg = at };
	u64 highest = bytes >= 8 ? INT64_MAX : ((u64)1 << (8 * bytes - is_signed)) - 1;

	if (dumbbell_cc.parameters_count == MOST_PARAMETERS)
		return;
	/* `bool` has one byte and two values. */
	if (bytes == sizeof(bool) && !is_signed)
		highest = 1;
	least_found = 0;
	most_found = highest;
	if (ops && ops->set) {
		is_asked_for_bounds = true;
		ops->set("0", &param);
		is_asked_for_bounds = false;
	}
	new->name = name;
	new->address = at;
	new->bytes = bytes;
	new->is_signed = is_signed;
	new->least = is_signed ? -(s64)highest - 1 : (s64)least_found;
	new->most = most_found;
	dumbbell_cc.parameters_count++;
}

/* Copying to and from the socket. */

static struct state *state_of(struct dumbbell_cc_flow *flow) { return flow->state; }

static u64 clock_ns(u64 at_ns) { return CLOCK_START_NS + at_ns; }
static u64 clock_us(u64 at_ns) { return clock_ns(at_ns) / NSEC_PER_USEC; }

static u64 ticks(u64 at_ns)
{
	u64 seconds = at_ns / NSEC_PER_SEC, rest_ns = at_ns % NSEC_PER_SEC;

	return TICKS_START + seconds * (u32)dumbbell_hz + rest_ns * (u32)dumbbell_hz / NSEC_PER_SEC;
}

static void enter_window(const struct dumbbell_cc_window *w)
{
	SK->sk_pacing_rate = w->pacing_rate_bytes_per_s;
	socket.snd_cwnd = w->cwnd_pkts;
	socket.snd_ssthresh = w->ssthresh_pkts;
	socket.snd_cwnd_clamp = w->cwnd_clamp_pkts;
	socket.snd_cwnd_cnt = w->acked_since_growth_pkts;
	socket.prior_cwnd = w->prior_cwnd_pkts;
	socket.mss_cache = w->mss_bytes;
}

static void enter_sender(const struct dumbbell_cc_sender *s)
{
	dumbbell_now_ns = clock_ns(s->now_ns);
	dumbbell_jiffies = ticks(s->now_ns);
	socket.snd_una = s->una_bytes;
	socket.snd_nxt = s->next_bytes;
	socket.srtt_us = s->srtt_8us;
	socket.mdev_us = s->mdev_4us;
	socket.min_rtt_us = s->min_rtt_us;
	socket.packets_out = s->packets_out;
	socket.sacked_out = s->sacked_out;
	socket.lost_out = s->lost_out;
	socket.retrans_out = s->retrans_out;
	socket.max_packets_out = s->most_packets_out;
	socket.is_cwnd_limited = s->is_window_used;
	socket.delivered = s->delivered_pkts;
	socket.delivered_ce = s->delivered_echoed_pkts;
	socket.delivered_mstamp = clock_us(s->delivered_time_ns);
	socket.lost = s->lost_pkts;
	/* In Linux this is a number of packets; here only zero and non-zero are distinguished. */
	socket.app_limited = s->is_app_limited ? U32_MAX : 0;
	socket.tcp_mstamp = clock_us(s->now_ns);
	socket.tcp_clock_cache = clock_ns(s->now_ns);
	socket.tcp_wstamp_ns = clock_ns(s->earliest_departure_ns);
	socket.lsndtime = s->last_sent_ns == DUMBBELL_CC_NONE ? dumbbell_jiffies : ticks(s->last_sent_ns);
	socket.ecn_flags = s->has_ecn ? TCP_ECN_OK : 0;
	socket.rx_opt.rcv_tsval = s->peer_ms;
	socket.rx_opt.rcv_tsecr = s->echo_ms;
	socket.inet_conn.icsk_ca_state = s->state;
}

static const struct tcp_congestion_ops *enter(struct dumbbell_cc_flow *flow)
{
	struct state *state = state_of(flow);

	flow_now = flow;
	dumbbell_hz = flow->timer_hz;
	enter_window(flow->window);
	enter_sender(flow->sender);
	socket.inet_conn.icsk_ca_priv = state->priv;
	socket.inet_conn.icsk_ca_ops = state->ops;
	SK->sk_pacing_status = state->pacing_status;
	memory_bytes = state->allocated_bytes;
	if (memory_bytes)
		memcpy(memory, state->allocated, memory_bytes);
	return state->ops;
}

static void leave(struct dumbbell_cc_flow *flow)
{
	struct state *state = state_of(flow);
	struct dumbbell_cc_window *w = flow->window;

	w->pacing_rate_bytes_per_s = SK->sk_pacing_rate;
	w->cwnd_pkts = socket.snd_cwnd;
	w->ssthresh_pkts = socket.snd_ssthresh;
	w->cwnd_clamp_pkts = socket.snd_cwnd_clamp;
	w->acked_since_growth_pkts = socket.snd_cwnd_cnt;
	w->prior_cwnd_pkts = socket.prior_cwnd;
	state->ops = socket.inet_conn.icsk_ca_ops;
	state->pacing_status = SK->sk_pacing_status;
	state->allocated_bytes = memory_bytes;
	if (memory_bytes)
		memcpy(state->allocated, memory, memory_bytes);
	flow_now = NULL;
}

/* Events. */

static void on_init(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_snapshot *snapshot)
{
	struct state *state = state_of(flow);

	(void)snapshot;
	state->ops = registered;
	state->pacing_status = flow->is_paced ? SK_PACING_NEEDED : SK_PACING_NONE;
	enter(flow);
	if (registered->init)
		registered->init(SK);
	leave(flow);
}

static void on_ack(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_ack *ack)
{
	const struct tcp_congestion_ops *ops = enter(flow);
	const struct dumbbell_cc_rate_sample *rate = &ack->rate;
	u32 app_limited = socket.app_limited;

	if (ops->cong_control) {
		struct rate_sample rs = {
			.prior_mstamp = clock_us(rate->prior_time_ns),
			.prior_delivered = rate->prior_delivered_pkts,
			.delivered = rate->delivered_pkts,
			.interval_us = rate->delivered_pkts < 0 ? -1 : (long)(rate->interval_ns / NSEC_PER_USEC),
			.rtt_us = rate->rtt_ns == DUMBBELL_CC_NONE ? -1 : (long)(rate->rtt_ns / NSEC_PER_USEC),
			.losses = rate->losses_pkts,
			.acked_sacked = rate->acked_sacked_pkts,
			.prior_in_flight = rate->prior_in_flight_pkts,
			.is_app_limited = rate->is_app_limited,
			.is_ack_delayed = rate->is_ack_delayed,
		};

		ops->cong_control(SK, &rs);
	} else {
		ops->cong_avoid(SK, socket.snd_una, ack->newly_delivered_pkts);
	}
	flow->requests_limited = socket.app_limited != app_limited;
	leave(flow);
}

static void on_loss(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_snapshot *snapshot)
{
	const struct tcp_congestion_ops *ops = enter(flow);

	(void)snapshot;
	socket.snd_ssthresh = ops->ssthresh(SK);
	leave(flow);
}

static void tell(struct dumbbell_cc_flow *flow, enum tcp_ca_event event)
{
	const struct tcp_congestion_ops *ops = enter(flow);

	if (ops->cwnd_event)
		ops->cwnd_event(SK, event);
	leave(flow);
}

static void on_rto(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_snapshot *snapshot)
{
	on_loss(flow, snapshot);
	tell(flow, CA_EVENT_LOSS);
}

static void on_exit_recovery(struct dumbbell_cc_flow *flow,
			     const struct dumbbell_cc_snapshot *snapshot)
{
	(void)snapshot;
	/* Linux does not send this event to a controller with cong_control. */
	if (!state_of(flow)->ops->cong_control)
		tell(flow, CA_EVENT_COMPLETE_CWR);
}

static void on_idle_restart(struct dumbbell_cc_flow *flow,
			    const struct dumbbell_cc_snapshot *snapshot)
{
	(void)snapshot;
	tell(flow, CA_EVENT_CWND_RESTART);
}

static void on_transmit_start(struct dumbbell_cc_flow *flow,
			      const struct dumbbell_cc_snapshot *snapshot, uint64_t last_sent_ns)
{
	(void)snapshot;
	(void)last_sent_ns;
	/* With TCP Fast Open the first packets may be sent before the controller's `init`. */
	if (state_of(flow)->ops)
		tell(flow, CA_EVENT_TX_START);
}

static void on_undo(struct dumbbell_cc_flow *flow)
{
	const struct tcp_congestion_ops *ops = enter(flow);

	socket.snd_cwnd = ops->undo_cwnd ? ops->undo_cwnd(SK) : tcp_reno_undo_cwnd(SK);
	leave(flow);
}

static void on_state(struct dumbbell_cc_flow *flow, uint32_t new_state)
{
	const struct tcp_congestion_ops *ops = state_of(flow)->ops;

	if (ops && ops->set_state) {
		enter(flow);
		ops->set_state(SK, new_state);
		leave(flow);
	}
}

static void on_ack_begins(struct dumbbell_cc_flow *flow, uint32_t flags)
{
	const struct tcp_congestion_ops *ops = state_of(flow)->ops;

	if (ops && ops->in_ack_event) {
		enter(flow);
		ops->in_ack_event(SK, flags & CA_ACK_SLOWPATH ? flags : CA_ACK_WIN_UPDATE);
		leave(flow);
	}
}

static void on_acked(struct dumbbell_cc_flow *flow, const struct dumbbell_cc_acked *acked)
{
	const struct tcp_congestion_ops *ops = state_of(flow)->ops;

	if (ops && ops->pkts_acked) {
		struct ack_sample sample = {
			.pkts_acked = acked->acked_pkts,
			.rtt_us = acked->rtt_ns == DUMBBELL_CC_NONE ? -1 : (s32)(acked->rtt_ns / NSEC_PER_USEC),
			.in_flight = acked->delivered_since_pkts * flow->window->mss_bytes,
		};

		enter(flow);
		ops->pkts_acked(SK, &sample);
		leave(flow);
	}
}

static uint32_t least_burst_pkts(const void *state, const struct dumbbell_cc_window *w)
{
	const struct tcp_congestion_ops *ops = ((const struct state *)state)->ops;

	if (!ops || !ops->min_tso_segs)
		return 2;
	enter_window(w);
	return ops->min_tso_segs(SK);
}

/* Runs the module's init function again after its parameters are set: it may derive values from
 * them. */
static int configure(void) { return module_start ? module_start() : 0; }

/* Starts a connection to find out the controller's properties. */
static void try_it(void)
{
	static u64 priv[ICSK_CA_PRIV_SIZE / 8];
	static const struct dumbbell_cc_window window = {
		.cwnd_pkts = TCP_INIT_CWND,
		.ssthresh_pkts = TCP_INFINITE_SSTHRESH,
		.cwnd_clamp_pkts = U32_MAX,
		.mss_bytes = 1448,
	};
	static const struct dumbbell_cc_sender sender = { .srtt_8us = 80000, .min_rtt_us = 10000,
							  .has_ecn = true };

	enter_window(&window);
	enter_sender(&sender);
	socket.inet_conn.icsk_ca_priv = priv;
	socket.inet_conn.icsk_ca_ops = registered;
	if (registered->init)
		registered->init(SK);
	dumbbell_cc.wants_pacing = SK->sk_pacing_status != SK_PACING_NONE;
	dumbbell_cc.state_bytes = sizeof(struct state) + (memory_bytes ? ALLOCATED_BYTES : 0);
	if (registered->sndbuf_expand)
		dumbbell_cc.send_buffer_windows = registered->sndbuf_expand(SK);
	memory_bytes = 0;
}

void dumbbell_add_module(int (*start)(void))
{
	module_start = start;
	SK->sk_state = TCP_ESTABLISHED;
	SK->sk_pacing_shift = 10;
	SK->sk_gso_max_size = GSO_LEGACY_MAX_SIZE;
	SK->sk_max_pacing_rate = ~0ul;
	if (start() != 0 || !registered || !registered->ssthresh ||
	    !(registered->cong_avoid || registered->cong_control))
		return;
	dumbbell_cc.version = DUMBBELL_CC_VERSION;
	dumbbell_cc.name = registered->name;
	dumbbell_cc.owns_recovery = registered->cong_control != NULL;
	dumbbell_cc.needs_ecn = registered->flags & TCP_CONG_NEEDS_ECN;
	dumbbell_cc.sees_sender = true;
	dumbbell_cc.configure = configure;
	dumbbell_cc.init = on_init;
	dumbbell_cc.on_ack = on_ack;
	dumbbell_cc.on_loss = on_loss;
	dumbbell_cc.on_rto = on_rto;
	dumbbell_cc.on_exit_recovery = on_exit_recovery;
	dumbbell_cc.on_undo = on_undo;
	dumbbell_cc.on_transmit_start = on_transmit_start;
	dumbbell_cc.on_idle_restart = on_idle_restart;
	dumbbell_cc.least_burst_pkts = least_burst_pkts;
	dumbbell_cc.on_state = on_state;
	dumbbell_cc.on_ack_begins = on_ack_begins;
	dumbbell_cc.on_acked = on_acked;
	dumbbell_cc.parameters = parameters;
	try_it();
}
