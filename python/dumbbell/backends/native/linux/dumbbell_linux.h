/*
 * The kernel interface used by Linux congestion controllers (net/ipv4/tcp_*.c), for the simulator.
 *
 * Every header that such a file includes is replaced by this one. It declares the structure fields
 * and functions that controllers use, with the kernel's names and semantics but written
 * independently. `bridge.c` fills the fields from `dumbbell_cc.h` and reads back what the
 * controller sets. Nothing here is copied from the kernel.
 *
 * Licence: Apache-2.0, as dumbbell's. What is compiled with a file of the kernel is GPL-2.0.
 */
#ifndef DUMBBELL_LINUX_H
#define DUMBBELL_LINUX_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Types and limits. */

typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t __s8;
typedef int16_t __s16;
typedef int32_t __s32;
typedef int64_t __s64;
typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef s64 ktime_t;
typedef unsigned int gfp_t;

#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define S16_MAX INT16_MAX
#define S32_MAX INT32_MAX
#define S32_MIN INT32_MIN
#define S64_MAX INT64_MAX
#define U32_C UINT32_C
#define U64_C UINT64_C

/* Annotations for the compiler or linker that have no effect here. */

#define __init
#define __exit
#define __read_mostly
#define __pure __attribute__((pure))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __maybe_unused __attribute__((unused))
#define __must_check
#define __user
#define __rcu
#define __force
#define __bpf_kfunc
#define noinline __attribute__((noinline))
#define fallthrough __attribute__((fallthrough))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define cmpxchg(at, old, new) \
	({ __typeof__(*(at)) was_ = *(at); if (was_ == (old)) *(at) = (new); was_; })
#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "BUILD_BUG_ON: " #condition)
#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)
#define barrier() __asm__ __volatile__("" : : : "memory")

/* Messages and statistics are discarded; their arguments are not evaluated. */

#define pr_debug(...) ((void)0)
#define pr_info(...) ((void)0)
#define pr_warn(...) ((void)0)
#define pr_err(...) ((void)0)
#define printk(...) ((void)0)
#define net_info_ratelimited(...) ((void)0)
#define net_warn_ratelimited(...) ((void)0)
#define WARN_ON(condition) unlikely(!!(condition))
#define WARN_ON_ONCE(condition) unlikely(!!(condition))
#define WARN_ONCE(condition, ...) unlikely(!!(condition))
#define NET_INC_STATS(...) ((void)0)
#define NET_ADD_STATS(...) ((void)0)

/* Arithmetic. */

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define min(a, b) \
	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) \
	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define min3(a, b, c) \
	({ __typeof__(a) a3_ = (a); __typeof__(b) b3_ = (b); __typeof__(c) c3_ = (c); \
	   __typeof__(min(a3_, b3_)) m3_ = min(a3_, b3_); min(m3_, c3_); })
#define max3(a, b, c) \
	({ __typeof__(a) a3_ = (a); __typeof__(b) b3_ = (b); __typeof__(c) c3_ = (c); \
	   __typeof__(max(a3_, b3_)) m3_ = max(a3_, b3_); max(m3_, c3_); })
#define clamp(x, least, most) \
	({ __typeof__(x) x_ = (x); __typeof__(x) least_ = (least), most_ = (most); \
	   x_ < least_ ? least_ : x_ > most_ ? most_ : x_; })
#define clamp_t(type, x, least, most) clamp((type)(x), (type)(least), (type)(most))
#define clamp_val(x, least, most) clamp_t(__typeof__(x), x, least, most)
#define min_not_zero(a, b) \
	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); \
	   a_ == 0 ? b_ : b_ == 0 ? a_ : a_ < b_ ? a_ : b_; })
#define swap(a, b) ({ __typeof__(a) a_ = (a); (a) = (b); (b) = a_; (void)0; })
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(n, d) \
	({ __typeof__(n) n_ = (n); __typeof__(d) d_ = (d); \
	   ((__typeof__(n))-1 > 0 || (n_ > 0) == (d_ > 0)) ? (n_ + d_ / 2) / d_ : (n_ - d_ / 2) / d_; })
#define BIT(n) (1UL << (n))
/* Also accepts an unsigned difference, which is interpreted as signed with the same width. */
#define abs(x) \
	__builtin_choose_expr(sizeof(x) > sizeof(int), \
			      ({ s64 x_ = (s64)(x); x_ < 0 ? -x_ : x_; }), \
			      ({ int x_ = (int)(x); x_ < 0 ? -x_ : x_; }))

