// The game: the reader sets the congestion window of a flow, and is scored against controllers.
import { element, roundNumbers } from "./fields.js";
import { baseRttMs } from "./controls.js";
import { Bench } from "./orders.js";
import { fills, winners } from "./score.js";
import { MOST_MOVES } from "./state.js";
import { sensible, timeText } from "./words.js";

export const MANUAL = "manual";
/** Name of the player that is a user's rule. */
export const RULE = "rule";
/** Controllers that play the same game. */
const RIVALS = ["cubic", "bbr", "reno"];
const NAMES = /** @type {Record<string, string>} */ ({ manual: "you", cubic: "CUBIC", bbr: "BBR", reno: "Reno" });
const PACES = [1, 2, 5, 10, 20, 50, 100, 1000];
/** Maximum length of a game, seconds of real time: longer games are not finished. */
const LONGEST_S = 120;
const MOST_WINDOW_PKTS = 2000;
const NS_PER_S = 1e9;

const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/** Every window up to 40 packets, then steps of about 1/40. */
const WINDOWS = [
  ...Array.from({ length: 39 }, (_, i) => i + 1),
  ...roundNumbers(40, MOST_WINDOW_PKTS, 2),
];

/** @param {string} player */
function nameOf(player) {
  return player === RULE ? "your rule" : NAMES[player];
}

/** @param {number} pkts */
function placeOf(pkts) {
  const above = WINDOWS.findIndex((each) => each >= pkts);
  return above < 0 ? WINDOWS.length - 1 : above;
}

/**
 * Interface of the page for the game.
 * @typedef {{order: () => any, described: () => any, begin: () => void,
 *   picture: (message: any, pace: number) => void, ended: () => void,
 *   over: (changes: [string, any][]) => void, wrong: (parts: any) => void}} Table
 */

/** The panel, and the run being played. */
export class Game {
  /** @param {() => Bench} bench made when it is needed @param {Table} table */
  constructor(bench, table) {
    this.makeBench = bench;
    this.table = table;
    /** @type {Bench | null} */ this.bench = null;
    this.isGoing = false;
    /** Results of the scored run by player.
     * @type {Map<string, any>} */
    this.scores = new Map();
    /** Players of the table, once all have played. */
    this.awaited = 0;
    /** Result of the last game.
     * @type {any} */ this.last = null;
    for (const pace of PACES) $("pace").append(element("option", { value: String(pace) }, String(pace)));
    $("window").max = String(WINDOWS.length - 1);
    $("begin").addEventListener("click", () => (this.isGoing ? this.stop() : this.begin()));
    $("window").addEventListener("input", () => this.#moved());
    $("pace").addEventListener("change", () => this.#moved());
    $("wait").addEventListener("click", () => this.#wait(!this.isWaiting));
    this.isWaiting = false;
  }

  /** Names of the groups whose window can be set by hand.
   * @param {any} described */
  static players(described) {
    const { flows } = described.resolved;
    const names = described.groups.filter((/** @type {string} */ _, /** @type {number} */ i) => flows[i].tcp);
    return /** @type {string[]} */ ([...new Set(names)]);
  }

  get group() {
    return String($("player").value);
  }

  get pace() {
    return Number($("pace").value);
  }

  get cwnd_pkts() {
    return WINDOWS[Number($("window").value)];
  }

  /** @param {string} group @param {string} key */
  static path(group, key) {
    return `flows[${group}].tcp.${key}`;
  }

  /** An experiment was opened: choose a playable pace.
   * @param {any} base */
  opened(base) {
    const wanted = LONGEST_S / (base.resolved.duration_ns / NS_PER_S);
    const pace = [...PACES].reverse().find((each) => each <= Math.min(10, wanted)) ?? PACES[0];
    $("pace").value = String(pace);
    this.forget();
  }

  /** The experiment has changed.
   * @param {any} described */
  show(described) {
    const players = Game.players(described);
    const before = this.group;
    $("player").replaceChildren(...players.map((name) => element("option", { value: name }, name)));
    if (players.includes(before)) $("player").value = before;
    $("player-field").hidden = $("player").disabled = players.length < 2;
    for (const id of ["begin", "window", "pace"]) $(id).disabled = players.length === 0;
    $("game-lack").hidden = players.length > 0;
    if (!this.isGoing) this.#showWindow(this.#initial(described));
  }

  /** The window before the first move.
   * @param {any} described */
  #initial(described) {
    const place = described.groups.indexOf(this.group);
    return described.resolved.flows[place]?.tcp?.initial_window_pkts ?? 10;
  }

  /** @param {number} pkts */
  #showWindow(pkts) {
    $("window").value = String(placeOf(pkts));
    this.#say();
  }

  #say() {
    const words = `${this.cwnd_pkts} packet${this.cwnd_pkts === 1 ? "" : "s"}`;
    $("window-words").textContent = words;
    $("window").setAttribute("aria-valuetext", words);
  }

