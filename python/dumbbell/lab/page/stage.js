// The bottleneck in slow motion: packets come from the left, stand in the queue, are sent to the
// right; what is refused falls out.
import { colour, prepared } from "./plot.js";
import { timeText } from "./words.js";

/** Seconds of watching from the edge to the queue's rim, from the queue to the edge, and falling. */
const APPROACH_S = 0.5;
const LEAVE_S = 0.5;
const FALL_S = 0.8;
/** Seconds of watching that a packet's transmission takes where the speed is chosen for one. */
const A_TRANSMISSION_S = 0.18;
/** Seconds of watching that a window takes at least there, also where few packets pass. */
const LEAST_WATCHED_S = 5;
const WIDEST_PACKET = 26;
const NS_PER_S = 1e9;

/**
 * @typedef {{from_ns: number, until_ns: number, in_ns: Float64Array, out_ns: Float64Array,
 *   flow: Float64Array, drop: Float64Array}} Packets
 */

/** Plays what happened at a queue in a window of a run. */
export class Stage {
  /** @param {HTMLCanvasElement} canvas @param {(text: string) => void} tell
   * @param {boolean} isNamed whether its parts have their names */
  constructor(canvas, tell, isNamed = true) {
    this.canvas = canvas;
    this.tell = tell;
    this.isNamed = isNamed;
    /** Other queues at the same instants.
     * @type {Stage[]} */
    this.beside = [];
    /** @type {Packets | null} */
    this.packets = null;
    /** @type {Float64Array} when packets leave, in order */
    this.leaving = new Float64Array();
    this.now_ns = 0;
    /** From when on words count time. */
    this.zero_ns = 0;
    this.speed = 0;
    this.isPlaying = false;
    this.last_ms = 0;
    this.frames = 0;
    /** @type {(flow: number) => string} */
    this.colourOf = () => colour("--text");
    this.limit = 0;
    /** Of what is followed while it happens; 0 of what is played again. */
    this.followed = 0;
  }

  /** Draws what happens now, somewhat later: whence a packet comes is seen before it is there.
   * @param {Packets} packets until now @param {(flow: number) => string} colourOf
   * @param {number} limit @param {number} slowness how much slower than life */
  follow(packets, colourOf, limit, slowness) {
    this.play(false);
    this.show(packets, colourOf, limit);
    this.followed = slowness;
    this.now_ns = Math.max(0, packets.until_ns - (APPROACH_S / slowness) * NS_PER_S);
    this.draw();
  }

  /** @param {Packets} packets @param {(flow: number) => string} colourOf @param {number} limit */
  show(packets, colourOf, limit) {
    this.followed = 0;
    this.packets = packets;
    this.colourOf = colourOf;
    this.limit = limit;
    this.now_ns = packets.from_ns;
    this.leaving = packets.out_ns.filter((_, i) => !packets.drop[i]).sort();
    this.draw();
  }

  /** Slower than life by this.
   * @param {number} chosen 0 for what suits the packets */
  slowness(chosen) {
    if (this.followed > 0) return this.followed;
    if (chosen > 0) return chosen;
    if (!this.packets) return 20;
    const window_s = (this.packets.until_ns - this.packets.from_ns) / NS_PER_S;
    // What is still inside at the end has no time at which it leaves.
    const gaps = this.leaving.filter(Number.isFinite).slice(0, 400);
    const mean_s = (gaps[gaps.length - 1] - gaps[0]) / (gaps.length - 1) / NS_PER_S;
    const forOne = gaps.length < 3 ? 0 : A_TRANSMISSION_S / Math.max(mean_s, 1e-9);
    return Math.min(1e5, Math.max(1, forOne, LEAST_WATCHED_S / window_s));
  }

  /** @param {boolean} isPlaying */
  play(isPlaying) {
    if (isPlaying === this.isPlaying) return;
    this.isPlaying = isPlaying;
    this.last_ms = performance.now();
    if (isPlaying) requestAnimationFrame((ms) => this.#frame(ms));
  }

  /** @param {number} ms */
  #frame(ms) {
    if (!this.isPlaying) return;
    const passed_s = Math.min(0.1, Math.max(0, ms - this.last_ms) / 1000);
    this.last_ms = ms;
    this.frames += 1;
    if (this.packets) {
      this.now_ns += (passed_s / this.slowness(this.speed)) * NS_PER_S;
      if (this.now_ns > this.packets.until_ns) this.now_ns = this.packets.from_ns;
      this.draw();
      for (const other of this.beside) other.stand(this.now_ns, this.slowness(this.speed));
    }
    requestAnimationFrame((next) => this.#frame(next));
  }

  /** At an instant of another, as slow as that.
   * @param {number} now_ns @param {number} slowness */
  stand(now_ns, slowness) {
    this.now_ns = now_ns;
    this.speed = slowness;
    this.draw();
  }

  /** How far the transmission is that goes on, 0 to 1. */
  #progress() {
    const { leaving, now_ns } = this;
    let [low, high] = [0, leaving.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (leaving[middle] <= now_ns) low = middle + 1;
      else high = middle;
    }
    if (low === 0 || low >= leaving.length) return 0;
    return (now_ns - leaving[low - 1]) / (leaving[low] - leaving[low - 1] || 1);
  }

