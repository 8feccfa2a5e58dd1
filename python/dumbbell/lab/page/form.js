// The form: fields for adjustable parameters; those of numbers are rebuilt for each discipline.
import { controlsOf } from "./controls.js";
import { endOf, endPath } from "./ends.js";
import { Field, element } from "./fields.js";
import { groupsOf } from "./numbers.js";

/** Texts whose numbers have fields: key in a link's end, and title of the group. */
const TEXTS = /** @type {const} */ ({ qdisc: "numbers of the discipline", police: "numbers of the policer" });

/** Fields of one experiment. */
export class Form {
  /**
   * @param {{controllers: string[], numbers: Record<string, any[]>, examples: string[]}} known
   * @param {(control: import("./controls.js").Control, value: any, isOver: boolean) => void} changed
   */
  constructor(known, changed) {
    this.known = known;
    this.changed = changed;
    this.queue = 0;
    /** As shown last. @type {any} */
    this.described = null;
    /** @type {Field[]} */
    this.fixed = [];
    /** Numbers of each text, and the text from which they were built.
     * @type {Record<string, {place: HTMLElement, words: string, shape: string, fields: Field[]}>} */
    this.numbers = {};
  }

  /** @returns {Field[]} */
  get fields() {
    return [...this.fixed, ...Object.values(this.numbers).flatMap(({ fields }) => fields)];
  }

  /** Called once per experiment.
   * @param {any} base the experiment before changes @param {number} queue */
  build(base, queue) {
    this.queue = queue;
    this.fixed = [];
    this.numbers = {};
    const { others, ...places } = controlsOf(base, queue, this.known);
    for (const [place, controls] of Object.entries(places)) {
      const fields = controls.map((control) => new Field(control, this.changed));
      const elements = fields.flatMap((field) => [field.element, ...this.#placeOf(field.control.id)]);
      document.getElementById(`${place}-fields`)?.replaceChildren(...elements);
      this.fixed.push(...fields);
    }
    if (others.names.length) document.getElementById("traffic-fields")?.append(this.#othersOf(others));
  }

  /** Fields of further groups of flows, folded; they are created when they are unfolded.
   * @param {import("./controls.js").OtherGroups} others */
  #othersOf({ names, controls }) {
    const words = `${names.length} more ${names.length > 1 ? "groups" : "group"} of flows`;
    const folded = element("details", { id: "other-groups" }, element("summary", {}, words));
    folded.addEventListener("toggle", () => {
      const fields = controls().map((control) => new Field(control, this.changed));
      folded.append(...fields.map((field) => field.element));
      this.fixed.push(...fields);
      for (const field of fields) field.show(this.described);
    }, { once: true });
    return folded;
  }

  /** Position of the numbers of a text.
   * @param {string} id of its control */
  #placeOf(id) {
    if (!(id in TEXTS)) return [];
    const place = element("div", { class: "numbers", role: "group", "aria-label": TEXTS[/** @type {keyof typeof TEXTS} */ (id)] });
    this.numbers[id] = { place, words: "", shape: "", fields: [] };
    return [place];
  }

  /** Shows the values of the description.
   * @param {any} described */
  show(described) {
    this.described = described;
    for (const key of Object.keys(this.numbers)) this.#number(key, described);
    for (const field of this.fields) field.show(described);
  }

  /** Creates fields for the current numbers.
   * @param {string} key @param {any} described */
  #number(key, described) {
    const own = this.numbers[key];
    const object = endOf(described, this.queue)[key];
    // While a slider moves, only values change.
    const words = JSON.stringify(object, (_, value) => (typeof value === "number" ? null : value));
    if (words === own.words) return;
    own.words = words;
    const kind = key === "police" ? key : object.kind;
    const groups = groupsOf(object, `${endPath(this.queue)}.${key}`, key, kind, this.known.numbers, kind);
    const shape = JSON.stringify(groups.map(({ title, controls }) => [title, controls.map(({ id }) => id)]));
    if (shape === own.shape) return;
    own.shape = shape;
    own.fields = [];
    own.place.replaceChildren(...groups.flatMap(({ title, controls }, i) => this.#group(own.fields, i ? title : "", controls)));
  }

  /** @param {Field[]} all list to which they are added @param {string} title
   * @param {import("./controls.js").Control[]} controls */
  #group(all, title, controls) {
    const fieldOf = (/** @type {import("./controls.js").Control} */ control) => {
      const field = new Field(control, this.changed);
      all.push(field);
      return field.element;
    };
    const shown = controls.filter(({ isFolded }) => !isFolded).map(fieldOf);
    const folded = controls.filter(({ isFolded }) => isFolded).map(fieldOf);
    const words = `${folded.length} ${folded.length > 1 ? "numbers that are" : "number that is"} not set`;
    return [
      ...(title ? [element("p", { class: "within" }, title)] : []),
      ...shown,
      ...(folded.length ? [element("details", {}, element("summary", {}, title ? `${words}, ${title}` : words), ...folded)] : []),
    ];
  }

  /** Shows an error message beside the field that it concerns.
   * @param {string} path @param {string} sentence @returns {boolean} whether there is such a field */
  tell(path, sentence) {
    const isOf = (/** @type {Field} */ { control }) => control.paths.some((each) => path.startsWith(each));
    // The longest matching path is that of the number.
    const [field] = this.fields.filter(isOf).sort((one, other) => (other.control.paths[0]?.length ?? 0) - (one.control.paths[0]?.length ?? 0));
    field?.tell(sentence);
    return field !== undefined;
  }
}
