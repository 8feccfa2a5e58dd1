// Packets in queue and transmission by groups of flows, at given instants.
import { isEntry, isExit } from "./packets.js";

const NS_PER_S = 1e9;
/** Group of packets without a flow, such as pings. */
export const OTHERS = "others";

/**
 * @typedef {{t_s: Float64Array, groups: {name: string, pkts: Float64Array}[]}} Stacked
 */

/** Computed from all records of a run, of one queue, in pieces. */
export class Stack {
  /** @param {string[]} groups of each flow @param {number[]} instants_ns in their order */
  constructor(groups, instants_ns) {
    this.groups = groups;
    this.instants_ns = instants_ns;
    this.names = [...new Set(groups), OTHERS];
    this.levels = this.names.map(() => 0);
    this.found = this.names.map(() => new Float64Array(instants_ns.length));
    this.next = 0;
  }

  /** Instants before a time get the current levels.
   * @param {number} t_ns */
  #reach(t_ns) {
    for (; this.next < this.instants_ns.length && this.instants_ns[this.next] < t_ns; this.next++) {
      this.found.forEach((own, i) => (own[this.next] = this.levels[i]));
    }
  }

  /** Adds the records that a run has so far.
   * @param {import("./engine.js").Engine} engine */
  enter(engine) {
    const [times, events, reasons, flows] = ["t_ns", "event", "reason", "flow"].map((name) =>
      engine.column(`packets.${name}`),
    );
    for (let i = 0; i < times.length; i++) {
      this.#reach(times[i]);
      const place = this.names.indexOf(this.groups[flows[i]] ?? OTHERS);
      if (isEntry(events[i])) this.levels[place] += 1;
      else if (isExit(events[i], reasons[i])) this.levels[place] -= 1;
    }
  }

  /** @returns {Stacked} groups with packets at some instant */
  stacked() {
    this.#reach(Infinity);
    const all = this.names.map((name, i) => ({ name, pkts: this.found[i] }));
    return {
      t_s: Float64Array.from(this.instants_ns, (each) => each / NS_PER_S),
      groups: all.filter(({ pkts }) => pkts.some((each) => each > 0)),
    };
  }
}
