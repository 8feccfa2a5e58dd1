// A lens at a live figure's cursor: the packets of queues around that instant, in slow motion.
import { element } from "../page/fields.js";
import { colour } from "../page/plot.js";
import { Stage } from "../page/stage.js";
import { timeText } from "../page/words.js";

/** Time without changes of instant or experiment after which packets are requested, ms. */
const REST_MS = 150;
/** Positions of the slider. */
const STEPS = 1000;
/** Initial position as a share of the time: at the beginning a queue is empty. */
const FIRST = 0.5;
const NS_PER_S = 1e9;

/**
 * An observed queue, and the order to a simulator for it.
 * @typedef {{label: string, queue: number, resolved: any, changes: object[]}} Lane
 *
 * Interface of the figure for a lens: the arms; whether all are shown, one below the other, or one that the
 * reader selects; begin of its time within the run, and its length; size of a typical packet; the queues of
 * an arm; the ink of a flow; a simulator with a callback for its messages; and a callback for moves of the
 * instant.
 * @typedef {{arms: {id: string, label: string}[], areBeside: boolean, begin_s: number, length_s: number,
 *   packetBytes: number, lanes: (arm: string) => Lane[], inkOf: (flow: number) => string,
 *   makeBench: (hear: (message: any) => void) => import("../page/orders.js").Bench,
 *   moved: (at_s: number) => void}} Figure
 */

/** Opened and closed by the reader; its simulator is created when it is first opened. */
export class Lens {
  /** @param {Figure} figure */
  constructor(figure) {
    this.figure = figure;
    this.at_s = FIRST * figure.length_s;
    /** @type {import("../page/orders.js").Bench | null} */ this.bench = null;
    this.rest = 0;
    /** The lanes shown.
     * @type {Lane[]} */
    this.lanes = [];
    /** A stage per lane.
     * @type {Stage[]} */
    this.stages = [];
    const { arms, areBeside } = figure;
    this.arm = /** @type {HTMLSelectElement} */ (element("select", { id: "live-lens-arm" },
      ...arms.map(({ id, label }) => element("option", { value: id }, label))));
    this.moment = /** @type {HTMLInputElement} */ (
      element("input", { id: "live-lens-moment", type: "range", min: "0", max: String(STEPS), step: "1" })
    );
    this.moment.value = String(FIRST * STEPS);
    this.output = element("output", { for: "live-lens-moment" });
    this.button = element("button", { type: "button", id: "live-lens-play" });
    this.words = element("p", { class: "hint" }, "no packets yet");
    this.scene = element("div", { class: "live-lanes" });
    const chosen = element("p", { class: "live-lens-arm" }, element("label", { for: "live-lens-arm" }, "Queue of"), " ", this.arm);
    chosen.hidden = areBeside || arms.length < 2;
    const title = `The ${areBeside ? "queues" : "queue"} in slow motion, packet by packet`;
    this.element = /** @type {HTMLDetailsElement} */ (element("details", { class: "live-lens" },
      element("summary", {}, title),
      element("div", { class: "live-lens-head" }, chosen, this.button),
      element("div", { class: "live-control slider" },
        element("label", { for: "live-lens-moment" }, "Moment"), this.output, this.moment),
      this.scene, this.words));
    this.#build([{ label: "", queue: 0, resolved: null, changes: [] }]);
    this.#listen();
    this.#tellMoment();
  }

  #listen() {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)");
    isStill.addEventListener("change", () => this.#play(this.isOpen && !isStill.matches));
    this.element.addEventListener("toggle", () => {
      this.#play(this.isOpen && !isStill.matches);
      this.soon();
    });
    this.button.addEventListener("click", () => this.#play(!this.stage.isPlaying));
    this.arm.addEventListener("change", () => this.soon());
    this.moment.addEventListener("input", () => {
      this.at_s = (Number(this.moment.value) / STEPS) * this.figure.length_s;
      this.figure.moved(this.at_s);
      this.#tellMoment();
      this.soon();
    });
    this.#play(false);
  }

  get isOpen() {
    return this.element.open;
  }

  /** The first stage, whose clock all stages follow. */
  get stage() {
    return this.stages[0];
  }

  /** Creates a canvas per lane, if their number has changed.
   * @param {Lane[]} lanes */
  #build(lanes) {
    const isPlaying = this.stages.length > 0 && this.stage.isPlaying;
    this.lanes = lanes;
    if (lanes.length === this.stages.length) return;
    this.stages[0]?.play(false);
    this.stages = lanes.map((_, i) => {
      const canvas = /** @type {HTMLCanvasElement} */ (
        element("canvas", { role: "img", "data-lens": "", "aria-label": "no packets yet" })
      );
      return new Stage(canvas, (words) => i || (this.words.textContent = words), i === 0);
    });
    this.scene.replaceChildren(...this.stages.map(({ canvas }, i) => {
      const name = lanes.length > 1 ? [element("figcaption", {}, lanes[i].label)] : [];
      return element("figure", {}, ...name, canvas);
    }));
    this.scene.classList.toggle("several", lanes.length > 1);
    this.stage.beside = this.stages.slice(1);
    this.stage.zero_ns = this.figure.begin_s * NS_PER_S;
    this.stage.play(isPlaying);
  }

  /** The cursor has moved.
   * @param {number} at_s */
  look(at_s) {
    this.at_s = Math.min(this.figure.length_s, Math.max(0, at_s));
    this.moment.value = String(Math.round((STEPS * this.at_s) / this.figure.length_s));
    this.#tellMoment();
    this.soon();
  }

  #tellMoment() {
    const words = timeText(this.at_s);
    this.output.textContent = words;
    this.moment.setAttribute("aria-valuetext", words);
  }

  /** During motion, the CPU is left to the run. */
  wait() {
    clearTimeout(this.rest);
  }

  /** Requests packets after a time without changes. */
  soon() {
    this.wait();
    if (this.isOpen) this.rest = window.setTimeout(() => this.#ask(), REST_MS);
  }

  #ask() {
    const { arms, areBeside, begin_s, packetBytes, lanes, makeBench } = this.figure;
    this.bench ??= makeBench((message) => this.#heard(message));
    this.#build(areBeside ? arms.flatMap(({ id }) => lanes(id)) : lanes(this.arm.value).slice(0, 1));
    this.bench.send("look", {
      lanes: this.lanes, replication: 0, at_s: begin_s + this.at_s, packet_bytes: packetBytes,
    });
  }

  /** @param {any} message */
  #heard(message) {
    if (message.kind === "fault") this.words.textContent = message.text;
    if (message.kind !== "packets" || message.lanes.length !== this.stages.length) return;
    message.lanes.forEach((/** @type {any} */ { packets, limit }, /** @type {number} */ i) => {
      const stage = this.stages[i];
      stage.show(packets, (flow) => colour(this.figure.inkOf(flow)), limit);
      const from_s = packets.from_ns / NS_PER_S - this.figure.begin_s;
      stage.canvas.setAttribute("aria-label", `${this.lanes[i].label}, from ${timeText(from_s)} on: ${stage.words()}`);
    });
    // A stopped picture uses the same pace as a moving one.
    for (const other of this.stage.beside) other.stand(this.stage.now_ns, this.stage.slowness(this.stage.speed));
  }

  /** @param {boolean} isPlaying */
  #play(isPlaying) {
    this.stage.play(isPlaying);
    this.button.textContent = isPlaying ? "Pause" : "Play";
    this.button.setAttribute("aria-pressed", String(isPlaying));
  }
}
