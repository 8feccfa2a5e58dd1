// The adjustable parameters of an experiment, found in its description.
import { endOf, endPath, members } from "./ends.js";
import { ofSource } from "./sources.js";
import { hasOwnDelay, traceControls } from "./trace_controls.js";
import { rateText, timeText } from "./words.js";

const NS_PER_S = 1e9;
const RATE = { least: 1e5, most: 1e9 };
const ROUND_TRIP_MS = { least: 0.2, most: 500 };
const MOST_FLOWS = 100;
/** Groups of flows whose controls are shown at once. */
const MOST_SHOWN = 12;

/**
 * @typedef {{id: string, label: string, kind: "slider" | "text" | "select" | "number",
 *   paths: string[], read: (described: any) => number | string | null,
 *   changes: (value: any, described: any) => [string, string | number | boolean | null][],
 *   least?: number, most?: number, digits?: number, words?: (value: any, described: any) => string,
 *   options?: string[], hides?: boolean, stops?: (number | null)[], chips?: (number | string | null)[],
 *   chipWords?: (value: any) => string, effect?: string, isFolded?: boolean}} Control a control that hides is invisible if there is nothing to
 *   change; stops are the slider's positions, chips the usual values
 * @typedef {{names: string[], controls: () => Control[]}} OtherGroups groups of flows whose controls are made when
 *   they are asked for
 */

/** @param {number} queue @returns {Control} */
function rate(queue) {
  const path = `${endPath(queue)}.rate_bps`;
  return {
    id: "rate", label: "Rate of the link", kind: "slider", paths: [path], ...RATE,
    read: (described) => endOf(described, queue).rate_bps || null,
    changes: (value) => [[path, Math.round(value)]],
    words: rateText,
  };
}

/** Delays of the other links on the first flow's path, round trip, ns.
 * @param {any} described @param {number} queue */
function othersNs(described, queue) {
  const links = new Set((described.ways[0] ?? []).map((/** @type {number} */ each) => each >> 1));
  links.delete(queue >> 1);
  const both = (/** @type {any} */ link) => link.forward.delay_ns + link.reverse.delay_ns;
  return [...links].reduce((sum, link) => sum + both(described.resolved.links[link]), 0);
}

/** Base round-trip time of a flow's path, ms.
 * @param {any} described @param {number} flow its place */
export function baseRttMs(described, flow) {
  const links = new Set(described.ways[flow].map((/** @type {number} */ each) => each >> 1));
  const both = (/** @type {any} */ link) => link.forward.delay_ns + link.reverse.delay_ns;
  return [...links].reduce((sum, link) => sum + both(described.resolved.links[link]), 0) / 1e6;
}

/** @param {number} queue @returns {Control} */
function roundTrip(queue) {
  const link = `links[${queue >> 1}]`;
  const paths = [`${link}.forward.delay_ns`, `${link}.reverse.delay_ns`];
  return {
    id: "round-trip", label: "Round-trip time without queues", kind: "slider", paths,
    ...ROUND_TRIP_MS,
    effect: "From sending a packet to hearing that it arrived",
    read: (described) => {
      const { forward, reverse } = described.resolved.links[queue >> 1];
      return (othersNs(described, queue) + forward.delay_ns + reverse.delay_ns) / 1e6;
    },
    changes: (ms, described) => {
      const own_us = Math.max(0, ms * 1000 - othersNs(described, queue) / 1000);
      const half_ns = Math.max(1, Math.round(own_us / 2)) * 1000;
      return paths.map((path) => [path, half_ns]);
    },
    words: (ms) => timeText(ms / 1000),
  };
}

/** @param {number} queue @param {string[]} examples @returns {Control} */
function discipline(queue, examples) {
  const path = `${endPath(queue)}.qdisc`;
  return {
    id: "qdisc", label: "Discipline, as typed to tc", kind: "text", paths: [path], chips: examples,
    effect: "Which packet waits, leaves next or is dropped, as tc(8) sets it on a Linux router",
    read: (described) => described.qdiscs[queue], changes: (text) => [[path, text]],
  };
}

/** @param {number} queue @returns {Control} */
function policer(queue) {
  const path = `${endPath(queue)}.police`;
  return {
    id: "police", label: "Policer before the queue, or none", kind: "text", paths: [path],
    effect: "Drops what comes without a token, where a shaper makes it wait",
    read: (described) => described.polices[queue] ?? "none", changes: (text) => [[path, text]],
  };
}

/** Controls of equal flows.
 * @param {any} base @param {string} name @param {string[]} controllers
 * @param {number} queue @returns {Control[]} */
function ofGroup(base, name, controllers, queue) {
  const [first] = members(base, name);
  const count = `flows[${name}].count`;
  /** @type {Control[]} */
  const found = [{
    id: `count-${name}`, label: `${name}: how many`, kind: "number", paths: [count], least: 0,
    most: MOST_FLOWS, read: (described) => members(described, name).length,
    changes: (value) => [[count, Math.round(value)]],
  }];
  if (first.tcp) {
    const path = `flows[${name}].tcp.congestion_control`;
    found.push({
      id: `controller-${name}`, label: `${name}: congestion control`, kind: "select", paths: [path],
      effect: "The rule by which a sender sets its window: how much it may have under way",
      options: controllers, changes: (value) => [[path, value]], hides: true,
      read: (described) => members(described, name)[0]?.tcp.congestion_control ?? null,
    });
  }
  return [...found, ...ofSource(base, name, queue)];
}

/** @param {string} id @param {string} label @param {string} path @param {string} key
 * @param {number} most @returns {Control} */
function seconds(id, label, path, key, most) {
  return {
    id, label, kind: "slider", paths: [path], least: most / 1000, most,
    read: (described) => described.resolved[key] / NS_PER_S,
    changes: (s) => [[path, Math.round(s * 1000) * 1_000_000]], words: timeText,
  };
}

/**
 * @param {any} base as loaded
 * @param {number} queue the observed one
 * @param {{controllers: string[], examples: string[]}} known
 * @returns {{link: Control[], traffic: Control[], run: Control[], others: OtherGroups}} controls of the first
 *   `MOST_SHOWN` groups of flows, and the other groups
 */
export function controlsOf(base, queue, { controllers, examples }) {
  const names = /** @type {string[]} */ ([...new Set(base.groups)]);
  const ofGroups = (/** @type {string[]} */ some) => some.flatMap((name) => ofGroup(base, name, controllers, queue));
  const others = names.slice(MOST_SHOWN);
  const trips = hasOwnDelay(base, queue) ? [roundTrip(queue)] : [];
  const link = [...traceControls(base, queue), ...trips, discipline(queue, examples), policer(queue)];
  const run = [
    seconds("duration", "Length of the run", "duration_ns", "duration_ns", 1000),
    /** @type {Control} */ ({
      id: "seed", label: "Seed", kind: "number", paths: ["seed"], least: 0, most: 2 ** 31,
      read: (described) => described.resolved.seed, changes: (value) => [["seed", Math.round(value)]],
    }),
  ];
  return {
    link: endOf(base, queue).rate_bps ? [rate(queue), ...link] : link,
    traffic: ofGroups(names.slice(0, MOST_SHOWN)),
    run,
    others: { names: others, controls: () => ofGroups(others) },
  };
}
