/*
 * A congestion controller for dumbbell, in C.
 *
 * A controller is one file that defines `dumbbell_cc`, below. It receives the events of Linux's
 * `struct tcp_congestion_ops`, one function for each, with the data of the event as an argument. It
 * has no socket, no clock and no memory allocation. The comment on each function says what it is
 * for and ends with what happens by default, if the function is omitted (NULL).
 *
 * Windows are in packets of one maximum segment, times in nanoseconds of the run, rates in bytes
 * per second. Time does not advance while a function runs.
 *
 * Licence: Apache-2.0, as dumbbell's.
 */
#ifndef DUMBBELL_CC_H
#define DUMBBELL_CC_H

#include <stdbool.h>
#include <stdint.h>

/* Version of this interface. Version 2 appends fields to the structures. Controllers compiled for
 * version 1 are still loaded; any other version is rejected. */
#define DUMBBELL_CC_VERSION 2

/* Slow start threshold before the first loss. */
#define DUMBBELL_CC_INFINITE_SSTHRESH 0x7fffffffu

/* Stands for a missing time. */
#define DUMBBELL_CC_NONE UINT64_MAX

/* Maximum size of a connection's state, bytes. */
#define DUMBBELL_CC_MOST_STATE_BYTES 65536u

/* Congestion state of the sender (`enum tcp_ca_state`). */
enum dumbbell_cc_state {
	DUMBBELL_CC_OPEN = 0,     /* nothing suspicious */
	DUMBBELL_CC_DISORDER = 1, /* duplicate acknowledgements or SACK blocks; nothing counts as lost */
	DUMBBELL_CC_CWR = 2,      /* the window is reduced after an ECN echo */
	DUMBBELL_CC_RECOVERY = 3, /* fast recovery */
	DUMBBELL_CC_LOSS = 4,     /* after a retransmission timeout */
};

/* Window shared by a controller and its sender. After every function, a congestion window outside 1
 * to the clamp is limited to that range. */
struct dumbbell_cc_window {
	uint64_t pacing_rate_bytes_per_s; /* what segments are spaced by; 0 for not */
	uint32_t cwnd_pkts;               /* congestion window */
	uint32_t ssthresh_pkts;           /* slow start threshold */
	uint32_t cwnd_clamp_pkts;         /* what the congestion window never exceeds */
	uint32_t acked_since_growth_pkts; /* acknowledged since the window last grew by one; 0 whenever a reduction begins */
	uint32_t prior_cwnd_pkts;         /* congestion window before the last reduction */
	uint32_t mss_bytes;               /* payload of a full segment; cannot be changed */
};

/* Delivery rate over the flight of one packet (draft-cheng-iccrg-delivery-rate-estimation). */
struct dumbbell_cc_rate_sample {
	int64_t delivered_pkts;        /* during `interval_ns`; -1 for no valid sample */
	uint64_t prior_delivered_pkts; /* in total when the packet was sent */
	uint64_t prior_time_ns;        /* of the last delivery before the packet was sent */
	uint64_t interval_ns;          /* the longer of sending and acknowledging */
	uint64_t rtt_ns;               /* of the newest packet delivered, or DUMBBELL_CC_NONE */
	uint32_t losses_pkts;          /* newly taken for lost */
	uint32_t prior_in_flight_pkts; /* in flight before this acknowledgement */
	uint32_t acked_sacked_pkts;    /* newly acknowledged or SACKed */
	bool is_app_limited;           /* the application had nothing to send during the flight */
	bool is_ack_delayed;           /* the receiver has probably delayed it */
};

/* A round-trip time sample of an acknowledgement. */
struct dumbbell_cc_rtt_sample {
	uint64_t now_ns;
	uint64_t rtt_ns;
	uint64_t una_pkts;  /* first packet not acknowledged, from the connection's start */
	uint64_t next_pkts; /* next to be sent */
	bool is_echo;       /* whether it echoes a congestion mark (ECE) */
};

