// The live figure of a study's page: sends its controls' changes to simulators, one per arm, and draws
// their results.
import { HUES } from "./chart.js";
import { element } from "../page/fields.js";
import { Bench } from "../page/orders.js";
import { forgetColours } from "../page/plot.js";
import { unpacked } from "../page/unpacked.js";
import { timeText } from "../page/words.js";
import { FORMS } from "./forms.js";
import { Lens } from "./lens.js";
import { Bet, Control, table } from "./parts.js";
import { Replications } from "./replications.js";
import { betAt, isShown, lookOf } from "./views.js";

const NS_PER_S = 1e9;
/** Size of an Ethernet packet. */
const LARGEST_BYTES = 1500;
/** Time without changes after which the next run is compared with the current one, ms. */
const QUIET_MS = 900;
/** Text beside the bet's mark. */
const BET_NAME = "your bet";

/**
 * An arm with its simulator, and its last complete run.
 * @typedef {import("./views.js").Arm & {variants: {resolved: any, queues: number[]}[], bench: Bench,
 *   whole: import("./views.js").Found | null, now_s: number, duration_s: number, digest: string,
 *   events: number, toml: string, name: string}} RunArm
 */

/** A figure with its simulators. */
class LiveFigure {
  /** @param {any} hero @param {HTMLElement} place @param {string} worker @param {Uint8Array} module */
  constructor(hero, place, worker, module) {
    this.hero = hero;
    this.view = FORMS[hero.form];
    /** @type {Control[]} */
    this.controls = hero.controls.map((/** @type {any} */ each) => new Control(each, () => this.#moved()));
    /** @type {RunArm[]} */
    this.arms = hero.arms.map((/** @type {any} */ arm, /** @type {number} */ i) => ({
      ...arm, ...lookOf(i), now: null, before: null, whole: null, isPreview: true, isDone: false, drawn: {},
      bench: new Bench(worker, module, (message) => this.#heard(this.arms[i], message)),
    }));
    /** @type {Lens | null} */
    this.lens = this.instants ? this.#lens((hear) => new Bench(worker, module, hear)) : null;
    this.replications = new Replications(
      (hear) => new Bench(worker, module, hear),
      () => this.#replicated(),
    );
    this.bet = new Bet(hero.bet, () => this.#redraw(), () => this.#findOut(), () => this.#redraw());
    /** @type {number | null} */ this.cursor_s = null;
    this.touched_ms = -Infinity;
    this.isDirty = false;
    /** Pictures to redraw.
     * @type {Set<string>} */
    this.due = new Set();
    /** Pictures that do not yet show the last complete runs.
     * @type {Set<string>} */
    this.unseen = new Set();
    /** @type {Record<string, import("./chart.js").Chart>} */ this.charts = {};
    this.isAnswered = false;
    this.asked_ms = 0;
    /** @type {number | null} */ this.drawn_ms = null;
    this.status = element("p", { class: "live-status" });
    this.problem = element("p", { class: "warning", role: "alert", hidden: "" });
    // On a narrow page it scrolls, also by keyboard.
    this.numbers = element("div", {
      class: "live-numbers", tabindex: "0", role: "region", "aria-label": "Numbers of the runs",
    });
    this.files = element("div", { class: "live-files" });
    /** All controls but the first. */
    this.more = /** @type {HTMLDetailsElement} */ (element("details", { class: "live-more" }));
    this.mark = element("div", { class: "live-mark", "aria-hidden": "true" }, element("span", {}, BET_NAME));
    /** @type {Record<string, HTMLCanvasElement>} */ this.canvases = {};
    /** Complete runs of all arms. */
    this.done = 0;
    this.#build(place);
    this.run();
  }

  /** @param {HTMLElement} place */
  #build(place) {
    const pictures = this.view.pictures(this.hero).map(({ id, label, height }) => {
      const canvas = /** @type {HTMLCanvasElement} */ (
        element("canvas", { role: "img", "data-picture": id, style: `height:${height}px` })
      );
      this.canvases[id] = canvas;
      return element("div", { class: "live-picture" }, element("p", { class: "live-label" }, label), canvas);
    });
    const [first] = pictures;
    first.classList.add("first");
    first.append(this.mark);
    this.#drag(this.mark);
    const [control, ...others] = this.controls;
    this.more.append(
      element("summary", {}, `More to move: ${others.map((each) => each.control.label).join(", ")}`),
      ...others.map((each) => each.element));
    const form = element("form", { class: "live-controls", "aria-label": "Settings", autocomplete: "off" },
      control.element, ...(others.length ? [this.more] : []));
    form.addEventListener("submit", (event) => event.preventDefault());
    const take = element("details", {}, element("summary", {}, "Take these runs with you"), this.files);
    place.replaceChildren(
      this.problem,
      element("div", { class: "live-grid", style: `--rows: ${pictures.length + (this.lens ? 1 : 0)}` },
        element("div", { class: "live-top" }, first,
          element("div", { class: "live-side" }, form, element("p", { class: "live-watch" }, this.hero.watch),
            this.bet.element, this.status, this.numbers)),
        ...(this.lens ? [this.lens.element] : []),
        ...pictures.slice(1)),
      take,
    );
    place.classList.add("is-live");
    this.#point();
    // On a narrow page it stays visible: scrolled content stops below it.
    new ResizeObserver(() => place.style.setProperty("--first-height", `${first.offsetHeight}px`)).observe(first);
    new ResizeObserver(() => this.#redraw()).observe(this.canvases[first.querySelector("canvas")?.dataset.picture ?? ""]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      forgetColours();
      this.#redraw();
      this.#tell();
    });
  }

  // --- user input ---------------------------------------------------------------------------

  #moved() {
    const now = performance.now();
    if (now - this.touched_ms > QUIET_MS) {
      for (const arm of this.arms) arm.before = arm.whole;
    }
    this.touched_ms = now;
    this.replications.stop();
    if (this.isDirty) return;
    this.isDirty = true;
    requestAnimationFrame(() => this.run());
  }

  #findOut() {
    for (const each of this.controls) {
      const place = this.hero.bet.settings[each.control.id] ?? each.place;
      // The moved control must remain visible.
      if (place !== each.place && this.more.contains(each.element)) this.more.open = true;
      each.put(place);
    }
    this.touched_ms = -Infinity;
    this.#moved();
  }

