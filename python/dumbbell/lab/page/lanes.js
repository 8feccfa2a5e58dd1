// Rows of the slow motion: one for each flow where the discipline keeps a queue for each.
import { endOf } from "./ends.js";

/** Disciplines with a queue for each flow: their manual pages in tc(8). */
const FAIR = ["fq", "fq_codel", "fq_pie", "cake", "sfq"];
/** Rows at most; the last of more is all the others'. */
const MOST_LANES = 8;
/** Whose shares are fair, by cake's words for it: who sends, or who receives. */
const HOSTS = /** @type {Record<string, "from" | "to">} */ ({
  srchost: "from", "dual-srchost": "from", dsthost: "to", "dual-dsthost": "to",
});
/** Expedited forwarding and voice admit (RFC 3246, RFC 5865), lower effort (RFC 8622). */
const NAMED_DSCPS = /** @type {Record<number, string>} */ ({ 1: "LE", 44: "VA", 46: "EF" });

/**
 * Packets of some flows or of a probe, or of all that have no row of their own.
 * @typedef {{name: string, flow: number, probe: number, members: number[]}} Lane flow, the first of its members, and probe
 *   are places, -1 for none
 * @typedef {{flow: Float64Array, probe: Float64Array, in_ns: Float64Array}} Packets
 */

/** The discipline, or the first inside it, that keeps a queue for each flow.
 * @param {any} qdisc resolved @returns {any} undefined where there is none */
function fairOf(qdisc) {
  if (!qdisc || typeof qdisc !== "object") return undefined;
  // tc-cake(8): with flowblind all flows share one queue.
  if (FAIR.includes(qdisc.kind)) return qdisc.isolation === "flowblind" ? undefined : qdisc;
  return Object.values(qdisc).map(fairOf).find(Boolean);
}

/** @param {number} dscp as it is called (RFC 2474, RFC 2597); empty for the default */
function dscpText(dscp) {
  if (dscp === 0) return "";
  if (NAMED_DSCPS[dscp]) return NAMED_DSCPS[dscp];
  if (dscp % 8 === 0) return `CS${dscp / 8}`;
  const isAssured = dscp % 2 === 0 && dscp >> 3 >= 1 && dscp >> 3 <= 4;
  return isAssured ? `AF${dscp >> 3}${(dscp % 8) / 2}` : `DSCP ${dscp}`;
}

/** Flows of one host and one DSCP together, and so in one of cake's tins.
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
      known.name = `${[host, dscpText(dscp)].filter(Boolean).join(" ")}: ${known.members.length} flows`;
    }
  }
  return [...lanes.filter(({ flow }) => flow < 0), ...hosts.values()];
}

/** Rows for packets, probes first, then flows as they are described; none where all are in one queue.
 * @param {Packets} packets @param {any} described @param {number} queue @returns {Lane[]} */
export function lanesOf({ flow, probe }, described, queue) {
  const fair = fairOf(endOf(described, queue).qdisc);
  if (!fair) return [];
  const { flows, probes } = described.resolved;
  const there = (/** @type {Float64Array} */ column) => [...new Set(column)].filter((each) => each >= 0).sort((a, b) => a - b);
  const each = [
    ...there(probe).map((place) => ({ name: probes[place].name, flow: -1, probe: place, members: [] })),
    ...there(flow).map((place) => ({ name: flows[place].name, flow: place, probe: -1, members: [place] })),
  ];
  const end = HOSTS[fair.isolation];
  // By the description: rows that came and went with the moment would be hard to follow.
  const all = end && flows.length + probes.length > MOST_LANES ? byHost(each, flows, end) : each;
  if (all.length <= MOST_LANES) return all;
  const shown = all.slice(0, MOST_LANES - 1);
  return [...shown, { name: `and ${all.length - shown.length} more`, flow: -1, probe: -1, members: [] }];
}

/** The row of each packet.
 * @param {Packets} packets @param {Lane[]} lanes @returns {number[]} the last one's where none is its own */
export function placesOf({ flow, probe }, lanes) {
  const ofFlows = new Map(lanes.flatMap(({ members }, i) => members.map((each) => [each, i])));
  const ofProbes = new Map(lanes.flatMap((lane, i) => (lane.probe < 0 ? [] : [[lane.probe, i]])));
  return Array.from(flow, (each, i) => ofFlows.get(each) ?? ofProbes.get(probe[i]) ?? Math.max(0, lanes.length - 1));
}