/* An acknowledgement, after the sender has updated its scoreboard. */
struct dumbbell_cc_ack {
	uint64_t now_ns;
	uint64_t rtt_ns;                /* that it measured, or DUMBBELL_CC_NONE */
	uint64_t srtt_ns;               /* smoothed, or DUMBBELL_CC_NONE */
	uint64_t min_rtt_ns;            /* least of the last five minutes, or DUMBBELL_CC_NONE */
	uint64_t una_pkts;              /* first packet not acknowledged, from the connection's start */
	uint64_t next_pkts;             /* next to be sent */
	uint64_t delivered_pkts;        /* in total */
	uint64_t delivered_time_ns;     /* when a packet was last delivered */
	uint64_t lost_pkts;             /* taken for lost, in total */
	uint64_t earliest_departure_ns; /* before this, pacing lets nothing be sent */
	uint32_t acked_pkts;            /* newly acknowledged, cumulatively */
	uint32_t newly_delivered_pkts;  /* newly acknowledged or SACKed */
	uint32_t in_flight_pkts;        /* afterwards */
	uint32_t state;                 /* enum dumbbell_cc_state, after it */
	bool is_cwnd_limited;           /* the window held the sender back, not the application */
	struct dumbbell_cc_rate_sample rate;
};

/* State of the connection at an event other than an acknowledgement. */
struct dumbbell_cc_snapshot {
	uint64_t now_ns;
	uint64_t srtt_ns;           /* smoothed, or DUMBBELL_CC_NONE */
	uint64_t min_rtt_ns;        /* least of the last five minutes, or DUMBBELL_CC_NONE */
	uint64_t delivered_pkts;    /* in total */
	uint64_t delivered_time_ns; /* when a packet was last delivered */
	uint64_t lost_pkts;         /* taken for lost, in total */
	uint32_t in_flight_pkts;    /* sent, not acknowledged, not SACKed, not taken for lost */
	uint32_t flight_size_pkts;  /* sent and not acknowledged: FlightSize of RFC 5681 */
	bool is_app_limited;        /* the application has had nothing to send */
};

/* State of the sender before the event, for a controller with `sees_sender`: the fields that a
 * kernel controller reads from `struct tcp_sock`. Sequence numbers are in bytes from the SYN, which
 * is 0. */
struct dumbbell_cc_sender {
	uint64_t now_ns;
	uint64_t una_bytes;             /* first byte not acknowledged (`snd_una`) */
	uint64_t next_bytes;            /* next to be sent (`snd_nxt`) */
	uint64_t delivered_pkts;        /* in total */
	uint64_t delivered_echoed_pkts; /* of them by acknowledgements with a mark (`delivered_ce`) */
	uint64_t delivered_time_ns;     /* when a packet was last delivered */
	uint64_t lost_pkts;             /* taken for lost, in total */
	uint64_t earliest_departure_ns; /* before this, pacing lets nothing be sent */
	uint64_t last_sent_ns;          /* when a segment was last sent, or DUMBBELL_CC_NONE */
	uint32_t srtt_8us;              /* eight times the smoothed round-trip time, us; 0 for none */
	uint32_t mdev_4us;              /* four times its mean deviation, us */
	uint32_t min_rtt_us;            /* least of the last five minutes; UINT32_MAX for none */
	uint32_t packets_out;           /* sent and not acknowledged cumulatively */
	uint32_t sacked_out;            /* of them SACKed, or counted by duplicates */
	uint32_t lost_out;              /* of them taken for lost */
	uint32_t retrans_out;           /* of them sent again */
	uint32_t most_packets_out;      /* `packets_out` at most in this round trip */
	uint32_t echo_ms;               /* timestamp that the last segment echoed; 0 for none */
	uint32_t peer_ms;               /* timestamp of the other end, which begins at a random
	                                   number (RFC 7323 section 5.4); 0 for none */
	uint32_t state;                 /* enum dumbbell_cc_state */
	bool is_window_used;            /* the window held the sender back in this round trip */
	bool is_app_limited;            /* the application has had nothing to send */
	bool has_ecn;                   /* both ends use ECN */
};