  /** Moves the bet's mark by its handle: touching elsewhere scrolls the page.
   * @param {HTMLElement} mark */
  #drag(mark) {
    mark.addEventListener("pointerdown", (event) => {
      mark.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    mark.addEventListener("pointermove", (event) => {
      const chart = this.charts[this.#first];
      if (!mark.hasPointerCapture(event.pointerId) || !chart) return;
      const box = chart.pen.canvas.getBoundingClientRect();
      const { moves } = this.view.betPlace(this.hero);
      const value = moves === "y" ? chart.y.value(event.clientY - box.top) : chart.x.value(event.clientX - box.left);
      this.bet.put(value, () => this.#redraw());
    });
  }

  /** One cursor for all pictures over time. */
  #point() {
    for (const id of this.clocks) {
      const canvas = this.canvases[id];
      canvas.addEventListener("pointermove", (event) => {
        const chart = this.charts[id];
        if (!chart) return;
        const value = chart.x.value(event.offsetX);
        if (this.instants?.includes(id)) this.lens?.look(value);
        this.#look(value);
      });
      canvas.addEventListener("pointerleave", () => this.#look(this.#looked_s));
    }
  }

  /** Position of the lens while it is open. */
  get #looked_s() {
    return this.lens?.isOpen && this.instants?.length ? this.lens.at_s : null;
  }

  /** @param {(hear: (message: any) => void) => Bench} makeBench */
  #lens(makeBench) {
    const { duration_ns, warm_up_ns } = this.arms[0].variants[0].resolved;
    const { beside } = this.view;
    const { options } = this.hero;
    return new Lens({
      arms: this.arms,
      areBeside: beside !== undefined,
      begin_s: beside ? warm_up_ns / NS_PER_S : 0,
      length_s: options.window_s ?? options.sending_s ?? duration_ns / NS_PER_S,
      packetBytes: options.packet_bytes ?? LARGEST_BYTES,
      makeBench,
      lanes: (id) => this.#lanes(this.arms.find((arm) => arm.id === id) ?? this.arms[0]),
      inkOf: beside?.inkOf ?? ((flow) => HUES[flow % HUES.length]),
      moved: () => this.#look(this.#looked_s),
    });
  }

  /** The queues of an arm, with the orders to a simulator for each.
   * @param {RunArm} arm */
  #lanes(arm) {
    const { queues, resolved, changes } = this.#asked(arm);
    return queues.map((queue, i) => {
      const label = queues.length > 1 ? `${arm.label}: ${i + 1} of ${queues.length}` : arm.label;
      return { label, queue, resolved, changes };
    });
  }

