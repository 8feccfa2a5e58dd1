// Form `bucket`, in the worker: the level of a token bucket (shaper or policer) from the packets of the
// link; the segments in flight; losses. The first observed queue is that of the link, and its packets are
// recorded; the flow is the first. Options: begin_s, the length of the first picture.
import { activities } from "../page/activities.js";
import { bucketOf, levels, outline } from "./tokens.js";

const NS_PER_S = 1e9;
const BYTES_PER_KB = 1e3;
/** Codes of the table `packets`. */
const ENQUEUE = 0, DEQUEUE = 1, DROP = 2;
/** `srtt_ns` and similar columns if unknown. */
const UNKNOWN = -1;
/** Number of pieces of a line's axis, each with at most four points. A picture of the whole run is lower,
 * and its line oscillates in every piece: more detail is not visible. */
const PIECES = { begin: 400, whole: 250 };

/** @param {import("./columns.js").Columns} engine @param {number} queue @param {number} event
 * @returns {{t_ns: number[], bytes: number[]}} */
function packets(engine, queue, event) {
  const [t_ns, queues, events, bytes] = ["t_ns", "queue", "event", "bytes"].map((name) =>
    engine.column(`packets.${name}`),
  );
  const rows = [];
  for (let i = 0; i < t_ns.length; i++) if (queues[i] === queue && events[i] === event) rows.push(i);
  return { t_ns: rows.map((i) => t_ns[i]), bytes: rows.map((i) => bytes[i]) };
}

/** Samples of the first flow.
 * @param {import("./columns.js").Columns} engine @param {number} all number of flows */
function flow(engine, all) {
  const [t_ns, inflight, srtt_ns, delivered] = ["t_ns", "inflight_pkts", "srtt_ns", "delivered_payload_bytes"].map(
    (name) => engine.column(`flow_samples.${name}`).filter((/** @type {number} */ _, /** @type {number} */ i) => i % all === 0),
  );
  const known = [...srtt_ns].filter((each) => each !== UNKNOWN);
  const last = t_ns.length - 1;
  return {
    t_s: Array.from(t_ns, (each) => each / NS_PER_S),
    inflight: Array.from(inflight, (each) => (each === UNKNOWN ? NaN : each)),
    srtt_ms: known.reduce((sum, each) => sum + each / 1e6, 0) / known.length,
    goodput_mbps: last < 0 ? NaN : (8e3 * delivered[last]) / t_ns[last],
  };
}

/** One instant of each piece of the axis.
 * @param {number[]} t_s @param {number} until_s */
function thinned(t_s, until_s) {
  const pieces = new Map(t_s.map((each) => [Math.floor((each / until_s) * PIECES.begin), each]));
  return [...pieces.values()].filter((each) => each <= until_s);
}

/**
 * @param {import("./columns.js").Columns} engine
 * @param {any} described
 * @param {import("./columns.js").Order} order
 */
export function reduceBucket(engine, described, { queues, options, isPreview }) {
  const [queue] = queues;
  const bucket = bucketOf(described.resolved.links[queue >> 1][queue & 1 ? "reverse" : "forward"]);
  // A policer consumes tokens when a packet arrives, a shaper when it departs.
  const taken = packets(engine, queue, bucket.isPolicer ? ENQUEUE : DEQUEUE);
  const dropped_s = packets(engine, queue, DROP).t_ns.map((each) => each / NS_PER_S);
  const own = flow(engine, described.resolved.flows.length);
  const until_ns = isPreview ? (own.t_s.at(-1) ?? 0) * NS_PER_S : described.resolved.duration_ns;
  const { t_ns, tokens_ns, left_ns, spilled_ns } = levels(bucket, taken.t_ns, taken.bytes, until_ns);
  const kb = (/** @type {number} */ tokens) => (tokens * bucket.rate_bps) / (8 * NS_PER_S * BYTES_PER_KB);
  const dry = left_ns.findIndex((left, i) => left < bucket.cost_ns(taken.bytes[i]));
  const unused_ns = spilled_ns + (tokens_ns.at(-1) ?? 0);
  const t_s = t_ns.map((each) => each / NS_PER_S);
  const level_kb = tokens_ns.map(kb);
  const whole_s = described.resolved.duration_ns / NS_PER_S;
  return {
    numbers: {
      dry_s: dry < 0 ? NaN : taken.t_ns[dry] / NS_PER_S,
      cliff_pkts: dropped_s.filter((each) => each <= options.cliff_s).length,
      dropped_pkts: dropped_s.length,
      used: 1 - unused_ns / (bucket.depth_ns + (t_ns.at(-1) ?? 0)),
      goodput_mbps: own.goodput_mbps,
      srtt_ms: own.srtt_ms,
    },
    series: {
      begin: outline(t_s, level_kb, 0, options.begin_s, PIECES.begin),
      whole: outline(t_s, level_kb, 0, whole_s, PIECES.whole),
      whole_s,
      inflight: outline(own.t_s, own.inflight, 0, whole_s, PIECES.whole),
      activities: activities(engine, described.resolved.flows.length, 0),
      dropped_s: thinned(dropped_s, whole_s),
      begin_dropped_s: thinned(dropped_s, options.begin_s),
      begin_dropped_pkts: dropped_s.filter((each) => each <= options.begin_s).length,
    },
  };
}
