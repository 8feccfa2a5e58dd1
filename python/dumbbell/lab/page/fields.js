// Controls as fields of a form, each with its label, what it says and what is wrong beside it.

/** @param {string} name @param {Record<string, string>} attributes @param {(Node | string)[]} inside */
export function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

/** A piece of a line, as it is drawn in figures.
 * @param {string} colour @param {number[]} dash */
export function sample(colour, dash) {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "line");
  const all = { x1: "0", x2: "30", y1: "5", y2: "5", stroke: colour, "stroke-width": "3" };
  for (const [key, value] of Object.entries({ ...all, "stroke-dasharray": dash.join(" ") })) {
    line.setAttribute(key, value);
  }
  picture.setAttribute("aria-hidden", "true");
  picture.append(line);
  return picture;
}

/** Round numbers, on a logarithmic scale near enough: those with so many digits.
 * @param {number} least @param {number} most @param {number} digits @returns {number[]} */
export function roundNumbers(least, most, digits) {
  const found = [];
  for (let power = Math.floor(Math.log10(least)) - digits + 1; 10 ** power <= most; power++) {
    for (let n = 10 ** (digits - 1); n < 10 ** digits; n++) {
      const value = Number(`${n}e${power}`);
      if (value >= least * 0.9999 && value <= most * 1.0001) found.push(value);
    }
  }
  return found;
}

/** Place of the number that is nearest.
 * @param {number[]} sorted @param {number} value */
function nearest(sorted, value) {
  const above = sorted.findIndex((each) => each >= value);
  if (above < 0) return sorted.length - 1;
  return above > 0 && value - sorted[above - 1] < sorted[above] - value ? above - 1 : above;
}

/** @param {import("./controls.js").Control} control */
function inputOf(control) {
  const id = `control-${control.id}`;
  const shared = { id, "aria-describedby": `${id}-problem` };
  if (control.kind === "select") {
    const options = (control.options ?? []).map((each) => element("option", { value: each }, each));
    return element("select", shared, ...options);
  }
  if (control.kind === "slider") {
    return element("input", { ...shared, type: "range", min: "0", step: "1" });
  }
  if (control.kind === "number") {
    const { least = 0, most = 1 } = control;
    return element("input", { ...shared, type: "number", min: String(least), max: String(most) });
  }
  return element("textarea", { ...shared, rows: "1", spellcheck: "false", autocomplete: "off" });
}

/** A field of a form. */
export class Field {
  /**
   * @param {import("./controls.js").Control} control
   * @param {(control: import("./controls.js").Control, value: any, isOver: boolean) => void} changed
   */
  constructor(control, changed) {
    this.control = control;
    this.input = /** @type {HTMLInputElement} */ (inputOf(control));
    /** Of a slider.
     * @type {number[]} */
    this.values = [];
    if (control.kind === "slider") {
      const { least = 1, most = 1, digits = 2 } = control;
      this.values = roundNumbers(least, most, digits);
      this.input.max = String(this.values.length - 1);
    }
    this.output = element("output", { for: this.input.id, "aria-live": "off" });
    this.problem = element("p", { class: "problem", id: `${this.input.id}-problem`, role: "status" });
    const label = element("label", { for: this.input.id }, control.label);
    this.element = element("div", { class: `field ${control.kind}` },
      element("div", { class: "head" }, label, this.output), this.input, this.problem);
    this.input.addEventListener("input", () => changed(control, this.value(), false));
    this.input.addEventListener("change", () => changed(control, this.value(), true));
  }

  /** @returns {any} */
  value() {
    if (this.control.kind === "slider") return this.values[Number(this.input.value)];
    return this.control.kind === "number" ? Number(this.input.value) : this.input.value;
  }

  /** Shows what the description has.
   * @param {any} described */
  show(described) {
    const value = this.control.read(described);
    this.input.disabled = value === null;
    this.element.hidden = value === null && this.control.hides === true;
    this.tell("");
    if (value === null) {
      this.output.textContent = "";
    } else if (this.control.kind === "slider") {
      // A value between two of the slider's stays what it is until the slider is moved.
      this.input.value = String(nearest(this.values, Number(value)));
      const words = this.control.words?.(value, described) ?? String(value);
      this.output.textContent = words;
      this.input.setAttribute("aria-valuetext", words);
    } else if (document.activeElement !== this.input) {
      this.input.value = String(value);
    }
  }

  /** What is wrong with it.
   * @param {string} text */
  tell(text) {
    if (text !== this.problem.textContent) this.problem.textContent = text;
    this.input.setAttribute("aria-invalid", String(text !== ""));
  }
}
