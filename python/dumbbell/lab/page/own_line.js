// The line of dropped files as experiments of the page: one for each queue of the line.
import { estimated } from "./line_estimate.js";
import { UnreadFile, readLine, textOf } from "./line_files.js";

const MOST_FILES = 12;
/** Most equal flows, as of the control of their number. */
const MOST_FLOWS = 100;
/** Places in the description of `lab/own_line.py`: links, and queues by direction. */
const LINKS = { delay: 0, line: 1 };
const ENDS = { up: "reverse", down: "forward" };
const QUEUES = { up: 2 * LINKS.line + 1, down: 2 * LINKS.line };
/** @type {import("./line_files.js").Way[]} */
const WAYS = ["up", "down"];
/** Group of these experiments in the list. */
export const GROUP = "Your line";
/** Ranges of a twin's numbers, as in `dumbbell.twin.line`. */
const RATE_BPS = { least: 5e4, most: 9e9 };
const RTT_NS = { least: 1e4, most: 1e10 };
const SIZE = { least: 1, most: 2 ** 30 };
const MOST_TRUST_LETTERS = 40;

/** @typedef {import("./line_files.js").Way} Way */
/** @typedef {import("./state.js").Value} Value */
/** @typedef {{id: string, title: string, group: string, isOwn: boolean, question: string, resolved: any,
 *   queue: number, changes: Record<string, Value>}} OwnLine */

/** Experiments of files, the direction with the longest delay first.
 * @param {File[]} files @param {{resolved: object, controllers: string[]}} known
 * @returns {Promise<OwnLine[]>}
 * @throws {UnreadFile} with the name of the file */
export async function linesOf(files, known) {
  if (files.length > MOST_FILES) throw new UnreadFile(`${files.length} files; at most ${MOST_FILES} are read together`);
  const found = [];
  for (const file of files) {
    try {
      if (file.name.endsWith(".toml")) throw new UnreadFile(`run: dumbbell lab ${quoted(file.name)}, or drop the twin.json beside it`);
      found.push(readLine(file.name, await textOf(file)));
    } catch (error) {
      if (!(error instanceof UnreadFile)) throw error;
      throw new UnreadFile(`${file.name} is not read: ${error.message}.`);
    }
  }
  const twin = found.find((each) => "twin" in each);
  if (twin && "twin" in twin) return ofTwin(twin.source, twin.twin, known.resolved);
  const scenes = found.flatMap((each) => ("twin" in each ? [] : [each]));
  const line = estimated(scenes);
  if (!line) throw new UnreadFile("These files have neither a load of 4.5 s nor round trips.");
  const resolved = clone(known.resolved);
  setDelay(resolved, line.rtt_ms * 1e6);
  for (const way of WAYS) {
    const end = resolved.links[LINKS.line][ENDS[way]];
    end.rate_bps = line[way].rate_bps;
    end.qdisc = { kind: "bfifo", limit_bytes: line[way].buffer_bytes };
  }
  const ways = line.measured.length ? line.measured : /** @type {Way[]} */ (["up"]);
  const names = files.map(({ name }) => name);
  const numbers = ways.map((way) => `${mbit(line[way].rate_bps)} Mbit/s ${way} behind ${ms(line[way])} ms of buffer`);
  const question = [
    `An estimate without the fit, from ${names.join(", ")}: ${numbers.join(", ")}, ${line.rtt_ms.toFixed(1)} ms without queues.`,
    ...line.assumptions,
    `A FIFO is assumed. ${line.measured.length ? "For a fitted and tested line" : "For advice, with your rates"}: ${command(scenes, line)}`,
  ].join(" ");
  const delays = (/** @type {Way} */ way) => line[way].buffer_bytes / line[way].rate_bps;
  ways.sort((one, other) => delays(other) - delays(one));
  return ways.map((way) => ({ ...common(names[0], way, question, flowsOf(line, way, known.controllers)), resolved }));
}

/** The command that takes these files: a log of round trips does not say what the line carried meanwhile.
 * @param {import("./line_files.js").Scene[]} scenes @param {import("./line_estimate.js").Estimate} line */
function command(scenes, { measured, logged, rtt_ms, up, down }) {
  const sources = (/** @type {boolean} */ isLoad) => scenes.filter(({ flows }) => isLoad === flows.length > 0).map(({ source }) => quoted(source));
  const during = logged?.length === WAYS.length ? "--during-both" : `--during-${logged?.[0] ?? "up"}`;
  const option = measured.length && !logged ? "--idle" : during;
  const logs = sources(false).flatMap((source) => [option, source]);
  if (measured.length) return ["dumbbell twin", ...sources(true), ...logs].join(" ");
  const rates = [up, down].map(({ rate_bps }) => `${mbit(rate_bps)}mbit`);
  return ["dumbbell advise", "--up", rates[0], "--down", rates[1], "--rtt", `${rtt_ms.toFixed(1)}ms`, ...logs].join(" ");
}

