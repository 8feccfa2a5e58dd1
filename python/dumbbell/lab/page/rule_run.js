// The worker of a rule: it contains the simulator, which calls the rule at each event of its flows. The
// arguments, their order and the codes of events are defined in lab/src/rule.rs.
import { closeOff } from "./closed.js";
import { Engine, Problem } from "./engine.js";
import { seriesOf } from "./series.js";

/** Events between two readings of the clock, and interval of progress messages, ms. */
const EVENTS_A_PIECE = 2000;
const PICTURE_MS = 60;
/** Maximum length of an error message, characters. */
const LONGEST_WORDS = 300;
/** Indices of state used by the worker: whether the connection has begun, and its window. */
const OWN_NUMBERS = 2;
const MOST_STATE_NUMBERS = 62;

/**
 * Definitions of a rule's text.
 * @typedef {{functions: Record<string, unknown>, state: unknown, owns_recovery: unknown, wants_pacing: unknown}} Defined
 */

/** Reading or setting an undefined property is an error.
 * @param {string} name */
function strict(name) {
  return new Proxy(Object.create(null), {
    get: (_, key) => {
      if (typeof key === "symbol") return undefined;
      throw new TypeError(`${name} has no ${key.slice(0, 40)}`);
    },
    set: (_, key) => {
      throw new TypeError(`${name} has no ${String(key).slice(0, 40)} to set`);
    },
  });
}

/** @param {unknown} value */
function shown(value) {
  if (value === null || ["number", "undefined", "boolean"].includes(typeof value)) return String(value);
  return `a ${typeof value}`;
}

/** The window object of a rule: numbers are checked when they are set.
 * @param {string[]} names @param {number[]} held */
function windowOf(names, held) {
  const made = Object.create(strict("w"));
  names.forEach((name, place) => {
    const set = (/** @type {unknown} */ value) => {
      if (typeof value !== "number" || Number.isNaN(value)) throw new TypeError(`w.${name} = ${shown(value)}: a number is needed`);
      held[place] = value;
    };
    const isSet = place < names.length - 1;
    Object.defineProperty(made, name, { get: () => held[place], set: isSet ? set : undefined, enumerable: true });
  });
  return Object.freeze(made);
}

/** An event object of a rule, and the location of its numbers.
 * @param {string} called @param {string[]} fields */
function eventOf(called, fields) {
  const made = Object.create(strict(called));
  const places = fields.map((field) => {
    const [inside, key] = field.includes(".") ? field.split(".") : ["", field];
    let into = made;
    if (inside !== "") {
      if (!Object.hasOwn(made, inside)) Object.defineProperty(made, inside, { value: Object.create(strict(`${called}.${inside}`)) });
      into = made[inside];
    }
    Object.defineProperty(into, key, { value: 0, writable: true, enumerable: true });
    return { into, key, isTruth: key.startsWith("is_") };
  });
  return { made, places };
}

/** The rule, as called by the simulator. */
class Rule {
  /** @param {Defined} defined */
  constructor({ functions, state, owns_recovery, wants_pacing }) {
    /** @type {Record<string, Function>} */
    this.functions = {};
    for (const [name, each] of Object.entries(functions)) {
      if (each === undefined) continue;
      if (typeof each !== "function") throw new TypeError(`${name} is ${shown(each)}: a function is needed`);
      this.functions[name] = each;
    }
    for (const name of ["on_ack", "on_loss"]) {
      if (!this.functions[name]) throw new TypeError(`there is no function ${name}: a rule needs on_ack and on_loss`);
    }
    if (state !== undefined && (typeof state !== "object" || state === null)) {
      throw new TypeError(`state is ${shown(state)}: const state = { name: number } is needed`);
    }
    this.state = /** @type {Record<string, unknown>} */ (Object.seal(Object.setPrototypeOf(state ?? {}, strict("state"))));
    this.keys = Object.keys(this.state);
    if (this.keys.length > MOST_STATE_NUMBERS) throw new TypeError(`state has ${this.keys.length} numbers: at most ${MOST_STATE_NUMBERS}`);
    this.initial = this.keys.map((key) => this.#number(key));
    this.owns_recovery = owns_recovery === true;
    this.wants_pacing = wants_pacing === true;
  }

  /** @param {string} key */
  #number(key) {
    const value = this.state[key];
    if (typeof value !== "number") throw new TypeError(`state.${key} is ${shown(value)}: a number is needed`);
    return value;
  }

  /** Properties that the simulator needs.
   * @param {string} group */
  described(group) {
    const { owns_recovery, wants_pacing } = this;
    return { group, heeds: Object.keys(this.functions), state_numbers: OWN_NUMBERS + this.keys.length, owns_recovery, wants_pacing };
  }