  #moved() {
    this.#say();
    if (this.isGoing) this.bench?.tell("hand", { cwnd_pkts: this.cwnd_pkts, pace: this.isWaiting ? 0 : this.pace });
  }

  /** @param {boolean} isWaiting */
  #wait(isWaiting) {
    this.isWaiting = isWaiting;
    $("wait").textContent = isWaiting ? "Go on" : "Wait";
    $("wait").setAttribute("aria-pressed", String(isWaiting));
    this.#moved();
  }

  /** The changes at the start of a game: a window set by hand, without moves. */
  #changes() {
    return [
      { path: Game.path(this.group, "congestion_control"), value: MANUAL },
      { path: Game.path(this.group, "cwnd_changes"), value: [] },
    ];
  }

  begin() {
    this.table.begin();
    this.forget();
    this.isGoing = true;
    this.#wait(false);
    $("begin").textContent = "Stop";
    $("wait").hidden = $("wait").disabled = false;
    $("window").focus();
    this.bench ??= this.makeBench();
    const order = this.table.order();
    const changes = [...order.changes, ...this.#changes()];
    const hand = { group: this.group, cwnd_pkts: this.cwnd_pkts, pace: this.pace, most_moves: MOST_MOVES };
    this.bench.send("play", { ...order, changes, ...hand });
  }

  /** Stops the game or the scoring; the game is discarded. */
  stop() {
    this.forget();
    if (this.isGoing) this.#end();
  }

  #end() {
    this.isGoing = false;
    $("begin").textContent = "Begin";
    $("wait").hidden = $("wait").disabled = true;
    $("game-time").textContent = "";
    this.table.ended();
  }

  /** The scores no longer belong to the current experiment. */
  forget() {
    this.bench?.send("stop", {});
    this.scores.clear();
    $("score").hidden = true;
  }

  /** @param {any} message of the worker */
  heard(message) {
    if (message.kind === "played") this.#picture(message);
    else if (message.kind === "over") this.#over(message);
    else if (message.kind === "scored") this.#scored(message);
    else if (message.kind === "problem") this.#wrong(message.parts);
    else if (message.kind === "fault") this.#wrong({ path: "", value: message.text, allowed: "another experiment" });
  }

  /** @param {any} parts */
  #wrong(parts) {
    if (this.isGoing) this.#end();
    this.table.wrong(parts);
  }

  /** @param {any} message */
  #picture(message) {
    if (!this.isGoing) return;
    const all_s = this.table.described().resolved.duration_ns / NS_PER_S;
    const left_s = (all_s - message.now_ns / NS_PER_S) * this.pace;
    $("game-time").textContent =
      `${(message.now_ns / NS_PER_S).toFixed(1)} of ${timeText(all_s)}; ${Math.ceil(left_s)} s to watch`;
    this.table.picture(message, this.pace);
  }

  /** @param {any} message */
  #over({ moves, numbers }) {
    const group = this.group;
    this.last = { group, moves, numbers };
    this.#end();
    this.table.over([
      [Game.path(group, "congestion_control"), MANUAL],
      [Game.path(group, "cwnd_changes"), moves],
    ]);
  }

  /** A run with a window set by hand has finished: run all controllers.
   * @param {any} order @param {any} described */
  score(order, described) {
    const place = described.resolved.flows.findIndex((/** @type {any} */ flow) => flow.tcp?.congestion_control === MANUAL);
    if (place < 0 || this.isGoing) return;
    this.#score(order, described, place, [MANUAL, ...RIVALS]);
  }

  /** A rule has run: show it with all other players in one table.
   * @param {any} order with a group @param {any} described @param {{digest: string, numbers: any[]}} run of the rule */
  compare(order, described, run) {
    const place = described.groups.indexOf(order.group);
    const isByHand = described.resolved.flows[place].tcp.congestion_control === MANUAL;
    this.#score(order, described, place, isByHand ? [MANUAL, ...RIVALS] : RIVALS);
    this.awaited += 1;
    this.#scored({ name: RULE, ...run });
  }

  /** @param {any} order @param {any} described @param {number} place of the flow @param {string[]} names */
  #score(order, described, place, names) {
    const group = described.groups[place];
    $("player").value = group;
    this.scored = { group, queue: described.queues[order.queue], rtt_ms: baseRttMs(described, place) };
    const path = Game.path(group, "congestion_control");
    const others = order.changes.filter((/** @type {any} */ each) => each.path !== path);
    const rivals = names.map((name) => ({ name, changes: [...others, { path, value: name }] }));
    this.forget();
    this.awaited = names.length;
    this.bench ??= this.makeBench();
    this.bench.send("score", { ...order, rivals });
  }

  /** @param {any} message */
  #scored({ name, numbers, digest }) {
    if (!this.scored) return;
    const { group, queue, rtt_ms } = this.scored;
    const found = new Map(numbers.map((/** @type {any} */ each) => [each.path, each.value]));
    const ofFlow = (/** @type {string} */ end) => found.get(`flow[${group}].${end}`) ?? found.get(`flows[${group}].${end}`);
    const share = ofFlow("capacity_share");
    const mean_ms = found.get(`queue[${queue}].mean_sojourn_s`) * 1e3;
    this.scores.set(name, {
      digest, share, mean_ms, p95_ms: found.get(`queue[${queue}].sojourn_p95_s`) * 1e3,
      loss: ofFlow("loss_ratio"), power: rtt_ms > 0 ? share / (1 + mean_ms / rtt_ms) : NaN,
    });
    this.#table();
  }

  #winner() {
    const first = this.scores.size === this.awaited ? winners(this.scores) : [];
    for (const row of $("scores").children) row.classList.toggle("first", first.includes(row.dataset.name));
    const names = first.map(nameOf);
    const verb = names.length === 1 && first[0] !== MANUAL ? "wins" : "win";
    const power = names.length ? this.scores.get(first[0]).power : NaN;
    const words = names.length ? `${names.join(" and ")} ${verb}, with power ${sensible(power)}.` : "";
    $("winner").textContent = words.charAt(0).toUpperCase() + words.slice(1);
  }

  #table() {
    /** @param {number | null} value @param {number} factor */
    const shown = (value, factor = 1, unit = "") =>
      value === null || !Number.isFinite(value) ? "–" : `${sensible(value * factor)}${unit}`;
    const rows = [...this.scores].map(([name, { share, mean_ms, p95_ms, loss, power }]) => {
      const lacks = !fills({ share, power }, this.scores.values());
      const cells = [
        `${shown(power)}${lacks ? ", too little goodput" : ""}`,
        shown(share, 100, " %"), shown(mean_ms, 1, " ms"), shown(p95_ms, 1, " ms"), shown(loss, 100, " %"),
      ];
      return element("tr", { "data-name": name, class: [MANUAL, RULE].includes(name) ? "you" : "" },
        element("th", { scope: "row" }, nameOf(name)), ...cells.map((each) => element("td", {}, each)));
    });
    $("scores").replaceChildren(...rows);
    this.#winner();
    $("score").hidden = rows.length === 0;
  }
}