  /** Sets the cursor of all pictures over time.
   * @param {number | null} cursor_s */
  #look(cursor_s) {
    this.cursor_s = cursor_s;
    this.#redraw(this.clocks);
  }

  /** The largest picture. */
  get #first() {
    return Object.keys(this.canvases)[0];
  }

  /** Pictures whose time axis the lens uses; null without a lens.
   * @returns {string[] | null} */
  get instants() {
    const { instants, beside } = this.view;
    return beside ? this.clocks : (instants ?? null);
  }

  /** Pictures with a horizontal time axis.
   * @returns {string[]} */
  get clocks() {
    const { clocks } = this.view;
    return typeof clocks === "function" ? clocks(this.hero) : clocks;
  }

  // --- the simulators -----------------------------------------------------------------------

  /** @param {RunArm} arm @returns {{resolved: any, queues: number[], changes: object[]}} */
  #asked(arm) {
    /** @type {Map<string, any>} */
    const changes = new Map();
    let variant = 0;
    for (const { stop } of this.controls) {
      variant = stop.variant ?? variant;
      for (const [path, value] of [...stop.changes, ...(stop.of_arm[arm.id] ?? [])]) changes.set(path, value);
    }
    // A change that adds an object precedes the changes to its fields.
    const inOrder = [...changes].sort(([one], [other]) => one.length - other.length);
    return { ...arm.variants[variant], changes: inOrder.map(([path, value]) => ({ path, value })) };
  }

  run() {
    this.isDirty = false;
    this.lens?.wait();
    this.replications.stop();
    this.asked_ms = performance.now();
    this.drawn_ms = null;
    this.isAnswered = false;
    const { form, options } = this.hero;
    for (const arm of this.arms) {
      arm.isDone = false;
      arm.drawn = {};
      arm.bench.send("run", { form, options, replication: 0, ...this.#asked(arm) });
    }
  }

  /** @param {RunArm} arm @param {any} message */
  #heard(arm, message) {
    if (message.kind === "problem") return this.#fail(Object.values(message.parts).filter(Boolean).join(": "));
    if (message.kind === "fault") return this.#fail(message.text);
    if (message.kind !== "soFar" && message.kind !== "done") return;
    this.problem.hidden = true;
    this.isAnswered = true;
    arm.now = message.found;
    arm.isPreview = message.kind === "soFar";
    if (arm.isPreview) arm.now_s = message.now_ns / NS_PER_S;
    if (message.kind === "done") this.#finish(arm, message);
    else this.#redraw();
  }

  /** Numbers computed from the complete runs of all arms. */
  #compare() {
    const numbers = this.view.compared?.(this.arms) ?? [];
    this.arms.forEach(({ now }, i) => Object.assign(now?.numbers ?? {}, numbers[i]));
  }

  /** @param {RunArm} arm @param {any} message */
  #finish(arm, { found, digest, events, toml, name, duration_ns }) {
    Object.assign(arm, { whole: found, isDone: true, digest, events, toml, name });
    arm.duration_s = duration_ns / NS_PER_S;
    if (!this.arms.every((each) => each.isDone)) {
      this.#redraw();
      return;
    }
    this.finished_ms = performance.now() - this.asked_ms;
    this.#compare();
    this.#settle();
    this.#take();
    this.lens?.soon();
    this.#replicate();
    this.unseen = new Set(Object.keys(this.canvases));
    this.#redraw();
  }

  #replicate() {
    const { form, options } = this.hero;
    const arms = this.arms.map((arm) => this.#asked(arm));
    this.replications.soon({ form, options, arms }, this.arms.map(({ now }) => now?.numbers ?? {}));
  }

  /** A further run of every arm. */
  #replicated() {
    this.arms.forEach((arm, i) => (arm.drawn = this.replications.drawn[i]));
    this.#redraw([this.#first]);
  }

  /** The bet is decided when its setting has been run. */
  #settle() {
    const { settings, arm, number } = this.hero.bet;
    const isIt = this.controls.every(({ control, place }) => (settings[control.id] ?? place) === place);
    if (!this.bet.isOpen || !isIt) return;
    const found = this.arms.find((each) => each.id === arm);
    if (found?.now) this.bet.settle(found.now.numbers[number]);
  }

  /** @param {string} words */
  #fail(words) {
    this.problem.textContent = `This cannot be run: ${words}`;
    this.problem.hidden = false;
  }

  // --- drawing ------------------------------------------------------------------------------

  /** @param {string[]} ids of pictures that have changed */
  #redraw(ids = Object.keys(this.canvases)) {
    const isDrawing = this.due.size > 0;
    for (const id of ids) this.due.add(id);
    if (!isDrawing) requestAnimationFrame(() => this.#draw());
  }

  /** @returns {import("./views.js").State} */
  #state() {
    const values = Object.fromEntries(this.controls.map(({ control, stop }) => [control.id, stop.value]));
    const curves = this.hero.curves.filter((/** @type {any} */ each) => isShown(each, values));
    const { hero, arms, cursor_s } = this;
    return {
      hero, options: hero.options, values, arms, curves, cursor_s,
      isBetOpen: this.bet.isOpen, isBetShown: this.bet.isShown, bet: this.bet.value,
    };
  }

  /** Draws one picture per frame: compositing runs in the same thread and takes longer than drawing. The
   * picture that has waited longest is first. */
  #draw() {
    const [id] = this.due;
    const state = this.#state();
    this.due.delete(id);
    this.charts[id] = this.view.draw(id, this.canvases[id], state);
    this.canvases[id].setAttribute("aria-label", this.view.words(state)[id]);
    if (id === this.#first) {
      this.#placeMark();
      this.#tell();
      if (this.isAnswered) this.drawn_ms ??= performance.now() - this.asked_ms;
    }
    // Code that waits for `done` may read the page then.
    if (this.unseen.delete(id) && this.unseen.size === 0) this.done += 1;
    if (this.due.size) requestAnimationFrame(() => this.#draw());
  }

  #placeMark() {
    const chart = this.charts[this.#first];
    if (!chart) return;
    const { canvas } = chart.pen;
    const place = this.view.betPlace(this.hero);
    const { x, y } = betAt(chart, place, this.bet.value);
    this.mark.hidden = !this.bet.isShown;
    this.mark.classList.toggle("settled", !this.bet.isOpen);
    this.mark.classList.toggle("sideways", place.moves === "x");
    this.mark.dataset.name = nameSide(chart, x, y, place.moves === "x");
    this.mark.style.left = `${canvas.offsetLeft + x}px`;
    this.mark.style.top = `${canvas.offsetTop + y}px`;
  }

  #tell() {
    const preview = this.arms.find((each) => each.isPreview && each.now);
    this.status.textContent = preview ? `preview: the first ${timeText(preview.now_s)} of the run` : "";
    this.numbers.replaceChildren(...table(this.view, this.arms, this.replications));
  }

  #take() {
    this.files.replaceChildren(...this.arms.flatMap((arm) => {
      const id = `live-toml-${arm.id}`;
      const text = element("textarea", { id, readonly: "", rows: "8", spellcheck: "false", "data-arm": arm.id });
      text.textContent = arm.toml;
      const save = element("button", { type: "button" }, `Save ${arm.name}.toml`);
      save.addEventListener("click", () => {
        const url = URL.createObjectURL(new Blob([arm.toml], { type: "application/toml" }));
        element("a", { href: url, download: `${arm.name}.toml` }).click();
        setTimeout(() => URL.revokeObjectURL(url), 10_000);
      });
      return [
        element("p", {}, element("label", { for: id }, `${arm.label}, as a file`), " ", save),
        text,
        element("p", { class: "hint" }, element("code", {}, `dumbbell run ${arm.name}.toml`),
          ` gives the same digest, `, element("code", { "data-digest": arm.id }, arm.digest),
          `, of ${arm.events.toLocaleString("en")} events.`),
      ];
    }));
  }
}

