// A slider with chips for every number of a discipline, of disciplines inside it, or of a policer. The
// numbers come from the parser's table of parameters (parameters.py), not from a list of names.
import { roundNumbers } from "./fields.js";
import { exactText } from "./words.js";

/** Usual values by unit: the ends of a slider, extended if the default or the value is outside, and the
 * values of its chips. Bytes are multiples of a full packet. */
const USUAL = /** @type {Record<string, {least: number, most: number, chips: number[]}>} */ ({
  packets: { least: 1, most: 5000, chips: [10, 50, 100, 500, 1000, 5000] },
  bytes: { least: 1500, most: 8e6, chips: [1500, 15e3, 150e3, 1.5e6] },
  ns: { least: 1e5, most: 1e9, chips: [1e6, 5e6, 20e6, 100e6, 500e6] },
  "bit/s": { least: 1e5, most: 1e9, chips: [1e6, 10e6, 50e6, 100e6, 1e9] },
  "parts per billion": { least: 1e5, most: 1e9, chips: [1e6, 1e7, 5e7, 1e8] },
  "1e-9": { least: 1e6, most: 5e8, chips: [1e7, 2e7, 1e8, 5e8] },
});
const OTHERWISE = { least: 1, most: 1000, chips: [1, 10, 100, 1000] };
/** A range with at most this many integers has all of them on its slider. */
const MOST_IN_STEPS = 400;
/** A slider ranges from a tenth of the default to ten times the default. */
const AROUND = 10;
const MOST_CHIPS = 5;
/** Suffix of numbers whose unit has no larger units. */
const COUNTED = /(?<=\d) (?:packets|queues|bands)$/;

/**
 * A parameter in the form of parameters.py.
 * @typedef {{name: string, key: string, unit: string, default: number | null, isNull: boolean,
 *   isZero: boolean, step: number, least: number, most: number | null, effect: string}} Parameter
 * @typedef {import("./controls.js").Control} Control
 */

/** Stops of a slider, in order; null is the discipline's behaviour without a value.
 * @param {Parameter} parameter @param {number | null} value current value @returns {(number | null)[]} */
export function stopsOf(parameter, value) {
  const { unit, isNull, isZero, step, least, default: own } = parameter;
  const most = parameter.most ?? Infinity;
  const off = [...(isNull ? [null] : []), ...(isZero && least > 0 ? [0] : [])];
  if (most - least <= MOST_IN_STEPS) {
    return [...off, ...Array.from({ length: most - least + 1 }, (_, i) => least + i)];
  }
  const usual = USUAL[unit] ?? OTHERWISE;
  const known = [own, value].filter((each) => each !== null && each > 0);
  const from = Math.max(least, Math.min(usual.least, ...known.map((each) => Number(each) / AROUND)), 1);
  const until = Math.min(most, Math.max(usual.most, ...known.map((each) => Number(each) * AROUND)));
  const rounds = roundNumbers(from, until, 2).map(Math.round).filter((each) => each % step === 0);
  return [...off, ...(least <= 0 ? [0] : []), ...new Set([...rounds, ...(own === null || own < from ? [] : [own])])].sort(
    (one, other) => Number(one ?? -1) - Number(other ?? -1),
  );
}

/** Usual values of a number, including its default.
 * @param {Parameter} parameter @returns {(number | null)[]} */
export function chipsOf({ unit, isNull, isZero, least, most, default: own }) {
  const top = most ?? Infinity;
  /** @type {(number | null)[]} */
  const off = isNull ? [null] : isZero || least <= 0 ? [0] : [];
  const isSmall = top - least <= MOST_IN_STEPS;
  const all = isSmall ? [least, Math.round((least + top) / 2), top] : (USUAL[unit] ?? OTHERWISE).chips;
  const middle = own || all[Math.floor(all.length / 2)];
  const far = (/** @type {number} */ each) => Math.abs(Math.log(Math.max(each, 1) / Math.max(middle, 1)));
  const fitting = [...new Set([...(own === null ? [] : [own]), ...all])].filter(
    (each) => each >= least && each <= top && !off.includes(each),
  );
  const near = fitting.sort((one, other) => far(one) - far(other)).slice(0, MOST_CHIPS - off.length);
  return [...off, ...near.sort((one, other) => one - other)];
}

/** @param {number | null} value @param {Parameter} parameter */
function wordsOf(value, { unit, isZero, default: own, least }) {
  if (value === null) return "not set";
  return value === 0 && isZero && least > 0 && !own ? "none" : exactText(value, unit);
}

/** @param {any} object of the description @param {string} path of it from the root of all
 * @param {Parameter[]} parameters @param {string} id @returns {Control[]} */
function controlsOfOne(object, path, parameters, id) {
  return parameters.map((parameter) => ({
    id: `${id}-${parameter.key}`, label: parameter.name, kind: "slider", paths: [`${path}.${parameter.key}`],
    stops: stopsOf(parameter, object[parameter.key]),
    chips: chipsOf(parameter),
    isFolded: object[parameter.key] === null || (object[parameter.key] === 0 && parameter.isZero),
    effect: parameter.effect,
    read: (described) => at(described.resolved, `${path}.${parameter.key}`),
    changes: (value) => [[`${path}.${parameter.key}`, value]],
    words: (value) => wordsOf(value, parameter),
    // The unit of counts is in the heading.
    chipWords: (value) => wordsOf(value, parameter).replace(COUNTED, ""),
  }));
}

/** The value at a path.
 * @param {any} resolved @param {string} path such as `links[1].forward.qdisc.limit_packets` */
export function at(resolved, path) {
  return path.split(/[.[\]]+/).filter(Boolean).reduce((found, step) => found?.[step], resolved);
}

/**
 * Controls of a discipline and of the disciplines inside it, in groups.
 * @param {any} object a discipline, a class or a policer; null for none
 * @param {string} path of it @param {string} id that begins those of its controls
 * @param {string} title of the group @param {Record<string, Parameter[]>} table
 * @param {string} kind of the table
 * @returns {{title: string, controls: Control[]}[]}
 */
export function groupsOf(object, path, id, title, table, kind) {
  if (!object) return [];
  const own = { title, controls: controlsOfOne(object, path, table[kind] ?? [], id) };
  const inside = Object.entries(object).flatMap(([key, value]) => {
    if (value?.kind in table) return groupsOf(value, `${path}.${key}`, `${id}-${key}`, `${value.kind} inside`, table, value.kind);
    if (!Array.isArray(value)) return [];
    return value.flatMap((each, i) => {
      const place = [`${path}.${key}[${i}]`, `${id}-${key}-${i}`];
      if (each?.kind in table) return groupsOf(each, place[0], place[1], `${each.kind} in band ${i}`, table, each.kind);
      if (key !== "classes") return [];
      const name = `class ${Number(each.minor).toString(16)}`;
      return groupsOf(each, place[0], place[1], name, table, `${kind} class`);
    });
  });
  return [own, ...inside].filter(({ controls }) => controls.length);
}
