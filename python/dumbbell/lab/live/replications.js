// Replications of what a live figure shows, one after the other in the background: each number gets an
// interval that narrows as they come.
import { interval } from "../page/intervals.js";

/** Runs whose mean is shown, the one that the pictures show among them. */
export const REPLICATIONS = 30;
/** After so many that gave the same to the last digit nothing in them is random. */
const ALIKE = 3;
/** The interval of two says next to nothing. */
export const LEAST_RUNS = 3;
/** They begin when nothing was moved for so long, ms. */
const IDLE_MS = 400;

/**
 * Number of the form to what the runs so far gave for it; NaN where a run has none.
 * @typedef {Record<string, number[]>} Drawn
 *
 * What there is to be run: arms in their order.
 * @typedef {{form: string, options: Record<string, any>,
 *   arms: {resolved: any, changes: object[], queues: number[]}[]}} Asked
 */

/** A simulator is made when it is needed first. */
export class Replications {
  /** @param {(hear: (message: any) => void) => import("../page/orders.js").Bench} makeBench
   * @param {() => void} changed */
  constructor(makeBench, changed) {
    this.makeBench = makeBench;
    this.changed = changed;
    /** @type {import("../page/orders.js").Bench | null} */ this.bench = null;
    /** @type {Drawn[]} */ this.drawn = [];
    this.idle = 0;
    this.isGoing = false;
  }

  /** Runs that there are. */
  get runs() {
    return Math.max(0, ...this.drawn.flatMap((each) => Object.values(each).map((values) => values.length)));
  }

  /** Whether they have all given the same. */
  get areAlike() {
    const isSame = (/** @type {number[]} */ values) => values.every((each) => Object.is(each, values[0]));
    return this.runs >= ALIKE && this.drawn.every((each) => Object.values(each).every(isSame));
  }

  /** What was run is of something else now. */
  stop() {
    clearTimeout(this.idle);
    this.drawn = [];
    if (this.isGoing) this.bench?.send("stop", {});
    this.isGoing = false;
  }

  /** Goes on from the runs that are shown, when nothing was moved for a while.
   * @param {Asked} asked @param {Record<string, number>[]} first of replication 0, by arm */
  soon(asked, first) {
    this.stop();
    this.drawn = first.map(() => ({}));
    this.#enter(first);
    this.idle = window.setTimeout(() => {
      this.bench ??= this.makeBench((message) => this.#heard(message));
      this.bench.send("replicate", { ...asked, from: 1, until: REPLICATIONS });
      this.isGoing = true;
    }, IDLE_MS);
  }

  /** @param {Record<string, number>[]} numbers by arm */
  #enter(numbers) {
    numbers.forEach((own, arm) => {
      for (const [name, value] of Object.entries(own)) (this.drawn[arm][name] ??= []).push(value);
    });
  }

  /** @param {any} message */
  #heard(message) {
    if (message.kind !== "replicated" || !this.isGoing) return;
    this.#enter(message.numbers);
    if (this.areAlike) this.bench?.send("stop", {});
    this.isGoing = this.runs < REPLICATIONS && !this.areAlike;
    this.changed();
  }
}

/** Mean and half of the interval of a number, where every run has one.
 * @param {Drawn} drawn @param {string} number */
export function intervalOf(drawn, number) {
  const values = drawn[number] ?? [];
  const isKnown = values.length >= LEAST_RUNS && values.every(Number.isFinite);
  return isKnown ? interval(values) : { mean: NaN, half: NaN };
}
