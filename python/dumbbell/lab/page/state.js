// Contents of a link: the experiment, its changes, and the task of a class.

/** Maximum length of a fragment, read or written. */
const LONGEST = 200_000;
const MOST_CHANGES = 200;
/** Maximum characters of a rule in a link. */
const LONGEST_RULE = 10_000;
/** Maximum moves of a game in a link. */
export const MOST_MOVES = 2000;
/** Maximum nesting of lists and tables: a description has ten levels. */
const DEEPEST = 40;
/** Limits of a task, as in `lab/task.py`. */
const TASK = { letters: 20_000, parts: 20, items: 100 };
const PREFIX = "#s=";

/**
 * @typedef {{heading: string, paragraphs: string[], steps: string[]}} TaskPart
 * @typedef {{title: string, parts: TaskPart[]}} Task
 * @typedef {{at_ns: number, cwnd_pkts: number}} Move
 * @typedef {string | number | boolean | null | Move[]} Value
 * @typedef {{resolved: object, queue: number, task?: Task | null}} Own
 * @typedef {{preset: string | null, own: Own | null,
 *   changes: [string, Value][], rule?: string | null}} State
 */

/** The state in a link is invalid. */
export class BadLink extends Error {}

/** @param {State} state @returns {string | null} the fragment; null if it
 * exceeds the maximum length */
export function encoded(state) {
  const bytes = new TextEncoder().encode(JSON.stringify({ v: 1, ...state }));
  let text = "";
  for (let i = 0; i < bytes.length; i += 4096) {
    text += String.fromCharCode(...bytes.subarray(i, i + 4096));
  }
  const hash = PREFIX + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return hash.length <= LONGEST ? hash : null;
}

/** @param {string} text @returns {unknown} */
function parsed(text) {
  try {
    const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new BadLink("this link is damaged: it cannot be read");
  }
}

/** @param {unknown} value @param {number} deepest @returns {boolean} */
function isFlat(value, deepest) {
  if (value === null || typeof value !== "object") return true;
  return deepest > 0 && Object.values(value).every((each) => isFlat(each, deepest - 1));
}

/** @param {unknown} pair @returns {pair is [string, Value]} */
function isChange(pair) {
  if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== "string") return false;
  return pair[1] === null || ["string", "number", "boolean"].includes(typeof pair[1]) || isMoves(pair[1]);
}

/** @param {unknown} value */
function isMoves(value) {
  if (!Array.isArray(value) || value.length > MOST_MOVES) return false;
  return value.every((move) => Number.isSafeInteger(move?.at_ns) && Number.isSafeInteger(move?.cwnd_pkts));
}

/** @param {unknown} items */
function areTexts(items) {
  return Array.isArray(items) && items.length <= TASK.items && items.every((each) => typeof each === "string");
}

/** @param {any} found @returns {found is Task} */
function isTask(found) {
  if (typeof found?.title !== "string" || !Array.isArray(found.parts) || found.parts.length > TASK.parts) return false;
  if (JSON.stringify(found).length > 2 * TASK.letters) return false;
  return found.parts.every((/** @type {any} */ part) =>
    typeof part?.heading === "string" && areTexts(part.paragraphs) && areTexts(part.steps));
}

/**
 * @param {string} hash of an address
 * @param {string[]} presets ids of the presets
 * @returns {State | null} null without a state
 * @throws {BadLink}
 */
export function decoded(hash, presets) {
  if (!hash.startsWith(PREFIX)) return null;
  if (hash.length > LONGEST) throw new BadLink("this link is too long to be one of ours");
  const found = parsed(hash.slice(PREFIX.length));
  if (found === null || typeof found !== "object" || Array.isArray(found) || !isFlat(found, DEEPEST)) {
    throw new BadLink("this link holds something else than an experiment");
  }
  const { v, preset, own, changes, rule = null } = /** @type {any} */ (found);
  if (v !== 1) throw new BadLink("this link was made by another version of the page");
  if (!Array.isArray(changes) || changes.length > MOST_CHANGES || !changes.every(isChange)) {
    throw new BadLink("this link holds changes that are none");
  }
  if (rule !== null && (typeof rule !== "string" || rule.length > LONGEST_RULE)) {
    throw new BadLink(`this link holds a rule that is none: a text of at most ${LONGEST_RULE} letters`);
  }
  if (typeof preset === "string" && presets.includes(preset)) {
    return { preset, own: null, changes, rule };
  }
  if (preset === null && own && typeof own.resolved === "object" && Number.isInteger(own.queue)) {
    const task = own.task ?? null;
    if (task !== null && !isTask(task)) throw new BadLink("this link holds a task that is none");
    return { preset: null, own: { resolved: own.resolved, queue: own.queue, task }, changes, rule };
  }
  throw new BadLink("this link names an experiment that this page has not");
}
