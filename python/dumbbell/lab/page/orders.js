// A simulator in a worker: orders are sent to it, and answers are received.
//
// orders:  run {resolved, changes, queue, replication, most_packets}, including packets if the
//          description records them; look {..., from_ns, until_ns};
//          replicate {resolved, changes, queue, replications, instants_ns};
//          score {resolved, queue, replication, rivals: [{name, changes}]};
//          play {resolved, changes, queue, replication, group, cwnd_pkts, pace, most_moves}, and
//          during the game hand {cwnd_pkts, pace}; stop {}
// answers: ready; heard, to every order; described {base, described, texts}; soFar {now_ns, series};
//          done {digest, events, numbers, series, packets}; looking; packets {packets, tokens, described};
//          replicating; stacked {stacked}; replicated {replication, numbers};
//          scoring; scored {name, digest, numbers};
//          played {now_ns, packets, series, moves}; over {moves, numbers}; stopped; problem {parts};
//          fault {text}

/** Timeout of an unanswered request: the worker is assumed to hang and is replaced. */
const PATIENCE_MS = 8000;
/** Timeout of a worker that is not ready: it first compiles the module, several workers at once. On a slow
 * phone this takes longer than any answer. */
const COMPILING_MS = 60_000;
/** Timeout of a worker that has not acknowledged an order: it is in a long computation. The worker is
 * replaced, and the order is sent again. */
const HEARING_MS = 500;

/** One worker with its simulator. */
export class Bench {
  /**
   * @param {string} source of the worker
   * @param {Uint8Array} module
   * @param {(message: any) => void} hear
   */
  constructor(source, module, hear) {
    this.url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.module = module;
    this.hear = hear;
    this.id = 0;
    this.patience = 0;
    this.hearing = 0;
    this.isReady = false;
    this.#start();
  }

  #start() {
    this.isReady = false;
    this.worker = new Worker(this.url);
    this.worker.onmessage = ({ data }) => this.#heard(data);
    this.worker.onerror = (event) => this.#heard({ kind: "fault", id: this.id, text: event.message });
    this.worker.postMessage({ kind: "module", id: 0, bytes: this.module });
  }

  /** @param {any} message */
  #heard(message) {
    if (message.kind === "heard") {
      if (message.id === this.id) clearTimeout(this.hearing);
      return;
    }
    clearTimeout(this.patience);
    if (message.kind === "ready") this.isReady = true;
    // A worker that never became ready is not restarted.
    if (message.kind === "fault" && this.isReady) this.#again();
    // Earlier requests are obsolete.
    if (message.id === this.id) this.hear(message);
  }

  #again() {
    clearTimeout(this.patience);
    clearTimeout(this.hearing);
    this.worker?.terminate();
    this.#start();
  }

  /** Adds to the current order.
   * @param {string} kind @param {object} more */
  tell(kind, more) {
    this.worker?.postMessage({ kind, id: this.id, ...more });
  }

  /** @param {string} kind @param {object} order @returns {number} its number */
  send(kind, order) {
    this.id += 1;
    clearTimeout(this.patience);
    this.patience = window.setTimeout(() => {
      this.#again();
      this.hear({ kind: "fault", id: this.id, text: "the simulator did not answer" });
    }, this.isReady ? PATIENCE_MS : COMPILING_MS);
    const message = { kind, id: this.id, ...order };
    clearTimeout(this.hearing);
    if (this.isReady) {
      this.hearing = window.setTimeout(() => {
        this.#again();
        this.worker?.postMessage(message);
      }, HEARING_MS);
    }
    this.worker?.postMessage(message);
    return this.id;
  }
}
