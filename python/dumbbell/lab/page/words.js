// Numbers with their units, as a person reads them.

/** @param {number} value @param {number} digits that count */
export function sensible(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const whole = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.min(6, Math.max(0, digits - whole)));
}

/** @param {number} bps */
export function rateText(bps) {
  if (bps >= 1e9) return `${sensible(bps / 1e9)} Gbit/s`;
  if (bps >= 1e6) return `${sensible(bps / 1e6)} Mbit/s`;
  return `${sensible(bps / 1e3)} kbit/s`;
}

/** @param {number} s */
export function timeText(s) {
  if (Math.abs(s) >= 1) return `${sensible(s)} s`;
  if (Math.abs(s) >= 1e-3) return `${sensible(s * 1e3)} ms`;
  return `${sensible(s * 1e6)} µs`;
}

/** How numbers of a run are shown, by the end of their path: words, factor, unit. */
const SHOWN = /** @type {Record<string, [string, number, string]>} */ ({
  utilization: ["link busy", 100, "%"],
  throughput_bps: ["sent by the link", 1e-6, "Mbit/s"],
  loss_ratio: ["dropped", 100, "%"],
  capacity_share: ["goodput over capacity", 100, "%"],
  mean_system_pkts: ["in queue and transmission, mean", 1, "packets"],
  mean_backlog_pkts: ["waiting in the queue, mean", 1, "packets"],
  mean_sojourn_s: ["time in the system, mean", 1e3, "ms"],
  sojourn_p95_s: ["time in the system, 95 %", 1e3, "ms"],
  goodput_bps: ["goodput", 1e-6, "Mbit/s"],
  total_goodput_bps: ["goodput, sum", 1e-6, "Mbit/s"],
  jain_index: ["Jain's fairness index", 1, ""],
  mean_rtt_ms: ["round trip, mean", 1, "ms"],
});

/** @param {string} path such as `queue[a->b].loss_ratio`
 * @returns {{words: string, factor: number, unit: string}} */
export function shownAs(path) {
  const end = path.slice(path.lastIndexOf(".") + 1);
  const [words, factor, unit] = SHOWN[end] ?? [end, 1, ""];
  const subject = /^(?:flow|flows|probe)\[(.*)\]\./.exec(path);
  return { words: subject ? `${subject[1]}: ${words}` : words, factor, unit };
}
