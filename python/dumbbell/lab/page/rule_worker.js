// A user's rule in a separate worker, new for each run and terminated after a timeout.
//
// The text is run as the body of a function. A worker that parses the text alone, without running it, first
// checks that it cannot close this function: a complete script is balanced.

/** Timeouts: without a message, and in total. */
export const SILENCE_MS = 10_000;
const LONGEST_RUN_MS = 120_000;
/** A worker reports progress every 60 ms. */
const MOST_MESSAGES = 5000;
/** Maximum characters of a rule. */
export const LONGEST_RULE = 10_000;
/** Functions that a rule may define, in the order of lab/src/rule.rs. */
const FUNCTIONS = [
  "init", "on_ack", "on_loss", "on_rtt", "on_rto", "on_enter_loss", "on_ecn", "on_exit_recovery", "on_undo",
  "on_transmit_start", "on_idle_restart",
];
const OTHERS = ["state", "owns_recovery", "wants_pacing"];
const PARSED = "the rule is a script by itself";

/** @param {string} text */
function linesOf(text) {
  // Line terminators of JavaScript; a text field has only the first.
  return text.split(/\r\n|[\n\r\u2028\u2029]/).length;
}

/** @param {string} harness the closed worker @param {string} text */
function whole(harness, text) {
  const found = (/** @type {string[]} */ names) => names.map((name) => `${name}: typeof ${name} === "undefined" ? undefined : ${name}`).join(", ");
  const defined = `{ functions: { ${found(FUNCTIONS)} }, ${found(OTHERS)} }`;
  return `${harness}\ndumbbell_rule(() => {\n${text}\n;return ${defined};\n}, ${linesOf(harness) + 1}, ${linesOf(text)});\n`;
}

/**
 * Messages of a run: soFar {now_ns, series}; done {digest, events, numbers, series}; wrong {words, line},
 * line 0 if unknown; ended {words}; problem {parts}; fault {text}.
 */
export class RuleRun {
  /**
   * @param {string} harness source of the closed worker @param {Promise<WebAssembly.Module>} module
   * @param {string} text @param {any} order with a group @param {(message: any) => void} hear
   */
  constructor(harness, module, text, order, hear) {
    this.hear = hear;
    this.isOver = false;
    this.messages = 0;
    /** @type {Worker | null} */ this.worker = null;
    this.longest = window.setTimeout(() => this.#ended(LONGEST_RUN_MS), LONGEST_RUN_MS);
    this.#parse(text, () => this.#begin(whole(harness, text), linesOf(harness) + 1, module, order));
  }

  /** Discards further messages. */
  stop() {
    this.isOver = true;
    clearTimeout(this.longest);
    clearTimeout(this.silence);
    this.worker?.terminate();
  }

  /** @param {any} message the last */
  #say(message) {
    if (this.isOver) return;
    this.stop();
    this.hear(message);
  }

  /** @param {number} ms */
  #ended(ms) {
    this.#say({ kind: "ended", words: `The rule was stopped: it did not come to an end within ${ms / 1000} s. Is there an endless loop?` });
  }

  #wait() {
    clearTimeout(this.silence);
    this.silence = window.setTimeout(() => this.#ended(SILENCE_MS), SILENCE_MS);
  }

  /** @param {string} source @param {(message: string, line: number) => void} failed */
  #start(source, failed) {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker?.terminate();
    this.worker = new Worker(url);
    this.worker.onerror = (event) => {
      // It is told on the page.
      event.preventDefault();
      URL.revokeObjectURL(url);
      failed(String(event.message), event.lineno);
    };
    this.#wait();
    return this.worker;
  }

  /** @param {string} text @param {() => void} next */
  #parse(text, next) {
    this.#start(`"use strict"; throw "${PARSED}";\n${text}\n`, (message, line) => {
      if (this.isOver) return;
      if (message.includes(PARSED)) next();
      else this.#say({ kind: "wrong", words: message.replace(/^Uncaught /, ""), line: Math.min(linesOf(text), Math.max(1, line - 1)) });
    });
  }

  /** @param {string} source @param {number} before @param {Promise<WebAssembly.Module>} module @param {any} order */
  #begin(source, before, module, order) {
    const worker = this.#start(source, (message, line) => {
      this.#say({ kind: "wrong", words: message.replace(/^Uncaught /, ""), line: Math.max(0, line - before) });
    });
    worker.onmessage = ({ data }) => {
      this.messages += 1;
      if (this.messages > MOST_MESSAGES) return this.#say({ kind: "ended", words: "The rule was stopped: its worker said too much." });
      this.#wait();
      if (data.kind === "ready") void module.then((compiled) => this.isOver || worker.postMessage({ module: compiled, order }));
      else if (data.kind === "soFar") this.hear(data);
      else this.#say(data);
    };
  }
}
