// Background replications of a live figure, one after the other: the interval of each number narrows as
// they finish.
import { interval } from "../page/intervals.js";

/** Number of runs in the mean, including the run in the pictures. */
export const REPLICATIONS = 30;
/** After this number of identical results, the experiment is taken to be deterministic. */
const ALIKE = 3;
/** The interval of two runs is too wide to be useful. */
export const LEAST_RUNS = 3;
/** Time without changes after which they start, ms. */
const IDLE_MS = 400;

/**
 * Results of the runs so far, by number of the form; NaN where a run has none.
 * @typedef {Record<string, number[]>} Drawn
 *
 * The experiments to run: arms in their order.
 * @typedef {{form: string, options: Record<string, any>,
 *   arms: {resolved: any, changes: object[], queues: number[]}[]}} Asked
 */

/** A simulator is created when it is first needed. */
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

  /** Number of runs. */
  get runs() {
    return Math.max(0, ...this.drawn.flatMap((each) => Object.values(each).map((values) => values.length)));
  }

  /** Whether all gave the same result. */
  get areAlike() {
    const isSame = (/** @type {number[]} */ values) => values.every((each) => Object.is(each, values[0]));
    return this.runs >= ALIKE && this.drawn.every((each) => Object.values(each).every(isSame));
  }

  /** Discards results, because the experiment has changed. */
  stop() {
    clearTimeout(this.idle);
    this.drawn = [];
    if (this.isGoing) this.bench?.send("stop", {});
    this.isGoing = false;
  }

  /** Continues from the runs shown, after a time without changes.
   * @param {Asked} asked @param {Record<string, number>[]} first numbers of replication 0, by arm */
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

/** Mean and half-width of the interval of a number, if every run has it.
 * @param {Drawn} drawn @param {string} number */
export function intervalOf(drawn, number) {
  const values = drawn[number] ?? [];
  const isKnown = values.length >= LEAST_RUNS && values.every(Number.isFinite);
  return isKnown ? interval(values) : { mean: NaN, half: NaN };
}