  /** The function that the simulator calls.
   * @param {any} fields the event's numbers @param {() => ArrayBuffer} memory */
  heed(fields, memory) {
    /** @type {number[]} */
    const held = fields.window.map(() => 0);
    const window = windowOf(fields.window, held);
    const told = fields.order.map((/** @type {string} */ name) => ({
      name, ask: this.functions[name], ...eventOf(name === "on_ack" ? "ack" : name === "on_rtt" ? "sample" : "now", fields.events[name]),
    }));
    const { state, keys, initial } = this;
    return (/** @type {number} */ event, /** @type {number} */ at, /** @type {number} */ count) => {
      const { ask, made, places } = told[event];
      const numbers = new Float64Array(memory(), at, count);
      held.forEach((_, i) => (held[i] = numbers[i]));
      const first = held.length + places.length;
      const hasBegun = numbers[first] === 1;
      // The sender uses whole packets; the rule keeps the fraction until another party sets the window.
      if (hasBegun && Math.floor(numbers[first + 1]) === held[0]) held[0] = numbers[first + 1];
      keys.forEach((key, i) => (state[key] = hasBegun ? numbers[first + OWN_NUMBERS + i] : initial[i]));
      places.forEach((/** @type {any} */ { into, key, isTruth }, /** @type {number} */ i) => {
        const number = numbers[held.length + i];
        into[key] = isTruth ? number !== 0 : number;
      });
      ask(window, made);
      const after = new Float64Array(memory(), at, count);
      held.forEach((number, i) => (after[i] = number));
      [after[first], after[first + 1]] = [1, held[0]];
      keys.forEach((key, i) => (after[first + OWN_NUMBERS + i] = this.#number(key)));
    };
  }
}

/** Message and line of an exception of a rule; accessing it may throw again.
 * @param {unknown} thrown @param {number} before number of lines before the rule's text @param {number} lines of the rule */
function wrong(thrown, before, lines) {
  let [words, line] = ["the rule threw what cannot be shown", 0];
  try {
    words = String(thrown).slice(0, LONGEST_WORDS);
    const stack = thrown instanceof Error ? String(thrown.stack) : "";
    const places = [...stack.matchAll(/:(\d+):\d+\)?$/gm)].map((found) => Number(found[1]) - before);
    line = places.find((place) => place >= 1 && place <= lines) ?? 0;
  } catch {
    line = 0;
  }
  return { kind: "wrong", words, line };
}

/** Isolates the worker; the result takes the rule, which is defined by calling `define`. */
export function closed() {
  const say = postMessage.bind(globalThis);
  const clock = performance;
  /** @type {(order: any) => void} */
  let heard = () => undefined;
  addEventListener("message", ({ data }) => heard(data));
  // Unhandled rejections of a rule's promises are ignored.
  addEventListener("unhandledrejection", (event) => event.preventDefault());
  /** @type {Engine | null} */
  let engine = null;
  closeOff({
    /** A random integer from 0 to n - 1, from the run's seed. */
    below: (/** @type {number} */ n) => engine?.exports.below(n) ?? 0,
    /** `dumbbell_cc_slow_start`. */
    slow_start: (/** @type {any} */ w, /** @type {number} */ acked_pkts) => {
      const grown = w.cwnd_pkts + acked_pkts;
      w.cwnd_pkts = Math.min(grown, w.ssthresh_pkts);
      return grown - w.cwnd_pkts;
    },
    /** `dumbbell_cc_grow_by_one_per`. */
    grow_by_one_per: (/** @type {any} */ w, /** @type {number} */ per_pkts, /** @type {number} */ acked_pkts) => {
      const per = Math.max(1, Math.floor(per_pkts));
      let acked = w.acked_since_growth_pkts;
      if (acked >= per) {
        acked = 0;
        w.cwnd_pkts += 1;
      }
      acked += acked_pkts;
      w.cwnd_pkts += Math.floor(acked / per);
      w.acked_since_growth_pkts = acked % per;
    },
  });

  /** @param {Rule} rule @param {any} order @param {(thrown: unknown) => void} failed */
  async function run(rule, { module, order }, failed) {
    let ask = /** @type {(event: number, at: number, count: number) => void} */ (() => undefined);
    const heed = (/** @type {number} */ event, /** @type {number} */ at, /** @type {number} */ count) => {
      try {
        ask(event, at, count);
      } catch (error) {
        failed(error);
        throw error;
      }
    };
    const made = await Engine.from(module, heed);
    engine = made;
    ask = rule.heed(made.ask({ do: "rule_fields" }), () => made.exports.memory.buffer);
    made.ask({ do: "load", resolved: order.resolved });
    const described = made.ask({ do: "change", changes: order.changes });
    made.ask({ do: "begin", replication: order.replication, rule: rule.described(order.group) });
    // In one turn: callbacks deferred by the rule do not run between two events.
    let shown = clock.now();
    while (made.advance(EVENTS_A_PIECE)) {
      if (clock.now() - shown < PICTURE_MS) continue;
      const { now_ns } = made.ask({ do: "peek" });
      say({ kind: "soFar", now_ns, series: seriesOf(made, described, order.queue, now_ns) });
      shown = clock.now();
    }
    const { digest, events, numbers } = made.ask({ do: "finish", queue: order.queue });
    say({ kind: "done", digest, events, numbers, series: seriesOf(made, described, order.queue) });
  }

  return (/** @type {() => Defined} */ define, /** @type {number} */ before, /** @type {number} */ lines) => {
    try {
      const rule = new Rule(define());
      /** @type {any} */
      let told = null;
      const failed = (/** @type {unknown} */ thrown) => (told ??= wrong(thrown, before, lines));
      heard = (order) => {
        run(rule, order, failed).catch((error) => {
          if (told) say(told);
          else if (error instanceof Problem) say({ kind: "problem", parts: error.parts });
          else say({ kind: "fault", text: String(error).slice(0, LONGEST_WORDS) });
        });
      };
      say({ kind: "ready" });
    } catch (error) {
      say(wrong(error, before, lines));
    }
  };
}
