// Parts of a live figure in the page: controls, the bet, the table.
import { element, sample } from "../page/fields.js";
import { intervalText } from "../page/intervals.js";
import { colour } from "../page/plot.js";
import { sensible } from "../page/words.js";
import { LEAST_RUNS } from "./replications.js";

/** A slider or a switch. */
export class Control {
  /** @param {any} control of the hero @param {() => void} moved */
  constructor(control, moved) {
    this.control = control;
    this.place = control.start;
    const id = `live-${control.id}`;
    const isSwitch = control.kind === "switch";
    const shared = { id, "data-control": control.id };
    /** @type {Record<string, string>} */
    const own = isSwitch
      ? { type: "checkbox", role: "switch" }
      : { type: "range", min: "0", max: String(control.stops.length - 1), step: "1" };
    this.input = /** @type {HTMLInputElement} */ (element("input", { ...shared, ...own }));
    this.output = element("output", { for: id });
    const label = element("label", { for: id }, control.label);
    this.element = element("div", { class: `live-control ${control.kind}` }, label, this.output, this.input);
    this.input.addEventListener("input", () => {
      this.place = isSwitch ? Number(this.input.checked) : Number(this.input.value);
      this.show();
      moved();
    });
    this.show();
  }

  get stop() {
    return this.control.stops[this.place];
  }

  /** @param {number} place */
  put(place) {
    this.place = place;
    this.show();
  }

  show() {
    this.input.value = String(this.place);
    if (this.control.kind === "switch") this.input.checked = this.place === 1;
    this.output.textContent = this.stop.words;
    if (this.control.kind !== "switch") this.input.setAttribute("aria-valuetext", this.stop.words);
  }
}

/** Steps of the bet's scale. */
const BET_STEPS = 200;

/** The mark of the reader's prediction before the run. */
export class Bet {
  /** @param {any} bet of the hero @param {() => void} moved @param {() => void} asked
   * @param {() => void} left */
  constructor(bet, moved, asked, left) {
    this.bet = bet;
    this.isOpen = true;
    this.wasMoved = false;
    this.value = bet.start;
    const step = String((bet.most - bet.least) / BET_STEPS);
    this.input = /** @type {HTMLInputElement} */ (
      element("input", { id: "live-bet", type: "range", min: String(bet.least), max: String(bet.most), step })
    );
    this.output = element("output", { for: "live-bet" });
    this.said = element("p", { class: "live-outcome", role: "status", id: "live-outcome" });
    this.run = element("button", { type: "button", id: "live-find-out" }, "Find out");
    const skip = element("button", { type: "button", id: "live-no-bet" }, "No bet, show the theory");
    this.form = element("div", {},
      element("p", { id: "live-question" }, bet.question),
      element("div", { class: "live-control slider" },
        element("label", { for: "live-bet" }, "Your bet"), this.output, this.input),
      element("p", { class: "live-buttons" }, this.run, skip));
    this.element = element("section", { class: "live-bet", "aria-label": "A bet" }, this.form, this.said);
    this.input.addEventListener("input", () => this.put(Number(this.input.value), moved));
    this.run.addEventListener("click", asked);
    skip.addEventListener("click", () => {
      this.close("");
      left();
    });
    this.#show();
  }

  /** Its mark is visible until the bet is skipped. */
  get isShown() {
    return this.isOpen || this.wasMoved;
  }

  /** @param {number} value @param {() => void} moved */
  put(value, moved) {
    this.value = Math.min(this.bet.most, Math.max(this.bet.least, value));
    this.wasMoved = true;
    this.#show();
    moved();
  }

  /** @param {number} value */
  words(value) {
    return `${sensible(value)} ${this.bet.unit}`;
  }

  #show() {
    this.input.value = String(this.value);
    const words = this.words(this.value);
    this.output.textContent = words;
    this.input.setAttribute("aria-valuetext", words);
  }

  /** @param {number} value the result */
  settle(value) {
    const said = this.wasMoved ? `You bet ${this.words(this.value)}. ` : "";
    this.close(`${said}It is ${this.words(value)}. ${this.bet.lesson}`);
  }

  /** @param {string} words */
  close(words) {
    this.isOpen = false;
    // The focus of a removed button moves to the content that it opened.
    const hadFocus = this.form.contains(document.activeElement);
    this.form.hidden = true;
    this.said.textContent = words;
    this.said.tabIndex = -1;
    if (hadFocus && words) this.said.focus({ preventScroll: true });
    // The question above was removed: the content may have moved below the part that stays visible.
    if (words) this.said.scrollIntoView({ block: "nearest" });
  }
}

/** The mean of the runs so far, if all of them have the number.
 * @param {number[]} values @param {number} factor */
function meanInWords(values, factor) {
  const known = values.filter(Number.isFinite);
  if (known.length < values.length) return known.length ? `in ${known.length} of ${values.length} runs` : "";
  return intervalText(values, factor, "");
}

/** Numbers of the arms' runs, with intervals if there is more than one run.
 * @param {import("./views.js").View} view
 * @param {import("./views.js").Arm[]} arms @param {{runs: number, areAlike: boolean}} replications
 * @returns {HTMLElement[]} */
export function table(view, arms, { runs, areAlike }) {
  const shown = (/** @type {number | undefined} */ value, /** @type {string} */ unit, factor = 1) => {
    if (value === undefined) return "";
    // Integers without unit are counts.
    const isCount = !unit && factor === 1 && Number.isInteger(value);
    const words = isCount ? value.toLocaleString("en") : sensible(factor * value);
    return `${words} ${Number.isFinite(value) ? unit : ""}`.trim();
  };
  const head = arms.map(({ label, ink, dash }) =>
    element("th", { scope: "col" }, sample(colour(ink), dash), ` ${label}`));
  const rows = view.numbers.map(({ id, label, unit, factor }) =>
    element("tr", {},
      element("th", { scope: "row" }, label),
      ...arms.map((arm) => {
        const value = arm.now?.numbers[id];
        const values = arm.drawn[id] ?? [];
        const mean = values.length >= LEAST_RUNS && !areAlike ? meanInWords(values, factor ?? 1) : "";
        return element("td", { "data-arm": arm.id, "data-number": id, "data-value": String(value) },
          shown(value, unit, factor), ...(mean ? [element("span", { class: "live-interval" }, mean)] : []));
      })));
  const several = runs >= LEAST_RUNS ? `Below each number: the mean of ${runs} runs with other random numbers, and its 95 % interval: 19 in 20 such intervals hold the mean of very many runs.` : "";
  const words = areAlike ? `Nothing here is random: ${runs} runs gave the same.` : several;
  return [
    element("table", {},
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "this run"), ...head)),
      element("tbody", {}, ...rows)),
    element("p", { class: "live-runs", "data-runs": String(runs) }, words),
  ];
}
