// Controls as form fields, each with its label, value and error message.

/** @param {string} name @param {Record<string, string>} attributes @param {(Node | string)[]} inside */
export function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

/** List of experiments to choose from, grouped by name where they have a group.
 * @param {{id: string, title: string, group: string}[]} experiments */
export function choices(experiments) {
  /** @type {HTMLElement[]} */
  const found = [];
  for (const { id, title, group } of experiments) {
    const choice = element("option", { value: id }, title);
    const last = found.at(-1);
    if (group === "") found.push(choice);
    else if (last?.getAttribute("label") === group) last.append(choice);
    else found.push(element("optgroup", { label: group }, choice));
  }
  return found;
}

/** A sample of a line, as drawn in figures.
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

/** Rounded numbers, nearly equidistant on a logarithmic scale, with the given number of digits.
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

/** Index of the nearest number.
 * @param {(number | null)[]} sorted @param {number} value */
function nearest(sorted, value) {
  const far = sorted.map((each) => (each === null ? Infinity : Math.abs(each - value)));
  return far.indexOf(Math.min(...far));
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

/** Sets the height to that of the text, so that nothing is clipped.
 * @param {HTMLElement} area */
function grow(area) {
  area.style.height = "auto";
  // An element outside the document has no height yet.
  if (area.scrollHeight) area.style.height = `${area.scrollHeight + area.offsetHeight - area.clientHeight}px`;
}

/** A form field. */
export class Field {
  /**
   * @param {import("./controls.js").Control} control
   * @param {(control: import("./controls.js").Control, value: any, isOver: boolean) => void} changed
   */
  constructor(control, changed) {
    this.control = control;
    this.input = /** @type {HTMLInputElement} */ (inputOf(control));
    /** Stops of a slider.
     * @type {(number | null)[]} */
    this.values = [];
    if (control.kind === "slider") {
      const { least = 1, most = 1, digits = 2, stops } = control;
      this.values = stops ?? roundNumbers(least, most, digits);
      this.input.max = String(this.values.length - 1);
    }
    this.output = element("output", { for: this.input.id, "aria-live": "off" });
    this.problem = element("p", { class: "problem", id: `${this.input.id}-problem`, role: "status" });
    const label = element("label", { for: this.input.id }, control.label);
    this.element = element("div", { class: `field ${control.kind}` },
      element("div", { class: "head" }, label, this.output), this.input, this.problem);
    /** @type {{value: number | string | null, button: HTMLElement}[]} */
    this.chips = (control.chips ?? []).map((value) => this.#chip(value, changed));
    if (this.chips.length) this.input.after(this.#chipsInARow());
    if (control.effect) this.#explain(label, control.effect);
    this.input.addEventListener("input", () => changed(control, this.value(), false));
    if (control.kind === "text") {
      this.input.addEventListener("input", () => grow(this.input));
      const again = () => {
        if (this.input.isConnected) grow(this.input);
        else window.removeEventListener("resize", again);
      };
      window.addEventListener("resize", again);
    }
    this.input.addEventListener("change", () => changed(control, this.value(), true));
  }

  /** A button that sets a value.
   * @param {number | string | null} value
   * @param {(control: import("./controls.js").Control, value: any, isOver: boolean) => void} changed */
  #chip(value, changed) {
    const { control } = this;
    // For a text, the first word identifies it.
    const words = typeof value === "string" ? value.split(" ")[0] : control.chipWords?.(value) ?? String(value);
    const button = element("button", { type: "button", class: "chip", "aria-pressed": "false" }, words);
    button.addEventListener("click", () => {
      if (control.kind === "text") this.input.value = String(value);
      changed(control, value, true);
    });
    return { value, button };
  }

  #chipsInARow() {
    const name = `usual values of ${this.control.label}`;
    return element("div", { class: "chips", role: "group", "aria-label": name }, ...this.chips.map(({ button }) => button));
  }

  /** Shows the effect of a number as a tooltip, and to screen readers.
   * @param {HTMLElement} label @param {string} words */
  #explain(label, words) {
    label.title = words.replaceAll("`", "");
    this.input.setAttribute("aria-description", label.title);
  }

  /** @returns {any} */
  value() {
    if (this.control.kind === "slider") return this.values[Number(this.input.value)];
    return this.control.kind === "number" ? Number(this.input.value) : this.input.value;
  }

  /** Shows the value in the description.
   * @param {any} described */
  show(described) {
    const value = this.control.read(described) ?? null;
    const isNothing = value === null && !this.values.includes(null);
    this.input.disabled = isNothing;
    this.element.hidden = isNothing && this.control.hides === true;
    this.tell("");
    for (const chip of this.chips) {
      const isPressed = String(this.#isAt(chip.value, value));
      if (chip.button.getAttribute("aria-pressed") !== isPressed) chip.button.setAttribute("aria-pressed", isPressed);
    }
    if (isNothing) {
      this.output.textContent = "";
    } else if (this.control.kind === "slider") {
      // A value between two stops of the slider is kept until the slider is moved.
      this.input.value = String(value === null ? this.values.indexOf(null) : nearest(this.values, Number(value)));
      const words = this.control.words?.(value, described) ?? String(value);
      this.output.textContent = words;
      this.input.setAttribute("aria-valuetext", words);
    } else if (document.activeElement !== this.input && this.input.value !== String(value)) {
      this.input.value = String(value);
      // A change causes a new layout, so it is not made with every run.
      if (this.control.kind === "text") grow(this.input);
    }
  }

  /** Whether a chip equals the current value; for a text, its discipline.
   * @param {number | string | null} own @param {number | string | null} value */
  #isAt(own, value) {
    const first = (/** @type {string} */ each) => each.split(" ")[0];
    return typeof own === "string" && typeof value === "string" ? first(own) === first(value) : own === value;
  }

  /** Shows an error message.
   * @param {string} text */
  tell(text) {
    if (text !== this.problem.textContent) this.problem.textContent = text;
    this.input.setAttribute("aria-invalid", String(text !== ""));
  }
}
