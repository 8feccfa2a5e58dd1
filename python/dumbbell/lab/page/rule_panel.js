// The panel in which a user writes a congestion control rule.
import { element } from "./fields.js";
import { LONGEST_RULE, RuleRun } from "./rule_worker.js";
import { EXAMPLES } from "./rules.js";
import { timeText } from "./words.js";

const NS_PER_S = 1e9;
/** Minimum and maximum lines of the text box. */
const FEWEST_ROWS = 8;
const MOST_ROWS = 22;
/** Id of the user's text among the examples. */
const OWN = "own";

const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/**
 * Interface of the page for the panel. `ruled` is called after a run has ended.
 * @typedef {{order: () => any, described: () => any, group: () => string, begin: () => void, edited: () => void,
 *   picture: (message: any) => void, ruled: (message: any) => void}} Desk
 */

/** The text box, its error lines, and the run of its rule. */
export class RulePanel {
  /** @param {string} harness source of the closed worker @param {Uint8Array} module @param {Desk} desk */
  constructor(harness, module, desk) {
    this.harness = harness;
    this.module = module;
    this.desk = desk;
    /** @type {Promise<WebAssembly.Module> | null} */ this.compiled = null;
    /** @type {RuleRun | null} */ this.run = null;
    /** The user's text, to return to it from an example. */
    this.own = "";
    $("rule-example").append(
      ...EXAMPLES.map(({ id, title }) => element("option", { value: id }, title)),
      element("option", { value: OWN, hidden: "" }, "your own"),
    );
    $("rule").maxLength = LONGEST_RULE;
    $("rule").addEventListener("input", () => this.#edited());
    $("rule").addEventListener("scroll", () => ($("rule-lines").scrollTop = $("rule").scrollTop));
    $("rule").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#begin();
    });
    $("rule-example").addEventListener("change", () => {
      const { value } = $("rule-example");
      this.#put(EXAMPLES.find(({ id }) => id === value)?.text ?? this.own);
    });
    $("rule-run").addEventListener("click", () => (this.run ? this.#stopped() : this.#begin()));
    this.bring(null);
  }

  /** The text for a link; null if it is an unchanged example. */
  get carried() {
    const { value } = $("rule");
    return EXAMPLES.some(({ text }) => text === value) ? null : String(value);
  }

  /** Shows the rule of a link without running it; null for none.
   * @param {string | null} text */
  bring(text) {
    this.stop();
    $("rule-brought").hidden = text === null;
    if (text === null) {
      if ($("rule").value === "") this.#put(EXAMPLES[0].text);
      return;
    }
    $("rule-panel").open = true;
    this.own = text;
    this.#choose(OWN);
    this.#put(text);
  }

  /** @param {any} described */
  show(described) {
    const is = described.resolved.flows.some((/** @type {any} */ flow) => flow.tcp);
    $("rule-run").disabled = !is;
  }

  /** @param {string} id */
  #choose(id) {
    $("rule-example").lastElementChild.hidden = this.own === "";
    $("rule-example").value = id;
  }

  /** @param {string} text */
  #put(text) {
    $("rule").value = text;
    this.#lines();
    this.#tell("", 0);
    this.desk.edited();
  }

  #edited() {
    this.own = $("rule").value;
    this.#choose(OWN);
    this.#lines();
    this.desk.edited();
  }

  #lines() {
    const many = $("rule").value.split("\n").length;
    $("rule").rows = Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, many));
    const { children } = $("rule-lines");
    while (children.length > many) children[many].remove();
    while (children.length < many) $("rule-lines").append(element("div", {}, String(children.length + 1)));
    $("rule-lines").scrollTop = $("rule").scrollTop;
  }

  /** Shows an error at its line; 0 if the line is unknown.
   * @param {string} words @param {number} line */
  #tell(words, line) {
    $("rule-problem").textContent = line > 0 ? `Line ${line}: ${words}` : words;
    $("rule").setAttribute("aria-invalid", String(words !== ""));
    for (const each of $("rule-lines").children) each.classList.toggle("wrong", each.textContent === String(line));
    if (line < 1) return;
    const before = String($("rule").value).split("\n").slice(0, line - 1);
    const from = before.reduce((sum, each) => sum + each.length + 1, 0);
    $("rule").setSelectionRange(from, from);
    const height = $("rule").scrollHeight / Math.max(1, $("rule-lines").children.length);
    const isSeen = line * height > $("rule").scrollTop && line * height < $("rule").scrollTop + $("rule").clientHeight;
    if (!isSeen) $("rule").scrollTop = (line - 3) * height;
  }

  #begin() {
    if (this.run || $("rule-run").disabled) return;
    this.desk.begin();
    this.#tell("", 0);
    $("rule-brought").hidden = true;
    $("rule-words").textContent = "";
    $("rule-run").textContent = "Stop";
    this.compiled ??= WebAssembly.compile(/** @type {any} */ (this.module));
    const group = this.desk.group();
    const order = { ...this.desk.order(), group };
    const text = $("rule").value;
    this.run = new RuleRun(this.harness, this.compiled, text, order, (message) => this.#heard(message, order));
  }

  /** Stops the run, because another activity starts. */
  stop() {
    this.run?.stop();
    this.run = null;
    $("rule-run").textContent = "Run the rule";
    $("rule-time").textContent = "";
    $("rule-words").textContent = "";
  }

  #stopped() {
    this.stop();
    $("rule-words").textContent = "Stopped.";
  }

  /** @param {any} message @param {any} order */
  #heard(message, order) {
    if (message.kind === "soFar") {
      const all_s = this.desk.described().resolved.duration_ns / NS_PER_S;
      $("rule-time").textContent = `${timeText(message.now_ns / NS_PER_S)} of ${timeText(all_s)}`;
      return this.desk.picture(message);
    }
    this.stop();
    if (message.kind === "done") {
      $("rule-words").replaceChildren(
        "Digest ", element("code", { id: "rule-digest" }, message.digest),
        ". The figures show your rule's run; in grey, in the slow motion and in the numbers below is the experiment as it stands.",
      );
      this.desk.ruled({ ...message, order });
    } else if (message.kind === "wrong") this.#tell(message.words, message.line);
    else if (message.kind === "problem") this.#tell(`${message.parts.value}; allowed: ${message.parts.allowed}`, 0);
    else if (message.kind === "fault") this.#tell(message.text, 0);
    else this.#tell(message.words, 0);
  }
}
