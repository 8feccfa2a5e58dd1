// The bottleneck in slow motion: packets arrive from the left, wait in the queue, and are sent to the
// right; dropped packets fall out.
import { placesOf } from "./lanes.js";
import { colour, prepared } from "./plot.js";
import { tellingInstant } from "./window.js";
import { timeText } from "./words.js";

/** Seconds of real time from the edge to the queue, from the queue to the edge, and of falling. */
const APPROACH_S = 0.5;
const LEAVE_S = 0.5;
const FALL_S = 0.8;
/** Seconds of real time before the first event of the picture. */
const BEFORE_S = 0.4;
/** Seconds of real time of a packet's transmission, if the speed is chosen by it. */
const A_TRANSMISSION_S = 0.18;
/** Minimum seconds of real time of a window, even with few packets. */
const LEAST_WATCHED_S = 5;
const WIDEST_PACKET = 26;
const NS_PER_S = 1e9;

/**
 * @typedef {{from_ns: number, until_ns: number, in_ns: Float64Array, out_ns: Float64Array,
 *   flow: Float64Array, probe: Float64Array, class: Float64Array, drop: Float64Array, lost: Float64Array}} Packets
 */

/** Rows of a queue with several rows: px between rows, and height of one. */
const LANE = { step: 26, height: 17 };
/** Height of the name of a class above its rows, px. */
const HEADING = 20;
/** Margin above and below the rows, px. */
const AROUND = { above: 34, below: 44 };
/** Minimum places of a row. */
const LEAST_PLACES = 12;
/** Left and right margins of row names, px; maximum width as a share of the picture; width of the arrival
 * area. */
const NAMES = { before: 6, behind: 8, most: 0.3, arriving: 44 };
const FONT = "12px system-ui, sans-serif";

/**
 * Geometry, px: arrival edge, queue from end to head, its rows, the link behind it.
 * @typedef {{from: number, rim: number, end: number, rows: {top: number, bottom: number}[], middle: number, width: number,
 *   height: number}} Place
 */

/** Vertical positions of rows, px; a heading takes additional space.
 * @param {import("./lanes.js").Lane[]} lanes @returns {{top: number, bottom: number}[]} */
function rowsOf(lanes) {
  let top = AROUND.above - LANE.step;
  return lanes.map((_, i) => {
    top += LANE.step + (isHeaded(lanes, i) ? HEADING : 0);
    return { top, bottom: top + LANE.height };
  });
}

/** Whether a row is the first below its heading.
 * @param {import("./lanes.js").Lane[]} lanes @param {number} i */
function isHeaded(lanes, i) {
  return lanes[i].heading !== "" && lanes[i].heading !== lanes[i - 1]?.heading;
}

/** Plays the events at a queue in a window of a run. */
export class Stage {
  /** @param {HTMLCanvasElement} canvas @param {(text: string) => void} tell
   * @param {boolean} isNamed whether its parts are labelled */
  constructor(canvas, tell, isNamed = true) {
    this.canvas = canvas;
    this.tell = tell;
    this.isNamed = isNamed;
    /** Other queues shown at the same instants.
     * @type {Stage[]} */
    this.beside = [];
    /** @type {Packets | null} */
    this.packets = null;
    /** @type {Float64Array} when packets leave, in order */
    this.leaving = new Float64Array();
    this.now_ns = 0;
    /** Origin of the time in texts. */
    this.zero_ns = 0;
    this.speed = 0;
    this.isPlaying = false;
    this.last_ms = 0;
    this.frames = 0;
    /** @type {(flow: number, probe: number) => string} */
    this.colourOf = () => colour("--text");
    /** Rows of the queue; none for a single queue.
     * @type {import("./lanes.js").Lane[]} */
    this.lanes = [];
    /** Title of the queue or of its rows. */
    this.title = "queue";
    /** @type {number[]} row of each packet */
    this.places = [];
    this.limit = 0;
    /** Pace of a live run; 0 for a recording. */
    this.followed = 0;
  }

  /** Draws the current time with a delay, so that packets are visible before they arrive.
   * @param {Packets} packets until now @param {(flow: number, probe: number) => string} colourOf
   * @param {number} limit @param {number} slowness slowdown factor
   * @param {import("./lanes.js").Lane[]} lanes @param {string} title of them */
  follow(packets, colourOf, limit, slowness, lanes = [], title = "queue") {
    this.play(false);
    this.show(packets, colourOf, limit, lanes, title);
    this.followed = slowness;
    this.now_ns = Math.max(0, packets.until_ns - (APPROACH_S / slowness) * NS_PER_S);
    this.draw();
  }