/* Divides `n` in place; the value is the remainder. */
#define do_div(n, base) \
	({ u32 base_ = (base); u32 rest_ = (u64)(n) % base_; (n) = (u64)(n) / base_; rest_; })

static inline u64 div_u64(u64 n, u32 d) { return n / d; }
static inline s64 div_s64(s64 n, s32 d) { return n / d; }
static inline u64 div64_u64(u64 n, u64 d) { return n / d; }
static inline s64 div64_s64(s64 n, s64 d) { return n / d; }
static inline unsigned long div64_ul(u64 n, unsigned long d) { return n / d; }
static inline long div64_long(s64 n, long d) { return n / d; }
static inline u64 div_u64_rem(u64 n, u32 d, u32 *rest) { *rest = n % d; return n / d; }

/* Number of the highest bit set, from 1; 0 for none. */
static inline int fls64(u64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
static inline int fls(u32 x) { return x ? 32 - __builtin_clz(x) : 0; }
static inline int ilog2(u64 x) { return fls64(x) - 1; }
static inline bool is_power_of_2(u64 x) { return x != 0 && (x & (x - 1)) == 0; }

/* Comparison of sequence numbers and ticks, modulo 2^32. */
static inline bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }
#define after(a, b) before(b, a)
static inline bool between(u32 x, u32 low, u32 high) { return high - low >= x - low; }
#define time_after(a, b) ((long)((b) - (a)) < 0)
#define time_before(a, b) time_after(b, a)
#define time_after_eq(a, b) ((long)((a) - (b)) >= 0)
#define time_before_eq(a, b) time_after_eq(b, a)
#define time_after32(a, b) ((s32)((u32)(b) - (u32)(a)) < 0)
#define time_before32(a, b) time_after32(b, a)

/* Time. The tick rate of the host is that of the description. */

extern int dumbbell_hz;
extern unsigned long dumbbell_jiffies;
extern u64 dumbbell_now_ns;

#define HZ dumbbell_hz
#define jiffies dumbbell_jiffies
#define tcp_jiffies32 ((u32)dumbbell_jiffies)
#define TCP_TS_HZ 1000
#define MSEC_PER_SEC 1000L
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L

static inline unsigned long usecs_to_jiffies(unsigned int us)
{
	return ((u64)us * (u32)dumbbell_hz + USEC_PER_SEC - 1) / USEC_PER_SEC;
}
static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return ((u64)ms * (u32)dumbbell_hz + MSEC_PER_SEC - 1) / MSEC_PER_SEC;
}
static inline unsigned int jiffies_to_usecs(unsigned long ticks)
{
	return (u64)ticks * USEC_PER_SEC / (u32)dumbbell_hz;
}
static inline unsigned int jiffies_to_msecs(unsigned long ticks)
{
	return (u64)ticks * MSEC_PER_SEC / (u32)dumbbell_hz;
}
static inline u64 ktime_get_ns(void) { return dumbbell_now_ns; }
static inline u64 tcp_clock_ns(void) { return dumbbell_now_ns; }
static inline u64 tcp_clock_us(void) { return dumbbell_now_ns / NSEC_PER_USEC; }
static inline u64 local_clock(void) { return dumbbell_now_ns; }

/* Random numbers from the run's stream. */

u32 dumbbell_below(u32 n);
void get_random_bytes(void *at, size_t bytes);
static inline u32 get_random_u32(void)
{
	u32 high = dumbbell_below(1u << 16);

	return high << 16 | dumbbell_below(1u << 16);
}
#define prandom_u32() get_random_u32()
#define prandom_u32_max(n) dumbbell_below(n)
#define get_random_u32_below(n) dumbbell_below(n)

/* Memory, owned by the connection for its lifetime. */

#define GFP_KERNEL 0u
#define GFP_NOWAIT 0u
#define GFP_ATOMIC 0u
#define __GFP_NOWARN 0u

void *dumbbell_zeroed(size_t bytes);
static inline void *kcalloc(size_t count, size_t bytes, gfp_t flags)
{
	(void)flags;
	return count && bytes > SIZE_MAX / count ? NULL : dumbbell_zeroed(count * bytes);
}
static inline void *kzalloc(size_t bytes, gfp_t flags) { return kcalloc(1, bytes, flags); }
static inline void *kmalloc(size_t bytes, gfp_t flags) { return kcalloc(1, bytes, flags); }
static inline void kfree(const void *at) { (void)at; }

/* Errors. */

#define ENOENT 2
#define ENOMEM 12
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ERANGE 34

/* Modules and their parameters. A file that is compiled only because another needs it
 * (DUMBBELL_IS_NEEDED) is not a module. */

