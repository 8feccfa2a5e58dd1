// Converts columns of a run to series for drawing.
import { activities } from "./activities.js";
import { endOf } from "./ends.js";
import { drawnAs } from "./families.js";

/** Maximum points of a line: more than a figure has pixels. */
const MOST_POINTS = 700;
/** Maximum groups whose sender states are shown. */
const MOST_SENDERS = 6;
const NS_PER_S = 1e9;
const NS_PER_MS = 1e6;
/** Time after which an unanswered request is lost, even without a later answer: the wait of ping(8). */
const LONGEST_WAIT_NS = 10e9;
/** `probes.rtt_ns` of an unanswered request. */
const NO_ANSWER = 0;
const SOJOURN = 0;
const NONE = -1;

/** Sampling step of a table with several rows per instant.
 * @param {number} rows @param {number} perInstant */
function instants(rows, perInstant) {
  const all = perInstant ? Math.floor(rows / perInstant) : 0;
  const step = Math.max(1, Math.ceil(all / MOST_POINTS));
  return Array.from({ length: Math.floor(all / step) }, (_, i) => (i + 1) * step - 1);
}

/** @param {import("./engine.js").Engine} engine @param {number} queues @param {number} queue */
function queueSeries(engine, queues, queue) {
  const times = engine.column("queue_samples.t_ns");
  const at = instants(times.length, queues);
  const pick = (/** @type {string} */ name) => {
    const values = engine.column(`queue_samples.${name}`);
    return Float64Array.from(at, (i) => values[i * queues + queue]);
  };
  return {
    t_s: Float64Array.from(at, (i) => times[i * queues] / NS_PER_S),
    system_pkts: pick("system_pkts"),
    backlog_pkts: pick("backlog_pkts"),
    dropped_pkts: pick("dropped_pkts"),
  };
}

/** Goodput and window of each group: sums and means over its flows.
 * @param {import("./engine.js").Engine} engine @param {string[]} groups */
function groupSeries(engine, groups) {
  const names = [...new Set(groups)];
  const times = engine.column("flow_samples.t_ns");
  const delivered = engine.column("flow_samples.delivered_payload_bytes");
  const cwnd = engine.column("flow_samples.cwnd_pkts");
  const flows = groups.length;
  const at = instants(times.length, flows);
  const t_s = Float64Array.from(at, (i) => times[i * flows] / NS_PER_S);
  const found = names.map((name) => {
    const members = groups.flatMap((group, flow) => (group === name ? [flow] : []));
    const sum = (/** @type {number} */ i) =>
      members.reduce((total, flow) => total + delivered[i * flows + flow], 0);
    const goodput_bps = new Float64Array(at.length);
    const cwnd_pkts = new Float64Array(at.length).fill(NaN);
    let [before, since] = [0, 0];
    at.forEach((i, point) => {
      const bytes = sum(i);
      goodput_bps[point] = (8 * (bytes - before)) / (t_s[point] - since);
      [before, since] = [bytes, t_s[point]];
      const known = members.map((flow) => cwnd[i * flows + flow]).filter((each) => each !== NONE);
      if (known.length) cwnd_pkts[point] = known.reduce((a, b) => a + b) / known.length;
    });
    return { name, flows: members.length, goodput_bps, cwnd_pkts };
  });
  return { t_s, groups: found };
}

/** State of the first sender of each group, if it has one.
 * @param {import("./engine.js").Engine} engine @param {string[]} groups */
function senders(engine, groups) {
  const names = [...new Set(groups)].slice(0, MOST_SENDERS);
  const all = names.map((name) => ({
    name,
    flows: groups.filter((each) => each === name).length,
    stretches: activities(engine, groups.length, groups.indexOf(name)),
  }));
  return all.filter(({ stretches }) => stretches.activity.length);
}