/** The flows of the load that measured a direction.
 * @param {import("./line_estimate.js").Estimate} line @param {Way} way @param {string[]} controllers */
function flowsOf({ controller, ...line }, way, controllers) {
  /** @type {Record<string, Value>} */
  const changes = {};
  for (const each of WAYS) {
    const count = (changes[`flows[${each}load].count`] = Math.min(line[way].flows[each], MOST_FLOWS));
    if (count && controller && controllers.includes(controller)) {
      changes[`flows[${each}load].tcp.congestion_control`] = controller;
    }
  }
  return changes;
}

/** The experiment of `dumbbell twin`'s twin.json, which is checked: anybody may have written it.
 * @param {string} source @param {any} twin @param {object} template @returns {OwnLine[]} */
function ofTwin(source, twin, template) {
  const { rtt_ns } = twin.line ?? {};
  if (!isWithin(rtt_ns, RTT_NS)) throw new UnreadFile(`${source} is not read: no twin with a round trip.`);
  const resolved = clone(template);
  setDelay(resolved, rtt_ns);
  /** @type {Record<string, Value>} */
  const changes = {};
  for (const way of WAYS) {
    const { rate_bps, model, size } = twin.line[way] ?? {};
    const isLine = isWithin(rate_bps, RATE_BPS) && isWithin(size, SIZE) && Object.hasOwn(MODELS, model);
    if (!isLine) throw new UnreadFile(`${source} is not read: no twin with a rate and a discipline ${way}.`);
    const end = resolved.links[LINKS.line][ENDS[way]];
    const path = `links[${LINKS.line}].${ENDS[way]}`;
    end.rate_bps = model === "police" ? 0 : Math.round(rate_bps);
    changes[`${path}.${model === "police" ? "police" : "qdisc"}`] = MODELS[model](Math.round(size), Math.round(rate_bps));
  }
  const trust = String(twin.trust ?? "").slice(0, MOST_TRUST_LETTERS);
  const question = `The twin of dumbbell twin in ${source}: what it was not fitted to, it ${trust === "predicts" ? "predicts" : `does not predict (${trust})`}. Which buffer would a call need?`;
  return WAYS.map((way) => ({ ...common(source, way, question, changes), resolved }));
}

/** Disciplines of a twin in the words of tc: of a size in bytes, or a target in ns.
 * @type {Record<string, (size: number, rate_bps: number) => string>} */
const MODELS = {
  bfifo: (bytes) => `bfifo limit ${bytes}b`,
  codel: (ns) => `codel target ${us(ns)}us interval ${interval(ns)}us`,
  pie: (ns) => `pie target ${us(ns)}us`,
  fq_codel: (ns) => `fq_codel target ${us(ns)}us interval ${interval(ns)}us`,
  police: (bytes, rate_bps) => `police rate ${rate_bps}bit burst ${bytes}b drop`,
};

/** @param {string} name @param {Way} way @param {string} question @param {Record<string, Value>} changes */
function common(name, way, question, changes) {
  return { id: `own-line-${way}`, title: `${name}, ${way}`, group: GROUP, isOwn: true, question, queue: QUEUES[way], changes };
}

const us = (/** @type {number} */ ns) => Math.floor(ns / 1000);
/** CoDel's interval: 100 ms, or twenty targets if larger (RFC 8289 section 4.3). */
const interval = (/** @type {number} */ ns) => Math.max(100_000, 20 * us(ns));
const mbit = (/** @type {number} */ bps) => String(Number((bps / 1e6).toPrecision(4)));
const ms = (/** @type {{rate_bps: number, buffer_bytes: number}} */ end) => String(Number(((8e3 * end.buffer_bytes) / end.rate_bps).toPrecision(3)));
/** A word of a shell. */
const quoted = (/** @type {string} */ name) => (/^[\w.][\w.+-]*$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
/** @param {unknown} value @param {{least: number, most: number}} range */
const isWithin = (value, { least, most }) => typeof value === "number" && value >= least && value <= most;
/** @param {object} value @returns {any} */
const clone = (value) => JSON.parse(JSON.stringify(value));

/** @param {any} resolved @param {number} rtt_ns */
function setDelay(resolved, rtt_ns) {
  const link = resolved.links[LINKS.delay];
  link.forward.delay_ns = link.reverse.delay_ns = Math.round(rtt_ns / 2);
}