struct module;
#define THIS_MODULE ((struct module *)0)
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_VERSION(text)
#define MODULE_ALIAS(text)
#define MODULE_PARM_DESC(name, text)

struct kernel_param;
struct kernel_param_ops {
	unsigned int flags;
	int (*set)(const char *value, const struct kernel_param *param);
	int (*get)(char *buffer, const struct kernel_param *param);
	void (*free)(void *arg);
};
struct kernel_param {
	const char *name;
	const struct kernel_param_ops *ops;
	void *arg;
};

int param_set_uint_minmax(const char *value, const struct kernel_param *param, unsigned int least,
			  unsigned int most);
int param_get_uint(char *buffer, const struct kernel_param *param);
int param_set_int(const char *value, const struct kernel_param *param);
int param_get_int(char *buffer, const struct kernel_param *param);

void dumbbell_add_module(int (*start)(void));
void dumbbell_add_parameter(const char *name, void *at, size_t bytes, bool is_signed,
			    const struct kernel_param_ops *ops);

#ifdef DUMBBELL_IS_NEEDED
#define module_init(start) \
	static __maybe_unused int (*const dumbbell_start)(void) = start
#define module_param_named(name, variable, type, mode) \
	static __maybe_unused void *const dumbbell_parameter_##name = &(variable)
#define module_param_cb(name, ops, at, mode) \
	static __maybe_unused const void *const dumbbell_parameter_##name = (ops)
#else
#define module_init(start) \
	__attribute__((constructor)) static void dumbbell_starts(void) { dumbbell_add_module(start); } \
	struct dumbbell_semicolon
#define module_param_named(name, variable, type, mode) \
	DUMBBELL_PARAMETER(name, &(variable), NULL)
