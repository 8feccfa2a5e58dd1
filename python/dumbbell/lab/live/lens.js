// A lens on a live figure's cursor: the packets of the queue around that instant, in slow motion.
import { element } from "../page/fields.js";
import { HUES } from "./chart.js";
import { colour } from "../page/plot.js";
import { Stage } from "../page/stage.js";
import { timeText } from "../page/words.js";

/** Packets are asked for when the instant, or the experiment, has stayed the same so long, ms. */
const REST_MS = 150;
/** Places of the slider. */
const STEPS = 1000;
const NS_PER_S = 1e9;

/**
 * What a lens has from its figure: what is compared, how long a run is, a simulator that says what it
 * hears, what it is asked for an arm, and who wants to know that the instant was moved.
 * @typedef {{arms: {id: string, label: string}[], duration_s: number,
 *   makeBench: (hear: (message: any) => void) => import("../page/orders.js").Bench,
 *   order: (arm: string) => object, moved: (at_s: number) => void}} Figure
 */

/** Opened and closed by the reader; until it is opened first it has no simulator. */
export class Lens {
  /** @param {Figure} figure */
  constructor(figure) {
    this.figure = figure;
    this.at_s = 0;
    /** @type {import("../page/orders.js").Bench | null} */ this.bench = null;
    this.rest = 0;
    const { arms } = figure;
    this.arm = /** @type {HTMLSelectElement} */ (element("select", { id: "live-lens-arm" },
      ...arms.map(({ id, label }) => element("option", { value: id }, label))));
    this.moment = /** @type {HTMLInputElement} */ (
      element("input", { id: "live-lens-moment", type: "range", min: "0", max: String(STEPS), step: "1", value: "0" })
    );
    this.output = element("output", { for: "live-lens-moment" });
    this.button = element("button", { type: "button", id: "live-lens-play" });
    this.canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { role: "img", "data-lens": "", "aria-label": "no packets yet" }));
    this.words = element("p", { class: "hint" }, "no packets yet");
    this.stage = new Stage(this.canvas, (words) => (this.words.textContent = words));
    const chosen = element("p", { class: "live-lens-arm" }, element("label", { for: "live-lens-arm" }, "Queue of"), " ", this.arm);
    chosen.hidden = arms.length < 2;
    this.element = /** @type {HTMLDetailsElement} */ (element("details", { class: "live-lens" },
      element("summary", {}, "The queue in slow motion, packet by packet"),
      element("div", { class: "live-lens-head" }, chosen, this.button),
      element("div", { class: "live-control slider" },
        element("label", { for: "live-lens-moment" }, "Moment"), this.output, this.moment),
      this.canvas, this.words));
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
      this.at_s = (Number(this.moment.value) / STEPS) * this.figure.duration_s;
      this.figure.moved(this.at_s);
      this.#tellMoment();
      this.soon();
    });
    this.#play(false);
  }

  get isOpen() {
    return this.element.open;
  }

  /** The cursor stands elsewhere.
   * @param {number} at_s */
  look(at_s) {
    this.at_s = Math.min(this.figure.duration_s, Math.max(0, at_s));
    this.moment.value = String(Math.round((STEPS * this.at_s) / this.figure.duration_s));
    this.#tellMoment();
    this.soon();
  }

  #tellMoment() {
    const words = timeText(this.at_s);
    this.output.textContent = words;
    this.moment.setAttribute("aria-valuetext", words);
  }

  /** While something moves, the processor is the run's. */
  wait() {
    clearTimeout(this.rest);
  }

  /** Asks for packets when all stays as it is for a while. */
  soon() {
    this.wait();
    if (this.isOpen) this.rest = window.setTimeout(() => this.#ask(), REST_MS);
  }

  #ask() {
    this.bench ??= this.figure.makeBench((message) => this.#heard(message));
    this.bench.send("look", { ...this.figure.order(this.arm.value), at_s: this.at_s });
  }

  /** @param {any} message */
  #heard(message) {
    if (message.kind === "fault") this.words.textContent = message.text;
    if (message.kind !== "packets") return;
    this.stage.show(message.packets, (flow) => colour(HUES[flow % HUES.length]), message.limit);
    const { label } = this.figure.arms.find(({ id }) => id === this.arm.value) ?? { label: "" };
    const from_s = message.packets.from_ns / NS_PER_S;
    this.canvas.setAttribute("aria-label", `${label}, from ${timeText(from_s)} on: ${this.stage.words()}`);
  }

  /** @param {boolean} isPlaying */
  #play(isPlaying) {
    this.stage.play(isPlaying);
    this.button.textContent = isPlaying ? "Pause" : "Play";
    this.button.setAttribute("aria-pressed", String(isPlaying));
  }
}
