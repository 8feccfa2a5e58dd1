// Controls as fields of a form, each with its label, what it says and what is wrong beside it.

const STEPS = 1000;

/** @param {string} name @param {Record<string, string>} attributes @param {(Node | string)[]} inside */
export function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
}

/** From a control's range to steps of a slider and back. @param {any} control */
function scaleOf({ least, most, isLog }) {
  const [from, to] = isLog ? [Math.log(least), Math.log(most)] : [least, most];
  return {
    step: (/** @type {number} */ value) =>
      Math.round(((isLog ? Math.log(Math.min(most, Math.max(least, value))) : value) - from) / (to - from) * STEPS),
    value: (/** @type {number} */ step) => {
      const at = from + (step / STEPS) * (to - from);
      return isLog ? Math.exp(at) : at;
    },
  };
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
    return element("input", { ...shared, type: "range", min: "0", max: String(STEPS), step: "1" });
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
    this.output = element("output", { for: this.input.id });
    this.problem = element("p", { class: "problem", id: `${this.input.id}-problem`, role: "status" });
    const label = element("label", { for: this.input.id }, control.label);
    this.element = element("div", { class: `field ${control.kind}` },
      element("div", { class: "head" }, label, this.output), this.input, this.problem);
    this.input.addEventListener("input", () => changed(control, this.value(), false));
    this.input.addEventListener("change", () => changed(control, this.value(), true));
  }

  /** @returns {any} */
  value() {
    if (this.control.kind === "slider") return scaleOf(this.control).value(Number(this.input.value));
    return this.control.kind === "number" ? Number(this.input.value) : this.input.value;
  }

  /** Shows what the description has. @param {any} described */
  show(described) {
    const value = this.control.read(described);
    this.input.disabled = value === null;
    this.tell("");
    if (value === null) return void (this.output.textContent = "");
    if (this.control.kind === "slider") {
      const { least, most } = this.control;
      const { step } = scaleOf(this.control);
      // A value beyond the slider's range stays what it is until the slider is moved.
      if (document.activeElement !== this.input || Number(value) < Number(least) || Number(value) > Number(most)) {
        this.input.value = String(step(Number(value)));
      }
      const words = this.control.words?.(value, described) ?? String(value);
      this.output.textContent = words;
      this.input.setAttribute("aria-valuetext", words);
    } else if (document.activeElement !== this.input) {
      this.input.value = String(value);
    }
  }

  /** What is wrong with it. @param {string} text */
  tell(text) {
    this.problem.textContent = text;
    this.input.setAttribute("aria-invalid", String(text !== ""));
  }
}
