// The level of a token bucket, from the packets that consumed tokens: Linux's arithmetic as in the
// simulator (qdisc/src/token_bucket.rs; tc-tbf(8), tc-police(8)). Tokens are integer nanoseconds at the
// bucket's rate, so every number here is exact.

const NS_PER_S = 1_000_000_000n;
/** The largest shift for which a second in nanoseconds fits 64 bits. */
const LARGEST_SHIFT = 34n;
/** A tick of the packet scheduler's clock, ns. */
const TICK_NS = 64n;

/** A rate as a factor and a shift of 32 bits (`psched_ratecfg_precompute`).
 * @param {number} rate_bps @returns {(bytes: number) => number} cost of a number of bytes, ns */
export function costOf(rate_bps) {
  const bytes_per_s = BigInt(Math.max(1, Math.floor(rate_bps / 8)));
  const multiplier = (/** @type {bigint} */ shift) => (NS_PER_S << shift) / bytes_per_s;
  let shift = 0n;
  while (shift < LARGEST_SHIFT && multiplier(shift) >> 31n === 0n) shift += 1n;
  const factor = multiplier(shift);
  return (bytes) => Number((BigInt(bytes) * factor) >> shift);
}

/** The depth of a policer's bucket, ns: tc passes it in whole microseconds and the kernel stores it in
 * ticks (`tc_calc_xmittime` of iproute2).
 * @param {number} rate_bps @param {number} bytes */
export function policerDepth_ns(rate_bps, bytes) {
  const us = (BigInt(bytes) * 8_000_000n) / BigInt(rate_bps);
  return Number(((us * 1000n) / TICK_NS) * TICK_NS);
}

/** The bucket of a link's end: that of its policer, or of its shaper.
 * @param {any} end resolved @returns {{rate_bps: number, burst_bytes: number, depth_ns: number,
 *   isPolicer: boolean, cost_ns: (bytes: number) => number}} */
export function bucketOf({ police, qdisc }) {
  const { rate_bps, burst_bytes } = police ?? qdisc;
  const cost_ns = costOf(rate_bps);
  const depth_ns = police ? policerDepth_ns(rate_bps, burst_bytes) : cost_ns(burst_bytes);
  return { rate_bps, burst_bytes, depth_ns, isPolicer: Boolean(police), cost_ns };
}

/** Vertices of the level's line: it rises at the rate, is limited by the bucket's depth, and steps down at
 * each packet that consumes tokens.
 * @param {{depth_ns: number, cost_ns: (bytes: number) => number}} bucket
 * @param {ArrayLike<number>} times_ns when tokens were taken, in order
 * @param {ArrayLike<number>} bytes of these packets @param {number} until_ns end of the line
 * @param {{t_ns: number, tokens_ns: number}} since start of the line; time 0 with a full bucket when left out
 * @returns {{t_ns: number[], tokens_ns: number[], left_ns: Float64Array, spilled_ns: number}}
 *   vertices; tokens left after each packet; and tokens lost because the bucket was full */
export function levels({ depth_ns, cost_ns }, times_ns, bytes, until_ns, since = { t_ns: 0, tokens_ns: depth_ns }) {
  const costs = new Map();
  const t_ns = [since.t_ns], tokens_ns = [since.tokens_ns];
  const left_ns = new Float64Array(times_ns.length);
  let tokens = since.tokens_ns, last_ns = since.t_ns, spilled_ns = 0;
  const rise = (/** @type {number} */ now_ns) => {
    const over = tokens + (now_ns - last_ns) - depth_ns;
    if (over > 0) {
      spilled_ns += over;
      if (now_ns - over > last_ns) {
        t_ns.push(now_ns - over);
        tokens_ns.push(depth_ns);
      }
    }
    tokens = Math.min(depth_ns, tokens + (now_ns - last_ns));
    last_ns = now_ns;
    t_ns.push(now_ns);
    tokens_ns.push(tokens);
  };
  for (let i = 0; i < times_ns.length; i++) {
    if (!costs.has(bytes[i])) costs.set(bytes[i], cost_ns(bytes[i]));
    rise(times_ns[i]);
    tokens -= costs.get(bytes[i]);
    left_ns[i] = tokens;
    t_ns.push(times_ns[i]);
    tokens_ns.push(tokens);
  }
  rise(Math.max(until_ns, last_ns));
  return { t_ns, tokens_ns, left_ns, spilled_ns };
}

/** Thins a line without a visible change: of each piece of the axis the minimum and maximum, the first and
 * last point, and points where it leaves the axis.
 * @param {ArrayLike<number>} x in order @param {ArrayLike<number>} y @param {number} from
 * @param {number} until @param {number} pieces @returns {{x: number[], y: number[]}} */
export function outline(x, y, from, until, pieces) {
  const wide = (until - from) / pieces;
  /** @type {{x: number[], y: number[]}} */
  const found = { x: [], y: [] };
  let i = 0;
  while (i < x.length && x[i] <= until) {
    const end = from + (Math.floor((x[i] - from) / wide) + 1) * wide;
    const first = i;
    let low = i, high = i;
    do {
      if (y[i] < y[low]) low = i;
      if (y[i] > y[high]) high = i;
      i += 1;
    } while (i < x.length && x[i] < end && x[i] <= until);
    for (const at of new Set([first, Math.min(low, high), Math.max(low, high), i - 1])) {
      found.x.push(x[at]);
      found.y.push(y[at]);
    }
  }
  if (i > 0 && i < x.length && x[i - 1] < until) {
    found.x.push(until);
    found.y.push(y[i - 1] + ((y[i] - y[i - 1]) * (until - x[i - 1])) / (x[i] - x[i - 1]));
  }
  return found;
}
