// The simulator: the WebAssembly module of the crate `lab`, see lab/src/interface.rs and request.rs.

/**
 * Parts of an error: path, value found, allowed values.
 * @typedef {{path: string, value: string, allowed: string, hint: string | null,
 *   reason: string | null}} ProblemParts
 */

/** A request was refused. */
export class Problem extends Error {
  /** @param {ProblemParts} parts */
  constructor(parts) {
    super(`${parts.path || "experiment"}: ${parts.value}; ${parts.allowed}`);
    this.parts = parts;
  }
}

/** The simulator itself failed; it must be created again. */
export class Fault extends Error {}

const Advanced = { going: 0, atItsEnd: 1 };
// Taken before globals are removed in the worker of a rule.
const { instantiate } = WebAssembly;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Without a rule, events are ignored. */
function noRule() {}

/** One simulator, with one description and one run at a time. */
export class Engine {
  /** @param {BufferSource | WebAssembly.Module} module or its bytes
   * @param {(event: number, at: number, count: number) => void} heed calls the page's rule
   * @returns {Promise<Engine>} */
  static async from(module, heed = noRule) {
    const made = /** @type {any} */ (await instantiate(/** @type {any} */ (module), { rule: { heed } }));
    return new Engine((made.instance ?? made).exports);
  }

  /** @param {any} exports */
  constructor(exports) {
    this.exports = exports;
    this.exports.begin();
  }

  /** @param {string} text */
  #put(text) {
    const bytes = encoder.encode(text);
    const at = this.exports.input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  /** @returns {Uint8Array} a copy */
  #output() {
    const { memory, output, output_length } = this.exports;
    return new Uint8Array(memory.buffer, output(), output_length()).slice();
  }

  #text() {
    return decoder.decode(this.#output());
  }

  /**
   * @template T
   * @param {() => T} call
   * @returns {T}
   */
  #guarded(call) {
    try {
      return call();
    } catch (error) {
      throw new Fault(`${error}: ${this.#text()}`);
    }
  }

  /** @param {object} request @returns {any} */
  ask(request) {
    this.#put(JSON.stringify(request));
    this.#guarded(() => this.exports.ask());
    const answer = JSON.parse(this.#text());
    if (answer.problem) throw new Problem(answer.problem);
    return answer;
  }

  /** @param {number} events @returns {boolean} whether the run continues */
  advance(events) {
    const advanced = this.#guarded(() => this.exports.advance(events));
    if (advanced === Advanced.going) return true;
    if (advanced === Advanced.atItsEnd) return false;
    throw new Problem(JSON.parse(this.#text()).problem);
  }

  /** @param {string} name `TABLE.COLUMN` @returns {Float64Array} */
  column(name) {
    this.#put(name);
    if (this.exports.column() === 0) throw new Fault(`there is no column ${name}`);
    return new Float64Array(this.#output().buffer);
  }
}
