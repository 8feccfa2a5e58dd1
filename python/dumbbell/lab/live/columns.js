// Numbers and series of a run's tables used by several forms.

/**
 * A run in progress or finished, by the names of its columns (`TABLE.COLUMN`).
 * @typedef {{column: (name: string) => Float64Array}} Columns
 *
 * Numbers to which the engine reduces a finished run (lab/src/numbers.rs): those of each observed queue and
 * of all of them together, of flows and probes, by their paths; null if undefined.
 * @typedef {{path: string, value: number | null}[]} Numbers
 *
 * The order to a form; a run in progress has no numbers yet.
 * @typedef {{queues: number[], options: Record<string, any>, isPreview: boolean, numbers: Numbers}} Order
 */

const NS_PER_S = 1e9;
/** `distributions.quantity`. */
const [SOJOURN, WAIT, PACKETS] = [0, 1, 2];
/** `packets` and similar columns if empty. */
const NONE = -1;
/** Maximum points of a line: more than a figure has pixels. */
const MOST_POINTS = 900;

/** A number of the first observed queue, from the engine; NaN if undefined.
 * @param {any} described @param {Order} order @param {string} name such as `loss_ratio` */
export function numberOf(described, { queues, numbers }, name) {
  return valueAt(numbers, `queue[${described.queues[queues[0]]}].${name}`);
}

/** The same number of each observed queue.
 * @param {any} described @param {Order} order @param {string} name */
export function numberOfEach(described, { queues, numbers }, name) {
  return queues.map((queue) => valueAt(numbers, `queue[${described.queues[queue]}].${name}`));
}

/** A number over the packets of all observed queues.
 * @param {Order} order @param {string} name such as `mean_sojourn_s` */
export function numberOfAll({ numbers }, name) {
  return valueAt(numbers, `queues.${name}`);
}

/** @param {Numbers} numbers @param {string} path */
function valueAt(numbers, path) {
  return numbers.find((each) => each.path === path)?.value ?? NaN;
}

/** Values of a column at some queues.
 * @param {Columns} engine @param {string} name @param {number[]} queues
 * @returns {number[]} */
export function ofQueues(engine, name, queues) {
  const values = engine.column(`queues.${name}`);
  return queues.map((queue) => values[queue]);
}

/** Quantile of the sojourn time of the packets of all these queues, s, of a run in progress: linear within
 * a bin.
 * @param {Columns} engine @param {number[]} queues @param {number} share */
export function sojournQuantileSoFar_s(engine, queues, share) {
  const [at, kind, low, high, weight] = ["queue", "quantity", "low", "high", "weight"].map((name) =>
    engine.column(`distributions.${name}`),
  );
  const rows = [...at.keys()].filter((i) => kind[i] === SOJOURN && queues.includes(at[i]));
  rows.sort((one, other) => low[one] - low[other]);
  const wanted = share * rows.reduce((sum, row) => sum + weight[row], 0);
  let before = 0;
  for (let i = 0; i < rows.length; ) {
    // Equal bins of several queues are merged.
    const first = rows[i];
    let mass = 0;
    for (; i < rows.length && low[rows[i]] === low[first]; i++) mass += weight[rows[i]];
    if (before + mass >= wanted) {
      const inside = mass > 0 ? Math.min(1, Math.max(0, (wanted - before) / mass)) : 0;
      return (low[first] + inside * (high[first] - low[first])) / NS_PER_S;
    }
    before += mass;
  }
  return NaN;
}

/** Utilization of the busiest of these queues, of a run in progress: from the bytes sent until the last
 * sample.
 * @param {Columns} engine @param {any} described @param {number[]} queues */
export function utilizationSoFar(engine, described, queues) {
  const all = described.queues.length;
  const [times, departed] = ["t_ns", "departed_bytes"].map((name) => engine.column(`queue_samples.${name}`));
  const last = times.length - all;
  const first = times.findIndex((/** @type {number} */ t_ns) => t_ns >= described.resolved.warm_up_ns);
  if (first < 0 || last <= first) return NaN;
  const passed_s = (times[last] - times[first]) / NS_PER_S;
  return Math.max(...queues.map((queue) => {
    const link = described.resolved.links[queue >> 1][queue & 1 ? "reverse" : "forward"];
    return (8 * (departed[last + queue] - departed[first + queue])) / passed_s / link.rate_bps;
  }));
}

