// Adjustable parameters of the traffic of equal flows: rate, size, pauses.
import { members, slowestBps } from "./ends.js";
import { sensible, timeText } from "./words.js";

/** The parameter that equals the mean of a distribution, for distributions that have one. */
const MEANS = /** @type {Record<string, string>} */ ({ exponential: "mean", constant: "value" });
const LOAD = { least: 0.05, most: 2.5 };
const TRANSFER_BYTES = { least: 1e3, most: 1e8 };
const PAUSE_S = { least: 0.01, most: 60 };
/** Range from a twentieth of the initial value to five times the initial value. */
const OFTEN = { least: 1 / 20, most: 5 };
const DIGITS = 6;

/** @typedef {import("./controls.js").Control} Control */

/** @param {any} law @returns {number | undefined} */
function meanOf(law) {
  return law?.[MEANS[law?.law]];
}

/** @param {number} bytes */
function bytesText(bytes) {
  if (bytes >= 1e6) return `${sensible(bytes / 1e6)} MB`;
  return bytes >= 1e3 ? `${sensible(bytes / 1e3)} kB` : `${sensible(bytes)} bytes`;
}

/** The mean of a distribution of a source.
 * @param {string} name @param {any} source @param {string} key
 * @param {{id: string, label: string, least: number, most: number, words: (value: number) => string}} how
 * @returns {Control[]} */
function mean(name, source, key, { id, label, least, most, words }) {
  const law = source[key];
  if (meanOf(law) === undefined) return [];
  const path = `flows[${name}].source.${key}.${MEANS[law.law]}`;
  return [{
    id: `${id}-${name}`, label: `${name}: ${label}`, kind: "slider", paths: [path], least, most,
    words, hides: true, changes: (value) => [[path, Number(value.toPrecision(DIGITS))]],
    read: (described) => meanOf(members(described, name)[0]?.source[key]) ?? null,
  }];
}

/** The rate of a source's actions, as a load if it is known.
 * @param {any} base @param {string} name @param {any} source @param {number} queue
 * @returns {Control[]} */
function frequency(base, name, source, queue) {
  const gap_s = meanOf(source.gap);
  if (gap_s === undefined) return [];
  const path = `flows[${name}].source.gap.${MEANS[source.gap.law]}`;
  const bitsOf = (/** @type {any} */ each) => 8 * (meanOf(each.size) ?? NaN) * (each.packets ?? 1);
  const factor = (/** @type {any} */ described) => {
    const flows = members(described, name);
    return (flows.length * bitsOf(flows[0].source)) / slowestBps(described, queue);
  };
  const isLoad = Number.isFinite(bitsOf(source)) && slowestBps(base, queue) > 0;
  const changes = (/** @type {number} */ per_s) => Number((1 / per_s).toPrecision(DIGITS));
  const perS = (/** @type {any} */ described) => {
    const flow = members(described, name)[0];
    return flow ? 1 / flow.source.gap[MEANS[source.gap.law]] : null;
  };
  const shared = { kind: /** @type {"slider"} */ ("slider"), paths: [path], hides: true };
  if (!isLoad) {
    return [{
      ...shared, id: `rate-${name}`, label: `${name}: how often`,
      least: OFTEN.least / gap_s, most: OFTEN.most / gap_s, digits: 3,
      read: perS, changes: (per_s) => [[path, changes(per_s)]], words: (per_s) => `${sensible(per_s)} /s`,
    }];
  }
  const isWire = source.size_at === "wire";
  return [{
    ...shared, ...LOAD, id: `load-${name}`, label: `${name}: load${isWire ? "" : ", headers not counted"}`,
    read: (described) => {
      const per_s = perS(described);
      return per_s === null ? null : per_s * factor(described);
    },
    changes: (load, described) => {
      const flows = members(described, name).length;
      return flows ? [[path, changes(load / factor(described))]] : [];
    },
    words: (load, described) => `${sensible(load)} (${sensible(perS(described) ?? 0)} /s${members(described, name).length > 1 ? " each" : ""})`,
  }];
}

/** @param {any} base @param {string} name of equal flows @param {number} queue @returns {Control[]} */
export function ofSource(base, name, queue) {
  const { source } = members(base, name)[0];
  const size = { id: "size", label: "size of a transfer, mean", ...TRANSFER_BYTES, words: bytesText };
  if (source.kind === "closed_loop") {
    const pause = { id: "pause", label: "pause between transfers, mean", ...PAUSE_S, words: timeText };
    return [...mean(name, source, "think", pause), ...mean(name, source, "size", size)];
  }
  const often = frequency(base, name, source, queue);
  return source.kind === "arrivals" ? [...often, ...mean(name, source, "size", size)] : often;
}
