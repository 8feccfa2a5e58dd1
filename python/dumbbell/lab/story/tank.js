// The queue as a picture: a funnel of packets behind a wall, lanes, or a token bucket without a queue.
import { colour, prepared } from "../page/plot.js";
import { Funnel } from "./funnel.js";
import { BOTTLENECK, CALL } from "./scenes.js";

const NS_PER_S = 1e9;
/** Seconds of real time from the edge to the queue, from the exit to the edge, and of falling. */
const APPROACH_S = 0.6;
const LEAVE_S = 0.5;
const FALL_S = 0.7;
/** Largest square of a packet in a lane, px. */
const LANE_PX = 14;
const INKS = ["--blue", "--sky"];

/** @typedef {import("../page/packets.js").Columns} Columns */

/** First index whose value is larger.
 * @param {Float64Array} sorted @param {number} value */
function placeAfter(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Tokens of the bucket after each packet, bytes; a dropped packet consumes none.
 * @param {Columns} packets @param {number} rate_bps @param {number} burst_bytes */
function tokensOf({ in_ns, bytes, drop }, rate_bps, burst_bytes) {
  const levels = new Float64Array(in_ns.length);
  let [level, before_ns] = [burst_bytes, 0];
  for (let i = 0; i < in_ns.length; i++) {
    level = Math.min(burst_bytes, level + ((in_ns[i] - before_ns) * rate_bps) / 8e9);
    if (!drop[i]) level = Math.max(0, level - bytes[i]);
    before_ns = in_ns[i];
    levels[i] = level;
  }
  return levels;
}

/** Draws a run at an instant. */
export class Tank {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    /** @type {Columns | null} */ this.packets = null;
    /** @type {any} */ this.setting = null;
    this.longest_ns = 0;
    this.levels = new Float64Array();
    /** Whether the wall can be moved. */
    this.isHeld = false;
    this.funnel = new Funnel(300, 100);
    this.shape = "";
  }

  /** @param {Columns} packets @param {any} setting */
  show(packets, setting) {
    this.packets = packets;
    this.setting = setting;
    this.longest_ns = 0;
    packets.out_ns.forEach((out, i) => {
      if (Number.isFinite(out)) this.longest_ns = Math.max(this.longest_ns, out - packets.in_ns[i]);
    });
    this.levels = setting.bottleneck === BOTTLENECK.policer
      ? tokensOf(packets, setting.rate_bps, setting.burst_kb * 1000) : new Float64Array();
  }

  /** Positions, px. */
  get layout() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const exit = width - Math.max(56, width * 0.12);
    const wide = exit - Math.max(30, width * 0.05);
    return { width, height, exit, wide, top: 22, middle: (22 + height - 22) / 2, high: height - 48 };
  }

  /** Packets queued at an instant, in order of arrival.
   * @param {number} t_ns */
  inside(t_ns) {
    const { in_ns, out_ns, drop } = /** @type {Columns} */ (this.packets);
    const found = [];
    const until = placeAfter(in_ns, t_ns);
    for (let i = placeAfter(in_ns, t_ns - this.longest_ns - 1); i < until; i++) {
      if (!drop[i] && out_ns[i] > t_ns) found.push(i);
    }
    return found;
  }

  /** @param {number} t_ns @param {number} pace seconds of the run a second of watching
   * @param {{packet: number, words: string} | null} followed */
  draw(t_ns, pace, followed) {
    const { pen } = prepared(this.canvas);
    const place = this.layout;
    const shape = `${place.wide} ${place.high}`;
    if (shape !== this.shape) this.funnel = new Funnel(place.wide, place.high);
    this.shape = shape;
    pen.font = "600 13px system-ui, sans-serif";
    this.#ends(pen, place);
    if (!this.packets) return;
    const inside = this.inside(t_ns);
    /** @type {Map<number, [number, number, number]>} place and size of what is drawn */
    const seen = new Map();
    const { bottleneck } = this.setting;
    if (bottleneck === BOTTLENECK.lanes) this.#inLanes(pen, place, inside, seen);
    else if (bottleneck === BOTTLENECK.queue) this.#inQueue(place, inside, seen);
    else this.#bucket(pen, place, t_ns);
    this.#passing(place, t_ns, pace, inside.length, seen);
    this.#squares(pen, seen);
    if (bottleneck === BOTTLENECK.queue) this.#wall(pen, place);
    if (followed) this.#label(pen, place, seen.get(followed.packet), followed.words);
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} place */
  #ends(pen, { width, exit, middle }) {
    pen.strokeStyle = colour("--axis");
    pen.lineWidth = 2;
    pen.beginPath();
    for (const y of [middle - 9, middle + 9]) {
      pen.moveTo(exit + 2, y);
      pen.lineTo(width, y);
    }
    pen.stroke();
    pen.fillStyle = colour("--ink");
    pen.textBaseline = "alphabetic";
    pen.textAlign = "right";
    pen.fillText("you", width - 6, middle + 26);
    pen.textAlign = "left";
    pen.fillText("server", 6, 15);
  }

  /** @param {any} place @param {number[]} inside @param {Map<number, [number, number, number]>} seen */
  #inQueue({ exit, middle }, inside, seen) {
    const { size, places } = this.funnel;
    inside.slice(0, places.length).forEach((packet, i) => {
      const [column, above] = places[i];
      seen.set(packet, [exit - (column + 1) * size, middle + above * size, size]);
    });
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} place @param {number[]} inside
   * @param {Map<number, [number, number, number]>} seen */
  #inLanes(pen, { exit, wide, middle, high }, inside, seen) {
    const { flow } = /** @type {Columns} */ (this.packets);
    const lanes = this.setting.downloads + 1;
    const tall = high / lanes;
    const size = Math.min(LANE_PX, tall);
    const filled = new Array(lanes).fill(0);
    pen.strokeStyle = colour("--rule");
    pen.lineWidth = 0.5;
    pen.beginPath();
    for (let lane = 0; lane <= lanes; lane++) {
      pen.moveTo(exit - wide, middle - high / 2 + lane * tall);
      pen.lineTo(exit, middle - high / 2 + lane * tall);
    }
    pen.stroke();
    for (const packet of inside) {
      const lane = flow[packet];
      const x = exit - (filled[lane] + 1) * size - 2;
      filled[lane] += 1;
      if (x > exit - wide) seen.set(packet, [x, middle - high / 2 + (lane + 0.5) * tall - size / 2, size]);
    }
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} place @param {number} t_ns */
  #bucket(pen, { exit, top, middle }, t_ns) {
    const { in_ns } = /** @type {Columns} */ (this.packets);
    const burst = this.setting.burst_kb * 1000;
    const last = placeAfter(in_ns, t_ns) - 1;
    const gained = last < 0 ? burst : ((t_ns - in_ns[last]) * this.setting.rate_bps) / 8e9;
    const share = Math.min(1, ((last < 0 ? 0 : this.levels[last]) + gained) / burst);
    const [left, wide, tall] = [exit - 60, 48, middle - 14 - top];
    pen.fillStyle = colour("--orange");
    pen.fillRect(left, top + tall * (1 - share), wide, tall * share);
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 3;
    pen.strokeRect(left, top, wide, tall);
    pen.fillStyle = colour("--ink");
    pen.textAlign = "right";
    pen.fillText(`tokens, at most ${this.setting.burst_kb} kB`, left - 8, top + 12);
  }

  /** Arriving, departed and falling packets.
   * @param {any} place @param {number} t_ns @param {number} pace @param {number} waiting
   * @param {Map<number, [number, number, number]>} seen */
  #passing({ width, height, exit, middle, high }, t_ns, pace, waiting, seen) {
    const { in_ns, out_ns, flow, drop } = /** @type {Columns} */ (this.packets);
    const { bottleneck, limit_pkts, downloads } = this.setting;
    const [approach, leave, fall] = [APPROACH_S, LEAVE_S, FALL_S].map((each) => each * pace * NS_PER_S);
    const isQueue = bottleneck === BOTTLENECK.queue;
    const size = isQueue ? this.funnel.size : Math.min(10, bottleneck === BOTTLENECK.lanes ? high / (downloads + 1) : 10);
    const wall = isQueue ? exit - this.funnel.columns(limit_pkts) * size - 6 : exit - 66;
    const rim = isQueue ? exit - this.funnel.columns(waiting) * size - size : exit - 50;
    const until = placeAfter(in_ns, t_ns + approach);
    for (let i = placeAfter(in_ns, t_ns - Math.max(this.longest_ns + leave, fall)); i < until; i++) {
      // Side by side, in arbitrary order.
      const beside = (((i * 7919) % 97) / 97 - 0.5) * Math.min(high * 0.5, 40);
      const due = (in_ns[i] - t_ns) / approach;
      const gone = (t_ns - out_ns[i]) / leave;
      const lane = bottleneck === BOTTLENECK.lanes ? middle - high / 2 + ((flow[i] + 0.5) * high) / (downloads + 1) : middle + beside;
      const target = drop[i] ? Math.min(wall, rim) : rim;
      if (due > 0) seen.set(i, [target - target * due, lane - size / 2, size]);
      else if (drop[i] && out_ns[i] <= t_ns && t_ns - out_ns[i] < fall) {
        const fallen = (t_ns - out_ns[i]) / fall;
        seen.set(i, [wall - size - fallen * 14, middle + beside + fallen * fallen * (height - middle), size]);
      } else if (!drop[i] && gone >= 0 && gone < 1) seen.set(i, [exit + 2 + gone * (width - exit), middle - size / 2, size]);
    }
  }

  /** @param {CanvasRenderingContext2D} pen @param {Map<number, [number, number, number]>} seen */
  #squares(pen, seen) {
    const { flow, drop } = /** @type {Columns} */ (this.packets);
    /** @type {[number, [number, number, number]][]} */
    const calls = [];
    const inks = INKS.map(colour);
    const dropped = colour("--vermillion");
    for (const [packet, at] of seen) {
      if (flow[packet] === CALL) calls.push([packet, at]);
      else {
        pen.fillStyle = drop[packet] ? dropped : inks[flow[packet] % inks.length];
        pen.fillRect(at[0], at[1], at[2] * 0.88, at[2] * 0.88);
      }
    }
    pen.fillStyle = colour("--magenta");
    // Small packets would be hard to see among a thousand.
    for (const [, [x, y, size]] of calls) pen.fillRect(x - 1, y - 1, size + 2, size + 2);
  }

  /** Position of the buffer's wall, px from the left. */
  get wall() {
    const { exit } = this.layout;
    return exit - this.funnel.columns(this.setting?.limit_pkts ?? 0) * this.funnel.size - 4;
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} place */
  #wall(pen, { exit, wide, middle, high, height }) {
    const x = this.wall;
    // Below the name of the arrival area.
    const half = Math.min(middle - 22, Math.max(24, ((high / 2) * (exit - x)) / wide + 8));
    pen.fillStyle = colour("--ink");
    pen.fillRect(x - 3, middle - half, 6, 2 * half);
    if (this.isHeld) {
      pen.beginPath();
      pen.arc(x, middle, 13, 0, 2 * Math.PI);
      pen.fill();
      pen.fillStyle = colour("--paper");
      for (const dx of [-4, 0, 4]) pen.fillRect(x + dx - 1, middle - 6, 2, 12);
      pen.fillStyle = colour("--ink");
    }
    const words = `wall: ${this.setting.limit_pkts} packets`;
    const isRight = x - 12 - pen.measureText(words).width < 4;
    pen.textAlign = isRight ? "left" : "right";
    pen.fillText(words, isRight ? Math.max(6, x - 8) : x - 8, height - 6);
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} place
   * @param {[number, number, number] | undefined} at @param {string} words */
  #label(pen, { width, top, exit, middle }, at, words) {
    const [x, y, size] = at ?? [exit, top + 20, 0];
    const wide = pen.measureText(words).width + 14;
    const left = Math.min(width - wide - 4, Math.max(4, x - wide / 2));
    // Not over the bucket.
    const up = this.setting.bottleneck === BOTTLENECK.policer ? middle + 36 : Math.max(2, Math.min(y - 34, middle - 44));
    if (at) {
      pen.strokeStyle = colour("--magenta");
      pen.lineWidth = 2;
      pen.strokeRect(x - 4, y - 4, size + 8, size + 8);
      pen.beginPath();
      pen.moveTo(x + size / 2, up > y ? y + size + 4 : y - 4);
      pen.lineTo(Math.min(left + wide - 6, Math.max(left + 6, x + size / 2)), up > y ? up : up + 22);
      pen.stroke();
    }
    pen.fillStyle = colour("--paper");
    pen.strokeStyle = colour("--magenta");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.rect(left, up, wide, 22);
    pen.fill();
    pen.stroke();
    pen.fillStyle = colour("--ink");
    pen.textAlign = "left";
    pen.fillText(words, left + 7, up + 16);
  }
}
