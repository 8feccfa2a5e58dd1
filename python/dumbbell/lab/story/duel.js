// Fifteen seconds in which the reader sets the window of a download, followed by Reno in the same place.
import { fills, winners } from "../page/score.js";
import { MOST_MOVES, encoded } from "../page/state.js";
import { sensible } from "../page/words.js";

const GROUP = "download";
const PATH = `flows[${GROUP}].tcp`;
const [YOU, RENO] = ["manual", "reno"];
const NS_PER_S = 1e9;
/** Base round-trip time of a full link without a queue. */
const FULL_SCORE = 100;

const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/** The game, with its slider and its result. */
export class Duel {
  /** @param {{resolved: any, queue: number}} game
   * @param {(hear: (message: any) => void) => import("../page/orders.js").Bench} bench
   * @param {(message: any) => void} picture draws the current state
   * @param {() => void} ended */
  constructor(game, bench, picture, ended) {
    this.game = game;
    this.bench = bench((message) => this.#heard(message));
    this.picture = picture;
    this.ended = ended;
    this.isGoing = false;
    /** @type {any} */ this.described = null;
    /** @type {{at_ns: number, cwnd_pkts: number}[]} */ this.moves = [];
    /** @type {Map<string, {share: number, power: number, digest: string}>} */
    this.scores = new Map();
    $("begin").addEventListener("click", () => (this.isGoing ? this.stop() : this.#begin()));
    $("window").addEventListener("input", () => this.#moved());
    this.#words();
  }

  get order() {
    return { resolved: this.game.resolved, queue: this.game.queue, replication: 0, group: GROUP, pace: 1, most_moves: MOST_MOVES };
  }

  get cwnd_pkts() {
    return Number($("window").value);
  }

  #words() {
    const words = `${this.cwnd_pkts} packets`;
    $("window-words").textContent = words;
    $("window").setAttribute("aria-valuetext", words);
  }

  #moved() {
    this.#words();
    if (this.isGoing) this.bench.tell("hand", { cwnd_pkts: this.cwnd_pkts, pace: 1 });
  }

  #begin() {
    this.isGoing = true;
    this.scores.clear();
    $("begin").textContent = "Stop";
    $("answer-duel").textContent = "Go: keep the link full and the queue short. After six seconds the link is half as fast.";
    $("duel-link").hidden = true;
    const changes = [
      { path: `${PATH}.congestion_control`, value: YOU },
      { path: `${PATH}.initial_window_pkts`, value: Math.min(10, this.cwnd_pkts) },
    ];
    this.initial = changes;
    this.bench.send("play", { ...this.order, changes, cwnd_pkts: this.cwnd_pkts });
    $("window").focus({ preventScroll: true });
  }

  stop() {
    if (!this.isGoing) return;
    this.bench.send("stop", {});
    this.#end("Stopped. Begin again when you like.");
  }

  /** @param {string} words */
  #end(words) {
    this.isGoing = false;
    $("begin").textContent = "Play again";
    $("answer-duel").textContent = words;
    this.ended();
  }

  /** @param {any} message */
  #heard(message) {
    if (message.kind === "played") this.#played(message);
    else if (message.kind === "over") this.#over(message.moves);
    else if (message.kind === "scored") this.#scored(message);
    else if (message.kind === "problem") this.#end(`${message.parts.value}: not possible here. Allowed: ${message.parts.allowed}.`);
    else if (message.kind === "fault") this.#end(`${message.text}. Begin again.`);
  }

  /** @param {any} message */
  #played(message) {
    if (!this.isGoing) return;
    const all_s = this.game.resolved.duration_ns / NS_PER_S;
    $("begin").textContent = `Stop (${Math.max(0, Math.ceil(all_s - message.now_ns / NS_PER_S))} s)`;
    this.picture(message);
  }

  /** @param {any[]} moves */
  #over(moves) {
    this.moves = moves;
    this.#end("Reno plays the same fifteen seconds …");
    const own = [...this.initial ?? [], { path: `${PATH}.cwnd_changes`, value: moves }];
    this.own = own;
    const rivals = [{ name: YOU, changes: own }, { name: RENO, changes: [] }];
    this.bench.send("score", { ...this.order, rivals });
  }

  /** @param {any} message */
  #scored({ name, numbers, digest }) {
    const of = (/** @type {string} */ end) => numbers.find((/** @type {any} */ each) => each.path.endsWith(end))?.value ?? NaN;
    const share = of(`flow[${GROUP}].capacity_share`);
    const rtt_ms = 2 * this.game.resolved.links.reduce((/** @type {number} */ sum, /** @type {any} */ link) => sum + link.forward.delay_ns, 0) / 1e6;
    const mean_ms = of("mean_sojourn_s") * 1e3;
    this.scores.set(name, { digest, share, power: share / (1 + mean_ms / rtt_ms) });
    if (this.scores.size === 2) this.#result();
  }

  #result() {
    const [you, reno] = [YOU, RENO].map((name) => /** @type {any} */ (this.scores.get(name)));
    const points = (/** @type {any} */ { power }) => sensible(FULL_SCORE * power, 3);
    const [first] = winners(this.scores);
    const both = `you ${points(you)}, Reno ${points(reno)} of ${FULL_SCORE}`;
    const lazy = fills(you, this.scores.values()) ? "" : " You left the link too empty to win.";
    const words = first === YOU ? `You beat Reno: ${both}.` : `Reno wins: ${both}.`;
    $("answer-duel").textContent = `${words}${lazy} Digest of your run: ${you.digest.slice(0, 12)}.`;
    const hash = encoded({
      preset: null, own: { resolved: this.game.resolved, queue: this.game.queue },
      changes: (this.own ?? []).map(({ path, value }) => [path, value]),
    });
    $("duel-link").hidden = hash === null;
    $("duel-link").href = `laboratory.html${hash ?? ""}`;
    $("begin").textContent = "Play again";
  }
}