/** Samples of queues between two instants.
 * @param {Columns} engine @param {number} all number of queues @param {number[]} queues
 * @param {string} name of a column of `queue_samples` @param {number} from_s @param {number} until_s
 * @param {number} most points of a line
 * @returns {{t_s: Float64Array, values: Float64Array[]}} a line for each queue */
export function samples(engine, all, queues, name, from_s, until_s, most = MOST_POINTS) {
  const times = engine.column("queue_samples.t_ns");
  const values = engine.column(`queue_samples.${name}`);
  const instants = Math.floor(times.length / all);
  const inside = [];
  for (let i = 0; i < instants; i++) {
    const t_s = times[i * all] / NS_PER_S;
    if (t_s >= from_s && t_s <= until_s) inside.push(i);
  }
  const step = Math.max(1, Math.ceil(inside.length / most));
  const kept = inside.filter((_, i) => i % step === 0);
  return {
    t_s: Float64Array.from(kept, (i) => times[i * all] / NS_PER_S),
    values: queues.map((queue) => Float64Array.from(kept, (i) => values[i * all + queue])),
  };
}

/** Answered pings, in the order of sending.
 * @param {Columns} engine
 * @returns {{t_s: number[], rtt_ms: number[]}} */
export function pings(engine) {
  const [sent, rtt] = ["sent_ns", "rtt_ns"].map((name) => engine.column(`probes.${name}`));
  const answered = [...rtt.keys()].filter((i) => rtt[i] > NONE);
  return { t_s: answered.map((i) => sent[i] / NS_PER_S), rtt_ms: answered.map((i) => rtt[i] / 1e6) };
}

/** Share of the packets of these queues with a longer sojourn time, in ms: 1 - CDF.
 * @param {Columns} engine @param {number[]} queues
 * @returns {{ms: number[], share: number[]}} */
export function tail(engine, queues) {
  const [at, kind, high, weight] = ["queue", "quantity", "high", "weight"].map((name) =>
    engine.column(`distributions.${name}`),
  );
  const rows = [...at.keys()].filter((i) => kind[i] === SOJOURN && queues.includes(at[i]));
  rows.sort((one, other) => high[one] - high[other]);
  let left = rows.reduce((sum, row) => sum + weight[row], 0);
  const all = left;
  return { ms: rows.map((row) => high[row] / 1e6), share: rows.map((row) => (left -= weight[row]) / all) };
}

/** Rows of a queue's distribution of a quantity, so far.
 * @param {Columns} engine @param {number} queue
 * @param {number} quantity @returns {{low: number, high: number, weight: number}[]} */
function bins(engine, queue, quantity) {
  const [at, kind, low, high, weight] = ["queue", "quantity", "low", "high", "weight"].map((name) =>
    engine.column(`distributions.${name}`),
  );
  const rows = [...at.keys()].filter((i) => at[i] === queue && kind[i] === quantity);
  return rows.map((i) => ({ low: low[i], high: high[i], weight: weight[i] }));
}

/** @param {{weight: number}[]} rows */
function weightOf(rows) {
  return rows.reduce((sum, { weight }) => sum + weight, 0);
}

/** Mean waiting time of a run in progress, s: every packet counts at the middle of its bin.
 * @param {Columns} engine @param {number} queue */
export function meanWaitSoFar_s(engine, queue) {
  const rows = bins(engine, queue, WAIT);
  const sum_ns = rows.reduce((sum, { low, high, weight }) => sum + (weight * (low + high)) / 2, 0);
  return sum_ns / weightOf(rows) / NS_PER_S;
}

/** Utilization of a queue of a run in progress: the share of time in which it was not empty.
 * @param {Columns} engine @param {number} queue */
export function busySoFar(engine, queue) {
  const rows = bins(engine, queue, PACKETS);
  return 1 - weightOf(rows.filter(({ low }) => low === 0)) / weightOf(rows);
}