  draw() {
    const { pen, width, height } = prepared(this.canvas);
    const rim = Math.max(70, width * 0.16);
    const end = width - Math.max(70, width * 0.16);
    const [top, bottom] = [height * 0.22, height * 0.62];
    this.#scenery(pen, { rim, end, top, bottom, width, height });
    if (this.packets) this.#packets(pen, { rim, end, top, bottom, width, height });
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} place */
  #scenery(pen, { rim, end, top, bottom, width, height }) {
    pen.strokeStyle = colour("--quiet");
    pen.fillStyle = colour("--quiet");
    pen.lineWidth = 2;
    pen.beginPath();
    for (const y of [top - 6, bottom + 6]) {
      pen.moveTo(rim, y);
      pen.lineTo(end, y);
    }
    pen.stroke();
    pen.lineWidth = 1;
    pen.beginPath();
    const middle = (top + bottom) / 2;
    pen.moveTo(end, middle);
    pen.lineTo(width, middle);
    pen.stroke();
    if (!this.isNamed) return;
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "bottom";
    pen.textAlign = "left";
    pen.fillText("arriving", 6, top - 8);
    pen.textAlign = "center";
    pen.fillText("queue", (rim + end) / 2, top - 10);
    pen.textAlign = "right";
    pen.fillText("link", width - 6, top - 8);
    pen.textAlign = "left";
    pen.fillText("dropped", 6, height - 6);
  }

  /** @param {CanvasRenderingContext2D} pen @param {any} place */
  #packets(pen, { rim, end, top, bottom, width, height }) {
    const packets = /** @type {Packets} */ (this.packets);
    const { now_ns } = this;
    const slow = this.slowness(this.speed);
    const wait = (/** @type {number} */ watched_s) => (watched_s / slow) * NS_PER_S;
    const { in_ns, out_ns, flow, drop } = packets;
    /** @type {number[]} */
    const inside = [];
    for (let i = 0; i < in_ns.length; i++) {
      if (!drop[i] && in_ns[i] <= now_ns && now_ns < out_ns[i]) inside.push(i);
    }
    const slots = Math.max(inside.length + 1, Math.min(this.limit || 0, 60), 8);
    const slot = Math.min(WIDEST_PACKET, (end - rim) / slots);
    const box = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ i) => {
      pen.fillStyle = this.colourOf(flow[i]);
      pen.fillRect(x - slot * 0.85, y, Math.max(1, slot * 0.85), bottom - top);
    };
    const progress = this.#progress();
    const at = (/** @type {number} */ place) => end - (place - progress) * slot;
    const tail = at(inside.length);
    for (let i = 0; i < in_ns.length; i++) {
      const due = (in_ns[i] - now_ns) / wait(APPROACH_S);
      const gone = (now_ns - out_ns[i]) / wait(LEAVE_S);
      if (due > 0 && due < 1) box(due * 0 + tail + (0 - tail) * due, top, i);
      else if (drop[i] && gone >= 0 && gone * LEAVE_S < FALL_S) {
        const fallen = (gone * LEAVE_S) / FALL_S;
        box(rim - 4, top + fallen * fallen * (height - top), i);
      } else if (!drop[i] && gone >= 0 && gone < 1) box(end + slot + gone * (width - end), top, i);
    }
    inside.forEach((i, place) => box(Math.max(at(place), rim), top, i));
    this.tell(
      `${inside.length} packets in the queue and in transmission at ` +
        `${((now_ns - this.zero_ns) / NS_PER_S).toFixed(3)} s, ${Math.round(slow)} times slower than life`,
    );
  }

  /** What is seen, in words. */
  words() {
    const { packets } = this;
    if (!packets) return "no packets yet";
    const drops = packets.drop.reduce((sum, each) => sum + each, 0);
    const window_s = (packets.until_ns - packets.from_ns) / NS_PER_S;
    return `${timeText(window_s)} at the queue: ${packets.in_ns.length} packets, ${drops} dropped`;
  }
}
