// Formatting of numbers with units.

/** @param {number} value @param {number} digits significant digits */
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

/** Units by factors of a thousand, the smallest first. */
const THOUSANDS = /** @type {Record<string, string[]>} */ ({
  ns: ["ns", "µs", "ms", "s"], "bit/s": ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"], bytes: ["bytes", "kB", "MB"],
});
/** Significant digits of a number in a larger unit: longer numbers keep the smaller unit. */
const MOST_OF_UNIT = 4;

/** Formats an integer of a description with its unit, without rounding.
 * @param {number} value @param {string} unit of the table of parameters */
export function exactText(value, unit) {
  if (value === 0) return "0";
  if (unit === "parts per billion") return `${Number((value / 1e7).toPrecision(12))} %`;
  if (unit === "1e-9") return String(Number((value / 1e9).toPrecision(12)));
  const units = THOUSANDS[unit] ?? [unit];
  const shown = units.map((name, i) => ({ name, number: Number((value / 1e3 ** i).toPrecision(12)) }));
  const digits = (/** @type {number} */ each) => String(Math.abs(each)).replace(/[.]|0+$/g, "").length;
  const fits = shown.filter(({ number }) => Math.abs(number) >= 1 && digits(number) <= MOST_OF_UNIT);
  const { number, name } = fits.at(-1) ?? shown[0];
  const text = Math.abs(number) < 1e4 ? String(number) : number.toLocaleString("en", { maximumFractionDigits: 9 });
  return `${text} ${name}`.trim();
}

/** Formatting of a run's numbers by the end of their path: name, factor, unit. */
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
