// The time window of the slow motion: its length, and its default start.

/** Approximate number of packets in it, and its bounds in seconds. */
const WINDOW = { packets: 250, least_s: 0.001, most_s: 20 };
const NS_PER_S = 1e9;

/** @typedef {{in_ns: Float64Array, out_ns: Float64Array, drop: Float64Array, from_ns: number, until_ns: number}} Packets */

/** @param {{path: string, value: number | null}[]} numbers of the run @returns {number} ns */
export function windowOf(numbers) {
  const byEnd = (/** @type {string} */ end) => numbers.find(({ path }) => path.endsWith(end))?.value ?? 0;
  // Little's law: packets per second through the queue.
  const pps = byEnd(".mean_system_pkts") / byEnd(".mean_sojourn_s");
  const wanted_s = Number.isFinite(pps) && pps > 0 ? WINDOW.packets / pps : 1;
  return Math.min(WINDOW.most_s, Math.max(WINDOW.least_s, wanted_s)) * NS_PER_S;
}

/** The first drop in the window, or the arrival at which most packets are queued.
 * @param {Packets} packets @returns {number} ns */
export function tellingInstant({ in_ns, out_ns, drop, from_ns, until_ns }) {
  const isWithin = (/** @type {number} */ t_ns) => t_ns >= from_ns && t_ns <= until_ns;
  const drops = out_ns.filter((t_ns, i) => drop[i] && isWithin(t_ns));
  if (drops.length) return drops.reduce((one, other) => Math.min(one, other));
  const came = in_ns.slice().sort(), left = out_ns.slice().sort();
  let [most, at_ns, gone] = [0, from_ns, 0];
  came.forEach((t_ns, i) => {
    while (gone < left.length && left[gone] <= t_ns) gone += 1;
    if (isWithin(t_ns) && i + 1 - gone > most) [most, at_ns] = [i + 1 - gone, t_ns];
  });
  return at_ns;
}

/** A shorter window around that instant.
 * @template {Packets} Some @param {Some} packets @param {number} window_ns its length @returns {Some} */
export function aroundTelling(packets, window_ns) {
  const { from_ns, until_ns } = packets;
  const begin_ns = Math.max(from_ns, Math.min(tellingInstant(packets) - window_ns / 4, until_ns - window_ns));
  return { ...packets, from_ns: begin_ns, until_ns: Math.min(until_ns, begin_ns + window_ns) };
}