/* Packets that were acknowledged cumulatively. */
struct dumbbell_cc_acked {
	uint64_t rtt_ns;               /* that was measured, or DUMBBELL_CC_NONE */
	uint32_t acked_pkts;           /* may be none, when others were SACKed */
	uint32_t delivered_since_pkts; /* delivered since the newest of them was sent */
};

/* Flags of an acknowledgement; they are added. */
enum dumbbell_cc_ack_flag {
	DUMBBELL_CC_ACK_UNEXPECTED = 1, /* something other than the next data in order is acknowledged */
	DUMBBELL_CC_ACK_WINDOW = 2,     /* the receive window may have changed */
	DUMBBELL_CC_ACK_ECHO = 4,       /* it echoes a congestion mark (ECE) */
};

/* A connection, valid during one call only: do not keep pointers to it or into it. */
struct dumbbell_cc_flow {
	void *state; /* `state_bytes` of the controller's own, zero at the start, aligned for uint64_t;
	              * may be moved or copied between two calls */
	struct dumbbell_cc_window *window;
	void *stream;                                  /* for `below` */
	uint32_t (*below)(void *stream, uint32_t n);   /* a random number from 0 to n - 1, of the run's seed */
	uint32_t timer_hz;                             /* timer interrupts a second of the host */
	bool is_linux;                                 /* profile linux-6.1, else rfc */
	bool hystart;                                  /* `hystart` of the description */
	bool is_paced;                                 /* the description has pacing although the controller may not ask for it */
	const struct dumbbell_cc_sender *sender;       /* with `sees_sender`; else nothing is in it */
	bool requests_reduction;                       /* set it in `on_ack`: the window is to be reduced as after an ECN echo */
	bool requests_limited;                         /* set it in `on_ack`: what is sent is to count as limited by the application */
};

/* A parameter that the description can set: `parameters = { NAME = 2 }`. */
struct dumbbell_cc_parameter {
	const char *name;
	void *address;
	uint32_t bytes;  /* 1, 2, 4 or 8 */
	bool is_signed;
	int64_t least, most;
};

