// The level of a token bucket in a window, from all packets that consumed tokens since the start of the
// run.
import { bucketOf, levels, outline } from "../live/tokens.js";
import { endOf } from "./ends.js";
import { isDequeue, isEntry, isPoliced, isRefused } from "./packets.js";

const NS_PER_S = 1e9;
/** Pieces of a line's axis, each with at most four points. */
const PIECES = 400;

/**
 * The bucket in a window, in bytes of tokens: depth, rate, level, longest packet, and times of a policer's
 * drops.
 * @typedef {{burst_bytes: number, rate_bps: number, isPolicer: boolean, t_s: Float64Array, bytes: Float64Array,
 *   packet_bytes: number, dropped_s: Float64Array}} Seen
 */

/** Tokens of a queue's bucket, computed from records that arrive in pieces. */
export class TokensSeen {
  /** @param {any} described @param {number} queue @param {{from_ns: number, until_ns: number}} window
   * @returns {TokensSeen | null} null without a bucket: neither a policer nor tbf */
  static of(described, queue, window) {
    const end = endOf(described, queue);
    return end.police || end.qdisc.kind === "tbf" ? new TokensSeen(bucketOf(end), window) : null;
  }

  /** @param {ReturnType<typeof bucketOf>} bucket @param {{from_ns: number, until_ns: number}} window */
  constructor(bucket, { from_ns, until_ns }) {
    this.bucket = bucket;
    this.from_ns = from_ns;
    this.until_ns = until_ns;
    this.since = { t_ns: 0, tokens_ns: bucket.depth_ns };
    /** Vertices of the line in the window.
     * @type {{t_ns: number[], tokens_ns: number[]}} */
    this.line = { t_ns: [], tokens_ns: [] };
    /** @type {number[]} */
    this.dropped_s = [];
    this.packet_bytes = 0;
  }

  /** Adds the records that a run has so far.
   * @param {import("./engine.js").Engine} engine */
  enter(engine) {
    const [times, events, reasons, sizes] = ["t_ns", "event", "reason", "bytes"].map((name) => engine.column(`packets.${name}`));
    const { isPolicer } = this.bucket;
    /** @type {number[]} */
    const taken = [];
    for (let i = 0; i < times.length && times[i] <= this.until_ns; i++) {
      // A policer consumes tokens on arrival, also for a packet that the queue behind it drops.
      const takes = isPolicer
        ? isEntry(events[i]) || (isRefused(events[i], reasons[i]) && !isPoliced(reasons[i]))
        : isDequeue(events[i]);
      if (takes) taken.push(i);
      if (times[i] < this.from_ns) continue;
      this.packet_bytes = Math.max(this.packet_bytes, sizes[i]);
      if (isPolicer && isRefused(events[i], reasons[i]) && isPoliced(reasons[i])) this.dropped_s.push(times[i] / NS_PER_S);
    }
    this.#advance(taken.map((i) => times[i]), taken.map((i) => sizes[i]), times.at(-1) ?? this.since.t_ns);
  }

  /** @param {number[]} times_ns @param {number[]} bytes @param {number} until_ns */
  #advance(times_ns, bytes, until_ns) {
    const to_ns = Math.max(this.since.t_ns, Math.min(until_ns, this.until_ns));
    const { t_ns, tokens_ns } = levels(this.bucket, times_ns, bytes, to_ns, this.since);
    this.since = { t_ns: t_ns[t_ns.length - 1], tokens_ns: tokens_ns[tokens_ns.length - 1] };
    // Includes the vertex before the window, where the line starts.
    const first = t_ns.findIndex((each) => each >= this.from_ns);
    if (first < 0) return;
    this.line.t_ns.push(...t_ns.slice(Math.max(0, first - 1)));
    this.line.tokens_ns.push(...tokens_ns.slice(Math.max(0, first - 1)));
  }

  /** @returns {Seen} */
  seen() {
    this.#advance([], [], this.until_ns);
    const { rate_bps, burst_bytes, isPolicer } = this.bucket;
    const { x, y } = outline(this.line.t_ns, this.line.tokens_ns, this.from_ns, this.until_ns, PIECES);
    return {
      burst_bytes, rate_bps, isPolicer, packet_bytes: this.packet_bytes,
      t_s: Float64Array.from(x, (each) => each / NS_PER_S),
      bytes: Float64Array.from(y, (each) => (each * rate_bps) / (8 * NS_PER_S)),
      dropped_s: Float64Array.from(this.dropped_s),
    };
  }
}