#define module_param_cb(name, ops, at, mode) DUMBBELL_PARAMETER(name, at, ops)
#define DUMBBELL_PARAMETER(name, at, ops) \
	__attribute__((constructor)) static void dumbbell_has_##name(void) \
	{ \
		dumbbell_add_parameter(#name, at, sizeof(*(at)), (__typeof__(*(at)))-1 < 1, ops); \
	} \
	struct dumbbell_semicolon
#endif
#define module_param(name, type, mode) module_param_named(name, name, type, mode)
#define module_exit(end) static __maybe_unused void (*const dumbbell_end)(void) = end

/* Declarations for the verifier of BPF programs. */

struct btf_id_set8 {
	u32 count;
};
struct btf_kfunc_id_set {
	struct module *owner;
	const struct btf_id_set8 *set;
};
#define BTF_SET8_START(name) static const struct btf_id_set8 name = { 0 };
#define BTF_SET8_END(name)
#define BTF_KFUNCS_START(name) static const struct btf_id_set8 name = { 0 };
#define BTF_KFUNCS_END(name)
#define BTF_ID_FLAGS(...)
#define BPF_PROG_TYPE_STRUCT_OPS 0
#define register_btf_kfunc_id_set(...) 0
#define tcp_call_bpf(...) (-1)

/* A windowed minimum or maximum: the best sample and two later candidates (K. Nichols). The update
 * function is compiled from the kernel's file, lib/minmax.c or lib/win_minmax.c. */

struct minmax_sample {
	u32 t; /* when */
	u32 v; /* what */
};
struct minmax {
	struct minmax_sample s[3];
};
static inline u32 minmax_get(const struct minmax *m) { return m->s[0].v; }
static inline u32 minmax_reset(struct minmax *m, u32 t, u32 v)
{
	for (int i = 0; i < 3; i++)
		m->s[i] = (struct minmax_sample){ .t = t, .v = v };
	return v;
}
u32 minmax_running_max(struct minmax *m, u32 window, u32 t, u32 v);
u32 minmax_running_min(struct minmax *m, u32 window, u32 t, u32 v);

/* Socket fields that controllers use. */

#define ICSK_CA_PRIV_SIZE 104
#define TCP_CA_NAME_MAX 16
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define MAX_TCP_HEADER 320
#define GSO_LEGACY_MAX_SIZE 65536u
#define GSO_MAX_SIZE 65536u

enum { TCP_ESTABLISHED = 1, TCP_CLOSE = 7, TCP_LISTEN = 10 };
enum { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { TCP_ECN_OK = 1, TCP_ECN_QUEUE_CWR = 2, TCP_ECN_DEMAND_CWR = 4, TCP_ECN_SEEN = 8 };
enum { ICSK_ACK_SCHED = 1, ICSK_ACK_TIMER = 2, ICSK_ACK_PUSHED = 4, ICSK_ACK_NOW = 16 };

/* Same order as enum dumbbell_cc_state. */
enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum {
	TCPF_CA_Open = 1 << TCP_CA_Open,
	TCPF_CA_Disorder = 1 << TCP_CA_Disorder,
	TCPF_CA_CWR = 1 << TCP_CA_CWR,
	TCPF_CA_Recovery = 1 << TCP_CA_Recovery,
	TCPF_CA_Loss = 1 << TCP_CA_Loss,
};
enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};
/* Same order as enum dumbbell_cc_ack_flag. */
enum tcp_ca_ack_event_flags { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };
enum { TCP_CONG_NON_RESTRICTED = 1, TCP_CONG_NEEDS_ECN = 2 };

struct net;
struct sk_buff;
struct tcp_congestion_ops;

struct sock {
	u8 sk_state;
	u8 sk_pacing_shift;
	u32 sk_pacing_status;
	u32 sk_gso_max_size;
	unsigned long sk_pacing_rate;     /* bytes a second */
	unsigned long sk_max_pacing_rate;
};

struct inet_connection_sock {
	struct sock sk; /* first */
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state;
	u8 icsk_retransmits;
	struct {
		u8 pending;
	} icsk_ack;
	u64 *icsk_ca_priv; /* lies in the connection's state */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn; /* first */
	u32 snd_una, snd_nxt, rcv_nxt;
	u32 snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_ssthresh, prior_cwnd;
	u32 mss_cache;
	u32 srtt_us, mdev_us; /* eight times and four times */
	u32 packets_out, sacked_out, lost_out, retrans_out, max_packets_out;
	u32 delivered, delivered_ce, lost, app_limited;
	u32 lsndtime; /* ticks */
	u32 min_rtt_us;
	u64 delivered_mstamp, tcp_mstamp; /* microseconds */
	u64 tcp_clock_cache, tcp_wstamp_ns;
	u8 ecn_flags;
	bool is_cwnd_limited;
	struct {
		u32 rcv_tsval, rcv_tsecr;
	} rx_opt;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us; /* negative for none */
	u32 in_flight; /* bytes */
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered, prior_delivered_ce;
	s32 delivered, delivered_ce;
	long interval_us;
	u32 snd_interval_us, rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked, prior_in_flight, last_end_seq;
	bool is_app_limited, is_retrans, is_ack_delayed;
};

/* Information for tools that show sockets. */

enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_DCTCPINFO = 9, INET_DIAG_BBRINFO = 16 };
struct tcpvegas_info {
	u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
};
struct tcp_dctcp_info {
	u16 dctcp_enabled, dctcp_ce_state;
	u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
};
struct tcp_bbr_info {
	u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
};
union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct tcp_dctcp_info dctcp;
	struct tcp_bbr_info bbr;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[TCP_CA_NAME_MAX];
	struct module *owner;
	u32 key, flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);

static inline struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }
static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
static inline void *inet_csk_ca(const struct sock *sk) { return inet_csk(sk)->icsk_ca_priv; }
static inline struct net *sock_net(const struct sock *sk) { (void)sk; return NULL; }
static inline void INET_ECN_dontxmit(struct sock *sk) { (void)sk; }
static inline void __tcp_send_ack(struct sock *sk, u32 next) { (void)sk; (void)next; }

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd) { tp->snd_cwnd = cwnd; }
static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}
static inline u32 tcp_left_out(const struct tcp_sock *tp) { return tp->sacked_out + tp->lost_out; }
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tcp_left_out(tp) + tp->retrans_out;
}
/* In slow start the window may grow up to twice the packets outstanding. */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->is_cwnd_limited ||
	       (tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
}
/* Threshold that an undo would restore: the current one while the window is being reduced,
 * otherwise at least three quarters of the window. */
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	int reducing = TCPF_CA_CWR | TCPF_CA_Recovery;

	if ((1 << inet_csk(sk)->icsk_ca_state) & reducing)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}
static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return tp->min_rtt_us; }
static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier)
{
	return (s64)(later - earlier) > 0 ? later - earlier : 0;
}
/* Clock of the timestamps option, which starts at 1. */
static inline u32 tcp_time_stamp(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / USEC_PER_MSEC - MSEC_PER_SEC + 1;
}
#define tcp_time_stamp_ms(tp) tcp_time_stamp(tp)
#define tcp_time_stamp_ts(tp) tcp_time_stamp(tp)

/* Reno, and its functions that other controllers use. */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);
void tcp_enter_cwr(struct sock *sk);

#endif