/** Side of the bet's mark with room for its name.
 * @param {import("./chart.js").Chart} chart @param {number} x px @param {number} y px
 * @param {boolean} isUpright */
function nameSide(chart, x, y, isUpright) {
  const half = isUpright ? 8 : 26;
  const width = chart.pen.measureText(BET_NAME).width + 2 * 3;
  /** @type {[string, number, number][]} */
  const places = [
    ["left", x - half - width, y], ["right", x + half, y],
    ["above", x - width / 2, y - (isUpright ? 34 : 18)], ["below", x - width / 2, y + (isUpright ? 34 : 18)],
  ];
  const isFree = (/** @type {[string, number, number]} */ [, from, at]) =>
    from > chart.left && from + width < chart.right + 12 && at > chart.top && at < chart.bottom && !chart.isTaken(from, from + width, at);
  return (places.find(isFree) ?? places[0])[0];
}

/** @param {{worker: string, module: string, style: string}} bundled */
export async function begin({ worker, module, style }) {
  const [place, declared] = ["live", "live-hero"].map((id) => document.getElementById(id));
  if (!place || !declared) return;
  document.head.append(element("style", {}, style));
  const hero = JSON.parse(declared.textContent ?? "");
  // For tests and benchmarks.
  /** @type {any} */ (window).liveFigure = new LiveFigure(hero, place, worker, await unpacked(module));
}
