// Sliders for the numbers of a link's random trace.
import { endOf, endPath } from "./ends.js";
import { at } from "./numbers.js";
import { rateText, timeText } from "./words.js";

const NS_PER_S = 1e9;
const RATE = { least: 1e5, most: 1e9 };
const TIME_S = { least: 1e-4, most: 100 };

/** Labels of numbers by their key; of a law its mean is set.
 * @type {Record<string, string>} */
const LABELS = {
  rate_bps: "rate", least_rate_bps: "least rate", most_rate_bps: "greatest rate",
  delay_ns: "delay", least_delay_ns: "least delay", most_delay_ns: "greatest delay", every_ns: "time between handovers",
  on: "time on, mean", off: "time off, mean", hold: "duration, mean", gap: "time between bursts, mean",
};

/** @param {string} path @param {string} id @param {string} label @returns {import("./controls.js").Control} */
function rate(path, id, label) {
  return {
    id, label, kind: "slider", paths: [path], ...RATE, words: rateText,
    read: (described) => at(described.resolved, path), changes: (bps) => [[path, Math.round(bps)]],
  };
}

/** @param {string} path @param {string} id @param {string} label @param {number} unit how many make a second
 * @returns {import("./controls.js").Control} */
function time(path, id, label, unit) {
  const exact = (/** @type {number} */ s) => (unit === 1 ? s : Math.round(s * 1e6) * (unit / 1e6));
  return {
    id, label, kind: "slider", paths: [path], ...TIME_S, words: timeText,
    read: (described) => at(described.resolved, path) / unit, changes: (s) => [[path, exact(s)]],
  };
}

/** @param {any} object the process or one of its states @param {string} path of it @param {string} id
 * @param {string} title @returns {import("./controls.js").Control[]} */
function controlsOfOne(object, path, id, title) {
  return Object.entries(LABELS).flatMap(([key, words]) => {
    const value = object[key];
    const own = /** @type {[string, string]} */ ([`${id}-${key}`, `${title}: ${words}`]);
    if (key.endsWith("_bps")) return value ? [rate(`${path}.${key}`, ...own)] : [];
    if (key.endsWith("_ns")) return value ? [time(`${path}.${key}`, ...own, NS_PER_S)] : [];
    return value?.law === "exponential" ? [time(`${path}.${key}.mean`, ...own, 1)] : [];
  });
}

/** Controls of a process's numbers; a recorded trace has none.
 * @param {any} base @param {number} queue @returns {import("./controls.js").Control[]} */
export function traceControls(base, queue) {
  const { trace } = endOf(base, queue);
  if (!trace) return [];
  const path = `${endPath(queue)}.trace`;
  const states = (trace.states ?? []).flatMap((/** @type {any} */ state, /** @type {number} */ i) =>
    controlsOfOne(state, `${path}.states[${i}]`, `trace-${i}`, `Trace, state ${i}`));
  return [...controlsOfOne(trace, path, "trace", "Trace"), ...states];
}

/** Whether the link's own delay applies, not one that its process draws.
 * @param {any} described @param {number} queue */
export function hasOwnDelay(described, queue) {
  const { trace } = endOf(described, queue);
  const states = trace?.states ?? [];
  return !(trace && "least_delay_ns" in trace) && !states.some((/** @type {any} */ each) => each.delay_ns !== null);
}