/** @param {import("./engine.js").Engine} engine @param {number} queue */
function sojournCdf(engine, queue) {
  const [queues, kinds, high, weight] = ["queue", "quantity", "high", "weight"].map((name) =>
    engine.column(`distributions.${name}`),
  );
  const rows = [...queues.keys()].filter((i) => queues[i] === queue && kinds[i] === SOJOURN);
  const total = rows.reduce((sum, row) => sum + weight[row], 0);
  let below = 0;
  const share = rows.map((row) => (below += weight[row]) / total);
  return {
    delay_s: Float64Array.from(rows, (row) => high[row] / NS_PER_S),
    share: Float64Array.from(share),
  };
}

/** Round-trip times of each probe by sending time, and sending times of lost requests. A request is lost if
 * a later one has been answered, or after ten seconds; requests still queued are not lost.
 * @param {import("./engine.js").Engine} engine @param {string[]} names of probes @param {number} now_ns */
function probeSeries(engine, names, now_ns) {
  if (!names.length) return [];
  const [probes, sent, trips] = ["probe", "sent_ns", "rtt_ns"].map((name) => engine.column(`probes.${name}`));
  /** @type {number[][]} */
  const rows = names.map(() => []);
  for (let i = 0; i < probes.length; i++) rows[probes[i]].push(i);
  return names.map((name, probe) => {
    const own = rows[probe];
    const isAnswered = (/** @type {number} */ i) => trips[i] >= NO_ANSWER;
    const last = own.map(isAnswered).lastIndexOf(true);
    const isLost = (/** @type {number} */ i, /** @type {number} */ place) =>
      !isAnswered(i) && (place < last || now_ns - sent[i] >= LONGEST_WAIT_NS);
    const lost = own.filter(isLost);
    const isShownLost = new Set(lost);
    const step = Math.max(1, Math.ceil(own.length / MOST_POINTS));
    const shown = step === 1 ? own : slowestOf(own, trips, step);
    const drawn = shown.filter((i) => isAnswered(i) || isShownLost.has(i));
    return {
      name, requests: own.length, lost: lost.length, answered: own.filter(isAnswered).length,
      t_s: Float64Array.from(drawn, (i) => sent[i] / NS_PER_S),
      // A lost request is a gap in the line.
      rtt_ms: Float64Array.from(drawn, (i) => (isAnswered(i) ? trips[i] / NS_PER_MS : NaN)),
      lost_s: Float64Array.from(lost, (i) => sent[i] / NS_PER_S),
    };
  });
}

/** The slowest request of each block: thinning a line hides no delay.
 * @param {number[]} rows @param {Float64Array} trips @param {number} step */
function slowestOf(rows, trips, step) {
  return Array.from({ length: Math.ceil(rows.length / step) }, (_, i) =>
    rows.slice(i * step, (i + 1) * step).reduce((one, other) => (trips[other] > trips[one] ? other : one)));
}

/** What the trace of the queue's link lets pass: the mean rate in each of equal parts of the run.
 * @param {import("./engine.js").Engine} engine @param {any} described @param {number} queue
 * @returns {{t_s: Float64Array, rate_mbps: Float64Array} | null} null without a trace of rates */
function traceSeries(engine, described, queue) {
  if (!endOf(described, queue).trace) return null;
  const { traced_bps } = engine.ask({ do: "trace", queue });
  if (!traced_bps) return null;
  const duration_s = described.resolved.duration_ns / NS_PER_S;
  return {
    t_s: Float64Array.from(traced_bps, (_, part) => (part * duration_s) / traced_bps.length),
    rate_mbps: Float64Array.from(traced_bps, (bps) => bps / 1e6),
  };
}

/**
 * @param {import("./engine.js").Engine} engine
 * @param {{queues: string[], groups: string[], resolved: any}} described
 * @param {number} queue
 * @param {number} now_ns time reached by the run
 */
export function seriesOf(engine, described, queue, now_ns = described.resolved.duration_ns) {
  const groups = drawnAs(described);
  return {
    probes: probeSeries(engine, described.resolved.probes.map((/** @type {any} */ { name }) => name), now_ns),
    queue: queueSeries(engine, described.queues.length, queue),
    flows: groupSeries(engine, groups),
    senders: senders(engine, groups),
    cdf: sojournCdf(engine, queue),
    trace: traceSeries(engine, described, queue),
  };
}
