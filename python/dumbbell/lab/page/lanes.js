// Rows of the slow motion: one for each flow where the discipline keeps a queue for each.
import { endOf } from "./ends.js";

/** Disciplines with a queue for each flow (tc-fq(8), tc-fq_codel(8), tc-cake(8)). */
const FAIR = ["fq", "fq_codel", "cake"];
/** Rows at most; the last of more is all the others'. */
const MOST_LANES = 8;

/**
 * Packets of a flow or of a probe, or of all that have no row of their own.
 * @typedef {{name: string, flow: number, probe: number}} Lane flow and probe are places, -1 for none
 * @typedef {{flow: Float64Array, probe: Float64Array, in_ns: Float64Array}} Packets
 */

/** Whether a discipline, or one inside it, keeps a queue for each flow.
 * @param {any} qdisc resolved @returns {boolean} */
export function isFair(qdisc) {
  if (!qdisc || typeof qdisc !== "object") return false;
  // tc-cake(8): with flowblind all flows share one queue.
  if (FAIR.includes(qdisc.kind)) return qdisc.isolation !== "flowblind";
  return Object.values(qdisc).some(isFair);
}

/** Rows for packets, probes first, then flows as they are described; none where all are in one queue.
 * @param {Packets} packets @param {any} described @param {number} queue @returns {Lane[]} */
export function lanesOf({ flow, probe }, described, queue) {
  if (!isFair(endOf(described, queue).qdisc)) return [];
  const { flows, probes } = described.resolved;
  const there = (/** @type {Float64Array} */ column) => [...new Set(column)].filter((each) => each >= 0).sort((a, b) => a - b);
  const all = [
    ...there(probe).map((place) => ({ name: probes[place].name, flow: -1, probe: place })),
    ...there(flow).map((place) => ({ name: flows[place].name, flow: place, probe: -1 })),
  ];
  if (all.length <= MOST_LANES) return all;
  const shown = all.slice(0, MOST_LANES - 1);
  return [...shown, { name: `and ${all.length - shown.length} more`, flow: -1, probe: -1 }];
}

/** The row of each packet.
 * @param {Packets} packets @param {Lane[]} lanes @returns {number[]} the last one's where none is its own */
export function placesOf({ flow, probe }, lanes) {
  const places = new Map(lanes.map((lane, i) => [`${lane.flow} ${lane.probe}`, i]));
  return Array.from(flow, (each, i) => places.get(`${each} ${probe[i]}`) ?? Math.max(0, lanes.length - 1));
}
