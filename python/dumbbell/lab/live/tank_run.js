// Form `tank`, in the worker: the level of a queue with a limit in bytes, as a time; its losses; pings
// through it; the tail of the delays.
import { numberOf, pings, samples, tail } from "./columns.js";

/** Length of the filling picture, relative to the time that queue and bucket take to drain. */
const TIMES_AS_LONG = 20;
/** A value that is not known yet, or does not occur. */
const WITHOUT = NaN;

/**
 * @param {import("./columns.js").Columns} engine
 * @param {any} described
 * @param {import("./columns.js").Order} order
 */
export function reduceTank(engine, described, order) {
  const { queues, options, isPreview } = order;
  const [queue] = queues;
  const { limit_bytes } = described.resolved.links[queue >> 1][queue & 1 ? "reverse" : "forward"].qdisc;
  const ms = (/** @type {number} */ bytes) => (8e3 * bytes) / options.rate_bps;
  const rim_ms = ms(limit_bytes);
  const empties_s = (rim_ms + ms(options.burst_bytes)) / 1e3;
  const window_s = Math.min(options.sending_s, TIMES_AS_LONG * empties_s);
  const all = described.queues.length;
  const { t_s, values: [backlog] } = samples(engine, all, queues, "backlog_bytes", 0, window_s);
  const { values: [dropped] } = samples(engine, all, queues, "dropped_pkts", 0, window_s);
  const whole = samples(engine, all, queues, "dropped_pkts", 0, Infinity, Infinity);
  const first = whole.values[0].findIndex((each) => each > 0);
  const answered = isPreview ? { t_s: [], rtt_ms: [] } : pings(engine);
  return {
    numbers: {
      longest_ms: isPreview ? WITHOUT : engine.column("queues.sojourn_max_ns")[queue] / 1e6,
      longest_ping_ms: answered.rtt_ms.length ? Math.max(...answered.rtt_ms) : WITHOUT,
      full_s: first < 0 ? WITHOUT : whole.t_s[first],
      lost: isPreview ? WITHOUT : numberOf(described, order, "loss_ratio"),
    },
    series: {
      rim_ms, window_s, t_s, level_ms: backlog.map(ms), dropped, pings: answered,
      tail: tail(engine, queues), sending_s: options.sending_s,
      level_everywhere: everywhere(engine, all, queues, options.sending_s, ms),
    },
  };
}

/** The level while the sender sends, for the strip below.
 * @param {import("./columns.js").Columns} engine @param {number} all
 * @param {number[]} queues @param {number} until_s @param {(bytes: number) => number} ms */
function everywhere(engine, all, queues, until_s, ms) {
  const { t_s, values: [backlog] } = samples(engine, all, queues, "backlog_bytes", 0, until_s);
  return { t_s, level_ms: backlog.map(ms) };
}
