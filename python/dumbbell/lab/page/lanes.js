// Rows of the slow motion: one per class of the discipline, and one per flow where the discipline, or a
// class of it, has per-flow queues.
import { NO_CLASS, classesOf } from "./classes.js";
import { endOf } from "./ends.js";

/** Disciplines with per-flow queues, according to their manual pages in tc(8). */
const FAIR = ["fq", "fq_codel", "fq_pie", "cake", "sfq"];
/** Maximum number of rows; the last one combines the rest. */
const MOST_LANES = 8;
/** Cake's keywords for fairness by host: source or destination. */
const HOSTS = /** @type {Record<string, "from" | "to">} */ ({
  srchost: "from", "dual-srchost": "from", dsthost: "to", "dual-dsthost": "to",
});
/** Expedited forwarding and voice admit (RFC 3246, RFC 5865), lower effort (RFC 8622). */
const NAMED_DSCPS = /** @type {Record<number, string>} */ ({ 1: "LE", 44: "VA", 46: "EF" });

/**
 * Packets of some flows or of a probe in one class, or all packets of a class without separate rows.
 * @typedef {{name: string, heading: string, class: number, flow: number, probe: number, members: number[],
 *   isShared: boolean}} Lane flow (the first of its members) and probe are indices, -1 for none; the heading is that of the
 *   class, or empty; isShared: whether several queues may share it
 * @typedef {{flow: Float64Array, probe: Float64Array, in_ns: Float64Array, class: Float64Array}} Packets
 */

/** The discipline, or the first one inside it, with per-flow queues.
 * @param {any} qdisc resolved @returns {any} undefined if there is none */
function fairOf(qdisc) {
  if (!qdisc || typeof qdisc !== "object") return undefined;
  // tc-cake(8): with flowblind all flows share one queue.
  if (FAIR.includes(qdisc.kind)) return qdisc.isolation === "flowblind" ? undefined : qdisc;
  return Object.values(qdisc).map(fairOf).find(Boolean);
}

/** @param {number} dscp its name (RFC 2474, RFC 2597); empty for the default */
function dscpText(dscp) {
  if (dscp === 0) return "";
  if (NAMED_DSCPS[dscp]) return NAMED_DSCPS[dscp];
  if (dscp % 8 === 0) return `CS${dscp / 8}`;
  const isAssured = dscp % 2 === 0 && dscp >> 3 >= 1 && dscp >> 3 <= 4;
  return isAssured ? `AF${dscp >> 3}${(dscp % 8) / 2}` : `DSCP ${dscp}`;
}

/** Groups flows of one host and one DSCP.
 * @param {Lane[]} lanes @param {any[]} flows @param {"from" | "to"} end @returns {Lane[]} */
function byHost(lanes, flows, end) {
  /** @type {Map<string, Lane>} */
  const hosts = new Map();
  for (const lane of lanes.filter(({ flow }) => flow >= 0)) {
    const { [end]: host, dscp } = flows[lane.flow];
    const known = hosts.get(`${dscp} ${host}`);
    if (!known) hosts.set(`${dscp} ${host}`, { ...lane, members: [lane.flow] });
    else {
      known.members.push(lane.flow);
      known.isShared = true;
      known.name = `${[host, dscpText(dscp)].filter(Boolean).join(" ")}: ${known.members.length} flows`;
    }
  }
  return [...lanes.filter(({ flow }) => flow < 0), ...hosts.values()];
}

/** A row for each flow of a class with packets: probes first, then flows in the order of the description.
 * @param {Packets} packets @param {number} number of the class @param {any} fair discipline @param {any} resolved
 * @returns {Lane[]} */
function byFlow(packets, number, fair, { flows, probes }) {
  const there = (/** @type {Float64Array} */ column) =>
    [...new Set(column.filter((_, i) => packets.class[i] === number))].filter((each) => each >= 0).sort((a, b) => a - b);
  const one = { heading: "", class: number, isShared: false };
  const each = [
    ...there(packets.probe).map((place) => ({ ...one, name: probes[place].name, flow: -1, probe: place, members: [] })),
    ...there(packets.flow).map((place) => ({ ...one, name: flows[place].name, flow: place, probe: -1, members: [place] })),
  ];
  const end = HOSTS[fair.isolation];
  // Rows follow the description: rows that appear and disappear would be hard to follow.
  return end && flows.length + probes.length > MOST_LANES ? byHost(each, flows, end) : each;
}

