// The reader's settings in each step, their changes to the description, and results of a run as text.
import { sensible } from "../page/words.js";

/** Index of the call among the flows. */
export const CALL = 0;
export const BOTTLENECK = { queue: "queue", lanes: "lanes", policer: "policer" };
/** Rate of the line, bit/s, and base round-trip time, ms. */
export const RATE_BPS = 20e6;
export const WAY_MS = 60;
/** One-way delay that is not noticeable, and that is too long for conversation (ITU-T G.114, clause 5). */
const EASY_MS = 150;
export const LATE_MS = 400;
/** Share of the call's packets lost above which the call breaks up. */
const LOST = 0.02;
/** Utilization of the line below which it is called idle. */
const BUSY = 0.9;
const NS_PER_MS = 1e6;
/** Number of downloads; a single one is possible. */
const SHARE = /\[download(-1)?\]\.capacity_share$/;

/**
 * @typedef {{downloads: number, bottleneck: string, limit_pkts: number, burst_kb: number, rate_bps: number}} Setting
 * @typedef {{mean_ms: number, longest_ms: number, lost: number, share: number}} Outcome
 */

/** @param {Partial<Setting>} some @returns {Setting} */
export function setting(some = {}) {
  return { downloads: 1, bottleneck: BOTTLENECK.queue, limit_pkts: 1000, burst_kb: 50, rate_bps: RATE_BPS, ...some };
}

/** The changes for the simulator.
 * @param {Setting} setting @param {number} queue */
export function changesOf({ downloads, bottleneck, limit_pkts, burst_kb }, queue) {
  const end = `links[${queue >> 1}].${queue & 1 ? "reverse" : "forward"}`;
  const isPoliced = bottleneck === BOTTLENECK.policer;
  const policed = [
    { path: `${end}.rate_bps`, value: 5 * RATE_BPS },
    { path: `${end}.police`, value: `police rate ${RATE_BPS / 1e6}mbit burst ${burst_kb}kb drop` },
  ];
  return [
    { path: `${end}.qdisc`, value: bottleneck === BOTTLENECK.lanes ? "fq_codel" : `pfifo limit ${limit_pkts}` },
    ...(isPoliced ? policed : []),
    // Last: a path into an empty group is invalid.
    { path: "flows[download].count", value: downloads },
  ];
}

/** Results for the call and the downloads, after the warm-up.
 * @param {import("../page/packets.js").Columns} packets @param {any} described
 * @param {{path: string, value: number | null}[]} numbers @returns {Outcome} */
export function outcomeOf({ in_ns, out_ns, flow, drop }, described, numbers) {
  const { warm_up_ns } = described.resolved;
  let [sent, lost, left, sum_ms, longest_ms] = [0, 0, 0, 0, 0];
  for (let i = 0; i < in_ns.length; i++) {
    if (flow[i] !== CALL || in_ns[i] < warm_up_ns) continue;
    sent += 1;
    const wait_ms = (out_ns[i] - in_ns[i]) / NS_PER_MS;
    if (drop[i]) lost += 1;
    else if (Number.isFinite(wait_ms)) {
      left += 1;
      sum_ms += wait_ms;
      longest_ms = Math.max(longest_ms, wait_ms);
    }
  }
  const share = numbers.find(({ path }) => SHARE.test(path))?.value ?? 0;
  return { mean_ms: sum_ms / left, longest_ms, lost: lost / sent, share };
}

/** @param {number} ms */
export function waitText(ms) {
  return ms < 1 ? "under 1 ms" : `${sensible(ms, ms < 100 ? 2 : 3)} ms`;
}

/** @param {Outcome} outcome @returns {{name: string, words: string}} */
export function verdict({ mean_ms, lost }) {
  if (mean_ms + WAY_MS > LATE_MS) return { name: "dead", words: "dead" };
  if (lost >= LOST) return { name: "bad", words: "breaks up" };
  if (mean_ms + WAY_MS > EASY_MS) return { name: "bad", words: "late" };
  return { name: "good", words: "fine" };
}

/** @param {number} share */
function percent(share) {
  return `${sensible(100 * share, 2)} %`;
}

/** @param {Outcome} outcome */
function lossWords({ lost }) {
  return lost >= 0.005 ? `, and loses ${percent(lost)} of its packets` : "";
}

/** Sentences of each step about a finished run, by the step's name.
 * @type {Record<string, (setting: Setting, outcome: Outcome) => string>} */
export const ANSWERS = {
  fill: ({ downloads }, found) => (downloads
    ? "The queue filled, and your call is dead: up to 1,000 packets stand in front of each of its own."
    : `No download, no queue: your call waits ${waitText(found.mean_ms)}.`),
  bet: () => "",
  wall: (set, found) => {
    const wait = `Behind ${set.limit_pkts} packets your call waits ${waitText(found.mean_ms)}${lossWords(found)}`;
    return found.share < BUSY
      ? `${wait}, but the link idles: the download gets ${percent(found.share)} of it.`
      : `${wait}. The download has its ${percent(found.share)} of the link.`;
  },
  more: (set, found) =>
    `${set.downloads} download${set.downloads === 1 ? "" : "s"}, wall at ${set.limit_pkts}: your call waits ` +
    `${waitText(found.mean_ms)}${lossWords(found)}.${found.share < BUSY ? ` The link idles: ${percent(found.share)}.` : ""}`,
  lanes: (set, found) => (set.bottleneck === BOTTLENECK.lanes
    ? `In a lane of its own your call waits ${waitText(found.mean_ms)}${lossWords(found)}; the downloads get ${percent(found.share)} of the link.`
    : `In one queue your call waits ${waitText(found.mean_ms)}${lossWords(found)}.`),
  policer: (set, found) =>
    `Your call waits ${waitText(found.mean_ms)}${lossWords(found)}. The download pays: it gets ${percent(found.share)} ` +
    `of the rate with a bucket of ${set.burst_kb} kB.`,
};