  /** @param {Packets} packets @param {(flow: number, probe: number) => string} colourOf @param {number} limit
   * @param {import("./lanes.js").Lane[]} lanes @param {string} title of them */
  show(packets, colourOf, limit, lanes = [], title = "queue") {
    this.followed = 0;
    this.packets = packets;
    this.lanes = lanes;
    this.title = title;
    this.places = placesOf(packets, lanes);
    const last = rowsOf(lanes).at(-1);
    this.canvas.style.height = last ? `${last.top + LANE.step + AROUND.below}px` : "";
    this.colourOf = colourOf;
    this.limit = limit;
    this.now_ns = packets.from_ns;
    this.leaving = packets.out_ns.filter((_, i) => !packets.drop[i] && !packets.lost[i]).sort();
    this.draw();
  }

  /** Starts shortly before the first drop of the window, or before the longest queue, so that an event is
   * soon visible. */
  begin() {
    if (!this.packets) return;
    const before_ns = (BEFORE_S / this.slowness(this.speed)) * NS_PER_S;
    const telling_ns = tellingInstant(this.packets);
    this.now_ns = Math.max(this.packets.from_ns, telling_ns - before_ns);
    // If many packets arrive at one instant, the queue is filled after that instant.
    if (this.#inside().every((row) => row.length === 0)) this.now_ns = telling_ns;
    this.draw();
  }

  /** Sets the slowdown factor.
   * @param {number} chosen 0 for a choice based on the packets */
  slowness(chosen) {
    if (this.followed > 0) return this.followed;
    if (chosen > 0) return chosen;
    if (!this.packets) return 20;
    const window_s = (this.packets.until_ns - this.packets.from_ns) / NS_PER_S;
    // Packets still queued at the end have no departure time.
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

  /** Follows the clock of another stage.
   * @param {number} now_ns @param {number} slowness */
  stand(now_ns, slowness) {
    this.now_ns = now_ns;
    this.speed = slowness;
    this.draw();
  }

  /** Progress of the current transmission, 0 to 1. */
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
    const beside = Math.max(70, width * 0.16);
    const many = this.lanes.length;
    const from = many ? this.#named(pen, width) : 0;
    const rim = many ? Math.max(beside, from + NAMES.arriving) : beside;
    const end = width - beside;
    const rows = many
      ? rowsOf(this.lanes)
      : [{ top: height * 0.22, bottom: height * 0.62 }];
    const middle = (rows[0].top + rows[rows.length - 1].bottom) / 2;
    const place = { from, rim, end, rows, middle, width, height };
    this.#scenery(pen, place);
    if (this.packets) this.#packets(pen, place);
    if (many) this.#names(pen, place);
  }

  /** Right end of the names of rows: packets arrive to the right of it.
   * @param {CanvasRenderingContext2D} pen @param {number} width */
  #named(pen, width) {
    pen.font = FONT;
    const widest = Math.max(...this.lanes.map(({ name }) => pen.measureText(name).width));
    return NAMES.before + Math.min(widest, NAMES.most * width) + NAMES.behind;
  }