/** A combined row for packets without a row.
 * @param {string} name @param {number} number of the class @param {boolean} isShared @returns {Lane} */
function rest(name, number, isShared) {
  return { name, heading: "", class: number, flow: -1, probe: -1, members: [], isShared };
}

/** Number of rows of each group, assigned round-robin.
 * @param {Lane[][]} groups @returns {number[]} */
function quotas(groups) {
  const found = groups.map(() => 0);
  for (let left = MOST_LANES, round = 1; left > 0 && groups.some((group) => group.length >= round); round++) {
    groups.forEach((group, i) => {
      if (left > 0 && group.length >= round) [found[i], left] = [round, left - 1];
    });
  }
  return found;
}

/** @param {Lane[]} lanes @param {number} most at least 1 @returns {Lane[]} */
function atMost(lanes, most) {
  if (lanes.length <= most) return lanes;
  const shown = lanes.slice(0, most - 1);
  const name = most === 1 ? `${lanes.length} flows` : `and ${lanes.length - shown.length} more`;
  return [...shown, rest(name, lanes[0].class, true)];
}

/** Rows for packets; none if all are in one queue.
 * @param {Packets} packets @param {any} described @param {number} queue @returns {Lane[]} */
export function lanesOf(packets, described, queue) {
  const { qdisc } = endOf(described, queue);
  const { all } = classesOf(qdisc);
  if (!all.length) {
    const fair = fairOf(qdisc);
    return fair ? atMost(byFlow(packets, NO_CLASS, fair, described.resolved), MOST_LANES) : [];
  }
  const seen = new Set(packets.class);
  const groups = all.filter(({ number, isOptional }) => !isOptional || seen.has(number)).map(({ number, name, child }) => {
    const fair = fairOf(child);
    const lanes = fair ? byFlow(packets, number, fair, described.resolved) : [];
    return { name, number, lanes: lanes.length ? lanes : [rest(name, number, false)], isByFlow: lanes.length > 0 };
  });
  const most = quotas(groups.map(({ lanes }) => lanes));
  const shown = groups.flatMap(({ name, lanes, isByFlow }, i) => {
    if (most[i] === 0) return [];
    const own = atMost(lanes, most[i]);
    return isByFlow && groups.length > 1 ? own.map((lane) => ({ ...lane, heading: name })) : own;
  });
  // One class without per-flow queues is a single queue.
  if (shown.length === 1 && !groups[0].isByFlow) return [];
  const left = groups.length - most.filter(Boolean).length;
  return left ? [...shown.slice(0, -1), rest(`and ${left + 1} more`, NO_CLASS, true)] : shown;
}

/** Text description of the rows.
 * @param {Lane[]} lanes @param {any} described @param {number} queue */
export function titleOf(lanes, described, queue) {
  if (lanes.length < 2) return "queue";
  const { what } = classesOf(endOf(described, queue).qdisc);
  const isByFlow = lanes.some(({ flow, probe }) => flow >= 0 || probe >= 0);
  if (!isByFlow) return `a queue for each ${what}`;
  return lanes.some(({ heading }) => heading) ? `a queue for each flow of each ${what}` : "a queue for each flow";
}

/** The row of each packet.
 * @param {Packets} packets @param {Lane[]} lanes @returns {number[]} the last row if none matches */
export function placesOf(packets, lanes) {
  const rows = new Map(lanes.flatMap((lane, i) => {
    const keys = [
      ...lane.members.map((flow) => `${lane.class} flow ${flow}`),
      ...(lane.probe < 0 ? [] : [`${lane.class} probe ${lane.probe}`]),
    ];
    return (keys.length ? keys : [`${lane.class}`]).map((key) => /** @type {[string, number]} */ ([key, i]));
  }));
  return Array.from(packets.flow, (flow, i) => {
    const number = packets.class[i];
    return rows.get(`${number} flow ${flow}`) ?? rows.get(`${number} probe ${packets.probe[i]}`) ?? rows.get(`${number}`)
      ?? Math.max(0, lanes.length - 1);
  });
}
