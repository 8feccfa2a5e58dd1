// A line from measurements by arithmetic alone: rates, round trip and buffers, without the fit of
// `dumbbell twin`, whose first step is the same (docs/twin.md, "By arithmetic").

/** Bytes of a full packet with its Ethernet header, and its TCP payload with timestamps. */
const FULL_BYTES = 1514;
const FULL_PAYLOAD_BYTES = 1448;
/** Begin of a load that counts in no mean: seconds, or a share of a short load. */
const SETTLING = { s: 2, share: 0.2 };
/** Quantile of round trips that stands for a full queue. */
const TOP = 0.98;
const LEAST_LOAD_S = 4.5;
/** Assumed where nothing was measured. */
const ASSUMED = { rtt_ms: 20, delay_ms: 100, rate_bps: 1e7 };
const RATE_BPS = { least: 5e4, most: 9e9 };
const BUFFER_BYTES = { least: 3000, most: 2 ** 30 };
const RTT_MS = { least: 0.01, most: 10_000 };
const LEAST_ANSWERS = 5;

/** @typedef {import("./line_files.js").Scene} Scene */
/** @typedef {import("./line_files.js").Way} Way */
/** @typedef {{rate_bps: number, buffer_bytes: number, flows: Record<Way, number>}} End flows of the load from
 *   which it is known, by their direction */
/** @typedef {{rtt_ms: number, up: End, down: End, measured: Way[], controller?: string,
 *   assumptions: string[], logged?: Way[]}} Estimate a direction that was not measured is as the other one;
 *   `logged` has the directions of the load during which a log of round trips is taken as measured */

/** @type {Way[]} */
const WAYS = ["up", "down"];
/** @param {number} value @param {{least: number, most: number}} range */
const within = (value, { least, most }) => Math.min(most, Math.max(least, value));

/** @param {Scene[]} scenes @returns {Estimate | null} null without a load or round trips */
export function estimated(scenes) {
  const { loads, others, notes, logged } = joined(scenes);
  const round_trips = [...loads, ...others].flatMap(({ rtt_ms }) => rtt_ms);
  const assumptions = [...notes];
  if (!loads.length && !round_trips.length) return null;
  const base_ms = round_trips.reduce((least, each) => Math.min(least, each), Infinity);
  if (!round_trips.length) {
    assumptions.push(`No round trips were measured: ${ASSUMED.rtt_ms} ms without queues and ${ASSUMED.delay_ms} ms of buffer are assumed.`);
  }
  /** @type {Partial<Record<Way, End>>} */
  const ends = {};
  for (const way of WAYS) {
    const load = bestLoad(loads, way);
    if (!load) continue;
    const rate_bps = Math.round(within(1e6 * goodputMbps(load, way) * FULL_BYTES / FULL_PAYLOAD_BYTES, RATE_BPS));
    const count = (/** @type {Way} */ of) => load.flows.filter((flow) => flow.way === of).length;
    ends[way] = end(rate_bps, topMs(load) - base_ms, { up: count("up"), down: count("down") });
  }
  const measured = WAYS.filter((way) => ends[way]);
  if (!measured.length) {
    assumptions.push(`A log of round trips does not say what the line carried meanwhile, nor its rate: ${ASSUMED.rate_bps / 1e6} Mbit/s and one upload are assumed. Move the slider to your rate.`);
    ends.up = end(ASSUMED.rate_bps, quantile(round_trips, TOP) - base_ms, { up: 1, down: 0 });
  }
  const [up, down] = WAYS.map((way) => ends[way] ?? ends[way === "up" ? "down" : "up"]);
  const controller = scenes.map((each) => each.controller).find(Boolean);
  return {
    rtt_ms: within(round_trips.length ? base_ms : ASSUMED.rtt_ms, RTT_MS),
    up: /** @type {End} */ (up), down: /** @type {End} */ (down), measured, controller, assumptions, logged,
  };
}

/** @param {number} rate_bps @param {number} delay_ms NaN if unknown @param {Record<Way, number>} flows @returns {End} */
function end(rate_bps, delay_ms, flows) {
  const known_ms = Number.isFinite(delay_ms) ? delay_ms : ASSUMED.delay_ms;
  const buffer_bytes = Math.round(within((Math.max(known_ms, 1) / 8e3) * rate_bps, BUFFER_BYTES));
  return { rate_bps, buffer_bytes, flows };
}

/** Loads, of which the only one without pings gets those of the only log of round trips.
 * @param {Scene[]} scenes */
function joined(scenes) {
  const loads = scenes.filter(({ flows, begin_s, end_s }) => flows.length && end_s - begin_s >= LEAST_LOAD_S);
  const logs = scenes.filter(({ flows }) => !flows.length);
  const silent = loads.filter(({ rtt_ms, isOfSegments }) => isOfSegments || !rtt_ms.length);
  if (silent.length !== 1 || logs.length !== 1) return { loads, others: logs, notes: [] };
  const [load] = silent, [log] = logs;
  const shift_s = load.begin_s - log.begin_s;
  const both = { ...load, isOfSegments: false, rtt_ms: log.rtt_ms, sent_s: log.sent_s.map((each) => each + shift_s) };
  return {
    loads: loads.map((each) => (each === load ? both : each)),
    others: [],
    notes: [`${log.source} is taken as measured during ${load.source}, both started together.`],
    logged: WAYS.filter((way) => load.flows.some((flow) => flow.way === way)),
  };
}

/** The load that says most of a direction: of it alone, with round trips.
 * @param {Scene[]} loads @param {Way} way */
function bestLoad(loads, way) {
  const found = loads.filter(({ flows }) => flows.some((flow) => flow.way === way));
  const rank = (/** @type {Scene} */ { flows, rtt_ms }) => 2 * new Set(flows.map((flow) => flow.way)).size + Number(!rtt_ms.length);
  return found.reduce((best, each) => (best && rank(best) <= rank(each) ? best : each), /** @type {Scene | null} */ (null));
}

/** @param {Scene} load @param {Way} way */
function goodputMbps({ flows, begin_s, end_s }, way) {
  const settled_s = Math.min(begin_s + Math.min(SETTLING.s, SETTLING.share * (end_s - begin_s)), end_s);
  const bytes = flows.filter((flow) => flow.way === way)
    .reduce((sum, { t_s, bytes: of }) => sum + valueAt(end_s, t_s, of) - valueAt(settled_s, t_s, of), 0);
  return (8e-6 * bytes) / (end_s - settled_s);
}

/** @param {Scene} load @returns {number} NaN with fewer than five round trips */
function topMs({ sent_s, rtt_ms, begin_s, end_s }) {
  return quantile(rtt_ms.filter((_, place) => sent_s[place] >= begin_s && sent_s[place] <= end_s), TOP);
}

/** Linear between values.
 * @param {number[]} values @param {number} share */
function quantile(values, share) {
  if (values.length < LEAST_ANSWERS) return NaN;
  const sorted = [...values].sort((one, other) => one - other);
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/** Linear between readings, constant beyond them.
 * @param {number} at_s @param {number[]} t_s ascending @param {number[]} values */
function valueAt(at_s, t_s, values) {
  const next = t_s.findIndex((t) => t > at_s);
  if (next === 0) return values[0];
  if (next < 0) return values[values.length - 1];
  const share = (at_s - t_s[next - 1]) / (t_s[next] - t_s[next - 1]);
  return values[next - 1] + share * (values[next] - values[next - 1]);
}