  /** @param {CanvasRenderingContext2D} pen @param {Place} place */
  #scenery(pen, { from, rim, end, rows, middle, width, height }) {
    pen.strokeStyle = colour("--quiet");
    pen.fillStyle = colour("--quiet");
    pen.lineWidth = 2;
    pen.beginPath();
    const gap = rows.length > 1 ? (LANE.step - LANE.height) / 2 : 6;
    for (const y of rows.flatMap(({ top, bottom }) => [top - gap, bottom + gap])) {
      pen.moveTo(rim, y);
      pen.lineTo(end, y);
    }
    pen.stroke();
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(end, middle);
    pen.lineTo(width, middle);
    pen.stroke();
    if (!this.isNamed) return;
    const top = rows.length > 1 ? AROUND.above : rows[0].top;
    pen.font = FONT;
    pen.textBaseline = "bottom";
    pen.textAlign = "left";
    pen.fillText("arriving", from || 6, top - 8);
    pen.textAlign = "center";
    pen.fillText(this.title, (rim + end) / 2, top - 10);
    pen.textAlign = "right";
    pen.fillText("link", width - 6, top - 8);
    pen.textAlign = "left";
    pen.fillText("dropped", 6, height - 6);
  }

  /** Draws the names of rows left of the arrival area.
   * @param {CanvasRenderingContext2D} pen @param {Place} place */
  #names(pen, { from, rim, rows }) {
    pen.font = FONT;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const x = from - NAMES.behind;
    this.lanes.forEach(({ name, heading, flow, probe }, i) => {
      const y = (rows[i].top + rows[i].bottom) / 2;
      if (isHeaded(this.lanes, i)) {
        pen.textAlign = "left";
        pen.fillStyle = colour("--text");
        pen.fillText(heading, rim, rows[i].top - HEADING / 2 - 3);
        pen.textAlign = "right";
      }
      pen.fillStyle = flow < 0 && probe < 0 ? colour("--quiet") : this.colourOf(flow, probe);
      pen.fillText(name, x, y, x - NAMES.before);
    });
  }

  /** Packets in each row now, in order.
   * @returns {number[][]} */
  #inside() {
    const { in_ns, out_ns, drop } = /** @type {Packets} */ (this.packets);
    /** @type {number[][]} */
    const inside = Array.from({ length: Math.max(1, this.lanes.length) }, () => []);
    for (let i = 0; i < in_ns.length; i++) {
      if (!drop[i] && in_ns[i] <= this.now_ns && this.now_ns < out_ns[i]) inside[this.places[i]].push(i);
    }
    // Flows in one row have separate queues: the next to leave is drawn first.
    this.lanes.forEach(({ isShared }, i) => isShared && inside[i].sort((a, b) => out_ns[a] - out_ns[b]));
    return inside;
  }

  /** Progress of the first packet of each row into the link: only one row sends at a time.
   * @param {number[][]} inside @returns {number[]} */
  #sent(inside) {
    const { out_ns, lost } = /** @type {Packets} */ (this.packets);
    const next = inside.map((row) => (row.length && !lost[row[0]] ? out_ns[row[0]] : Infinity));
    const first = Math.min(...next);
    return next.map((each) => (each === first && Number.isFinite(each) ? this.#progress() : 0));
  }

  /** @param {CanvasRenderingContext2D} pen @param {Place} place */
  #packets(pen, { from, rim, end, rows, middle, width, height }) {
    const packets = /** @type {Packets} */ (this.packets);
    const { now_ns, places } = this;
    const slow = this.slowness(this.speed);
    const wait = (/** @type {number} */ watched_s) => (watched_s / slow) * NS_PER_S;
    const { in_ns, out_ns, flow, probe, drop, lost } = packets;
    const inside = this.#inside();
    const sent = rows.length > 1 ? this.#sent(inside) : [this.#progress()];
    const longest = Math.max(...inside.map((row) => row.length));
    const least = rows.length > 1 ? LEAST_PLACES : Math.max(8, Math.min(this.limit || 0, 60));
    const slot = Math.min(WIDEST_PACKET, (end - rim) / Math.max(longest + 1, least));
    const high = rows[0].bottom - rows[0].top;
    const box = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ i) => {
      pen.fillStyle = this.colourOf(flow[i], probe[i]);
      pen.fillRect(x - slot * 0.85, y, Math.max(1, slot * 0.85), high);
    };
    const at = (/** @type {number} */ row, /** @type {number} */ place) => end - (place - sent[row]) * slot;
    for (let i = 0; i < in_ns.length; i++) {
      const row = places[i], { top } = rows[row];
      const due = (in_ns[i] - now_ns) / wait(APPROACH_S);
      const gone = (now_ns - out_ns[i]) / wait(LEAVE_S);
      const begin = from && from + slot * 0.85;
      if (due > 0 && due < 1) box(begin + (at(row, inside[row].length) - begin) * (1 - due), top, i);
      else if (drop[i] && gone >= 0 && gone * LEAVE_S < FALL_S) {
        const fallen = (gone * LEAVE_S) / FALL_S;
        // A packet dropped at enqueue falls before the queue; one dropped from inside falls at its head.
        box(lost[i] ? end : rim - 4, top + fallen * fallen * (height - top), i);
      } else if (!drop[i] && !lost[i] && gone >= 0 && gone < 1) {
        const across = Math.min(1, 4 * gone);
        box(end + slot + gone * (width - end), top + across * (middle - high / 2 - top), i);
      }
    }
    inside.forEach((all, row) => all.forEach((i, place) => box(Math.max(at(row, place), rim), rows[row].top, i)));
    const many = inside.reduce((sum, row) => sum + row.length, 0);
    this.tell(
      `${many} packets in the queue and in transmission at ` +
        `${((now_ns - this.zero_ns) / NS_PER_S).toFixed(3)} s, ${Math.round(slow)} times slower than life`,
    );
  }

  /** Text description of the picture. */
  words() {
    const { packets } = this;
    if (!packets) return "no packets yet";
    const drops = packets.drop.reduce((sum, each) => sum + each, 0);
    const window_s = (packets.until_ns - packets.from_ns) / NS_PER_S;
    const rows = this.lanes.map(({ name, heading }) => (heading ? `${heading} ${name}` : name)).join(", ");
    const words = `${timeText(window_s)} at the queue: ${packets.in_ns.length} packets, ${drops} dropped`;
    return rows ? `${words}; ${this.title}, in rows: ${rows}` : words;
  }
}