/* Parameter for a variable of any integer type, with its permitted range. */
#define DUMBBELL_CC_PARAMETER(variable, least, most) \
	{ #variable, &(variable), sizeof(variable), (__typeof__(variable))-1 < 1, least, most }

typedef void dumbbell_cc_on(struct dumbbell_cc_flow *, const struct dumbbell_cc_snapshot *);

struct dumbbell_cc_ops {
	uint32_t version;             /* DUMBBELL_CC_VERSION */
	uint32_t state_bytes;         /* of each connection */
	uint32_t send_buffer_windows; /* windows that a send buffer of TCP's own size holds; 0 for 2 */
	bool owns_recovery;           /* sets the window in recovery too, as `cong_control` does */
	bool wants_pacing;            /* segments are spaced by `pacing_rate_bytes_per_s` */
	const char *name;

	/* The handshake is complete and the initial window is set. Default: no action. */
	dumbbell_cc_on *init;
	/* An acknowledgement of new data, after which the window may grow; with `owns_recovery`,
	 * every acknowledgement. Mandatory. */
	void (*on_ack)(struct dumbbell_cc_flow *, const struct dumbbell_cc_ack *);
	/* Fast recovery begins: set the threshold. The sender reduces the window to it.
	 * Mandatory. */
	dumbbell_cc_on *on_loss;
	/* A round-trip time was measured, in any state, before loss detection (`pkts_acked`).
	 * Default: no action. */
	void (*on_rtt)(struct dumbbell_cc_flow *, const struct dumbbell_cc_rtt_sample *);
	/* The retransmission timer expired: set the threshold. Default: `on_loss`. */
	dumbbell_cc_on *on_rto;
	/* At every expiry, after the sender has set the window (`set_state`). Default: no action. */
	dumbbell_cc_on *on_enter_loss;
	/* An ECN echo arrived: set the threshold. Default: `on_loss`. */
	dumbbell_cc_on *on_ecn;
	/* All data outstanding at the start of recovery are acknowledged, and the window equals the
	 * threshold. Default: no action. */
	dumbbell_cc_on *on_exit_recovery;
	/* The reduction was spurious: restore the window. Default: the larger of the window and
	 * `prior_cwnd_pkts`. */
	void (*on_undo)(struct dumbbell_cc_flow *);
	/* The first packet is sent while none is in flight (CA_EVENT_TX_START); `last_sent_ns` is
	 * the time of the previous transmission, or DUMBBELL_CC_NONE. Default: no action. */
	void (*on_transmit_start)(struct dumbbell_cc_flow *, const struct dumbbell_cc_snapshot *,
				  uint64_t last_sent_ns);
	/* The window was reduced after an idle time longer than a retransmission timeout
	 * (CA_EVENT_CWND_RESTART). Default: no action. */
	dumbbell_cc_on *on_idle_restart;
	/* Whether the controller deliberately sends below the capacity of the path; called after
	 * every acknowledgement. Default: no. */
	bool (*limits_itself)(const void *state);
	/* Minimum number of segments in a burst (`min_tso_segs`). Default: 2. */
	uint32_t (*least_burst_pkts)(const void *state, const struct dumbbell_cc_window *);

	const struct dumbbell_cc_parameter *parameters;
	uint32_t parameters_count; /* at most 64 */

	/* Version 2. The controller can read the sender and receives the three events at the
	 * end. */
	bool sees_sender;
	/* Connections use ECN, and the receiver echoes each mark (RFC 8257). */
	bool needs_ecn;
	/* The parameters are set and no connection has begun. A non-zero return value rejects them
	 * with this error number. */
	int (*configure)(void);
	/* The congestion state is about to change to this one (`set_state`). Default: no action. */
	void (*on_state)(struct dumbbell_cc_flow *, uint32_t state);
	/* An acknowledgement has arrived, before loss detection; flags are of enum
	 * dumbbell_cc_ack_flag (`in_ack_event`). Called after `on_acked`, as in Linux 6.1.192;
	 * without it if nothing was outstanding. Default: no action. */
	void (*on_ack_begins)(struct dumbbell_cc_flow *, uint32_t flags);
	/* The acknowledged packets have been removed from the scoreboard (`pkts_acked`). Default:
	 * no action. */
	void (*on_acked)(struct dumbbell_cc_flow *, const struct dumbbell_cc_acked *);
};

extern const struct dumbbell_cc_ops dumbbell_cc;

/* Slow start: grows by one packet per packet acknowledged, up to the threshold
 * (RFC 5681 section 3.1). Returns the number of acknowledged packets left for congestion
 * avoidance. */
static inline uint32_t dumbbell_cc_slow_start(struct dumbbell_cc_window *w, uint32_t acked_pkts)
{
	uint64_t grown = (uint64_t)w->cwnd_pkts + acked_pkts;
	uint64_t reached = grown < w->ssthresh_pkts ? grown : w->ssthresh_pkts;

	w->cwnd_pkts = reached < w->cwnd_clamp_pkts ? (uint32_t)reached : w->cwnd_clamp_pkts;
	return (uint32_t)(grown - reached);
}

/* Congestion avoidance: grows by one packet per `per_pkts` packets acknowledged. */
static inline void dumbbell_cc_grow_by_one_per(struct dumbbell_cc_window *w, uint32_t per_pkts,
					       uint32_t acked_pkts)
{
	uint64_t cwnd = w->cwnd_pkts, acked = w->acked_since_growth_pkts;

	if (per_pkts == 0)
		per_pkts = 1;
	/* Credit from when `per_pkts` was larger: grow by only one. */
	if (acked >= per_pkts) {
		acked = 0;
		cwnd++;
	}
	acked += acked_pkts;
	cwnd += acked / per_pkts;
	w->acked_since_growth_pkts = (uint32_t)(acked % per_pkts);
	w->cwnd_pkts = cwnd < w->cwnd_clamp_pkts ? (uint32_t)cwnd : w->cwnd_clamp_pkts;
}

#endif
