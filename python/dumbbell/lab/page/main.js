// The page: sends changes to the simulator and draws its results.
import { answerOf } from "./answer.js";
import { BucketView } from "./bucket.js";
import { baseRttMs } from "./controls.js";
import { endOf, slowestBps } from "./ends.js";
import { frameLine, isEmbedded, isFromDisk, sharedAddress, wholeAddress } from "./embedded.js";
import { choices, element, sample } from "./fields.js";
import { familiesOf, legendOf } from "./families.js";
import { takeFiles } from "./drop.js";
import { drawAll, greysInWords, look } from "./figures.js";
import { Form } from "./form.js";
import { Game } from "./game.js";
import { intervalText } from "./intervals.js";
import { lanesOf, titleOf } from "./lanes.js";
import { Bench } from "./orders.js";
import { colour, forgetColours } from "./plot.js";
import { RulePanel } from "./rule_panel.js";
import { Stage } from "./stage.js";
import { BadLink, decoded, encoded } from "./state.js";
import { addressRead, offerCopies, showInAddress } from "./taking.js";
import { showTask } from "./task.js";
import { unpacked } from "./unpacked.js";
import { aroundTelling, windowOf } from "./window.js";
import { sensible, shownAs, timeText } from "./words.js";

const NS_PER_S = 1e9;
/** Number of runs in a mean. */
const REPLICATIONS = 30;
/** Time without changes after which the next run is compared with the current one, ms. */
const QUIET_MS = 900;
/** Time without changes after which replications start, ms. */
const IDLE_MS = 400;
/** Time without changes of instant or experiment after which packets are fetched, ms. */
const LOOK_MS = 150;
/** Maximum numbers in the table: thousands would be laid out again with each replication. */
const MOST_NUMBERS = 500;
/** Size of an Ethernet packet. */
const PACKET_BYTES = 1500;
/** Texts of the slow motion during a game, which shows only the current time. */
const WATCHED = ["play", "speed", "moment"];

const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));
const text = (/** @type {string} */ id) => $(id).textContent;
/** Message if an experiment exceeds the maximum length of a link. */
const NO_LINK = "too large for a link: save the file, and run dumbbell lab with it";

/** The page with its simulators. */
class Page {
  /** @param {any} experiments @param {Uint8Array} module */
  constructor(experiments, module) {
    this.experiments = experiments;
    this.front = new Bench(text("worker"), module, (message) => this.#heard(message));
    this.back = new Bench(text("worker"), module, (message) => this.#replicated(message));
    this.lens = new Bench(text("worker"), module, (message) => this.#seen(message));
    this.game = new Game(
      () => new Bench(text("worker"), module, (message) => this.game.heard(message)),
      {
        order: () => this.#order(),
        described: () => this.described,
        begin: () => this.#beginGame(),
        picture: (message, pace) => this.#followed(message, pace),
        ended: () => this.#gameEnded(),
        over: (changes) => this.#gameOver(changes),
        wrong: (parts) => this.#problem(parts),
      },
    );
    this.rule = new RulePanel(text("rule-worker"), module, {
      order: () => this.#order(),
      described: () => this.described,
      group: () => this.game.group,
      begin: () => this.#beginRule(),
      edited: () => this.described && this.#link(),
      picture: ({ series }) => this.#pictured(series),
      ruled: (message) => this.#ruled(message),
    });
    this.bucket = new BucketView($("bucket"));
    this.stage = new Stage($("stage"), (words) => {
      $("stage-words").textContent = words;
      this.bucket.draw(this.stage.now_ns);
    });
    this.canvases = Object.fromEntries(
      [...document.querySelectorAll("canvas[data-figure]")].map((canvas) => [
        /** @type {HTMLElement} */ (canvas).dataset.figure, canvas,
      ]),
    );
    /** @type {Map<string, import("./state.js").Value>} */
    this.changes = new Map();
    this.form = new Form(experiments, (...words) => this.#changed(...words));
    /** @type {Map<string, string>} */ this.families = new Map();
    /** @type {string[]} of families and probes */ this.names = [];
    /** @type {any} */ this.base = null;
    /** @type {any} */ this.described = null;
    /** @type {any} */ this.now = null;
    /** @type {any} */ this.before = null;
    /** @type {any} */ this.lastDone = null;
    /** @type {Record<string, number[]>} */ this.replications = {};
    this.isDirty = false;
    this.isReplicating = false;
    this.touched_ms = -Infinity;
    this.done = 0;
    this.#wire();
  }

  #wire() {
    $("preset").append(...choices(this.experiments.experiments));
    const chosen = () => {
      this.open($("preset").value);
      this.isFirst = false;
    };
    $("preset").addEventListener("change", chosen);
    $("undo").addEventListener("click", chosen);
    $("controls").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
    $("play").addEventListener("click", () => this.#play(!this.stage.isPlaying));
    $("speed").addEventListener("change", () => (this.stage.speed = Number($("speed").value)));
    $("moment").addEventListener("input", () => this.#moved());
    offerCopies();
    $("from-disk").hidden = !isFromDisk();
    $("save").addEventListener("click", () => this.#save());
    $("tail").addEventListener("change", () => this.#redraw());
    for (const id of ["probes", "queue", "goodput", "cwnd"]) {
      this.canvases[id].addEventListener("click", (/** @type {MouseEvent} */ event) => {
        if (!this.now) return;
        const share = (this.toSeconds?.(event.offsetX) ?? 0) / this.now.duration_s;
        $("moment").value = String(Math.round(1000 * Math.min(1, Math.max(0, share))));
        this.#moved();
      });
    }
    window.addEventListener("hashchange", () => this.start());
    new ResizeObserver(() => this.#redraw()).observe(this.canvases.queue);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      forgetColours();
      if (this.base) this.#legend();
      this.#redraw();
      this.#watch();
    });
    this.#play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  }

  /** Opens the experiment in the address, or the page's default. */
  start() {
    addressRead();
    const ids = this.experiments.experiments.map((/** @type {any} */ each) => each.id);
    try {
      const state = decoded(location.hash, ids);
      if (state) return this.open(state.preset ?? ids[0], state.changes, state.own, state.rule ?? null);
    } catch (error) {
      if (!(error instanceof BadLink)) throw error;
      this.open(ids[0]);
      this.#say(`${error.message}; here is what the page begins with.`);
      return;
    }
    this.open(ids[0]);
  }

  /**
   * @param {string} id of an experiment of the page
   * @param {[string, import("./state.js").Value][]} changes
   * @param {import("./state.js").Own | null} own experiment used instead
   * @param {string | null} rule from a link
   */
  open(id, changes = [], own = null, rule = null) {
    const found = this.experiments.experiments.find((/** @type {any} */ each) => each.id === id);
    this.opened = { ...found, ...own, isOwn: own !== null || found.isOwn };
    this.isBrought = own !== null || changes.length > 0;
    this.isFirst = true;
    this.momentBy = "";
    $("preset").value = id;
    $("question").textContent = own ? "An experiment that a link brought." : found.question;
    showTask(this.opened.task);
    this.changes = new Map([...Object.entries(own ? {} : found.changes), ...changes]);
    this.base = this.described = this.lastDone = this.before = null;
    // Packets of the previous experiment could refer to a queue that does not exist here.
    this.lens.send("stop", {});
    this.game.stop();
    this.rule.bring(rule);
    this.#say("");
    this.#run();
  }

  /** @param {import("./controls.js").Control} control @param {any} value @param {boolean} isOver */
  #changed(control, value, isOver) {
    const known = this.described ?? this.base;
    if (!known) return;
    this.#say("");
    this.game.stop();
    this.rule.stop();
    const now = performance.now();
    if (now - this.touched_ms > QUIET_MS) this.before = this.lastDone;
    this.touched_ms = now;
    for (const [path, to] of control.changes(value, known)) {
      // Changes inside a replaced object are dropped.
      for (const other of this.changes.keys()) if (other.startsWith(`${path}.`)) this.changes.delete(other);
      this.changes.set(path, to);
    }
    if (isOver) this.touched_ms = now - QUIET_MS / 2;
    if (this.isDirty) return;
    this.isDirty = true;
    requestAnimationFrame(() => this.#run());
  }

  #order() {
    // Counts of flows are applied last: a path into an empty group is invalid.
    const rank = (/** @type {string} */ path) => Number(path.endsWith(".count"));
    const changes = [...this.changes].sort(([one], [other]) => rank(one) - rank(other));
    return {
      resolved: this.opened.resolved,
      changes: changes.map(([path, value]) => ({ path, value })),
      queue: this.opened.queue,
      replication: 0,
    };
  }

  #run() {
    this.isDirty = false;
    this.#rest();
    this.asked_ms = performance.now();
    this.front.send("run", this.#order());
  }

  /** Stops replications: they belong to the previous state. */
  #rest() {
    clearTimeout(this.idle);
    if (this.isReplicating) this.back.send("stop", {});
    this.isReplicating = false;
  }

  /** @param {any} message */
  #heard(message) {
    if (message.kind === "described") this.#describe(message);
    else if (message.kind === "soFar") this.#show(message, message.now_ns);
    else if (message.kind === "done") this.#finish(message);
    else if (message.kind === "problem") this.#problem(message.parts);
    else if (message.kind === "fault") this.#fault(message.text);
  }

  /** @param {any} message */
  #describe({ base, described, texts }) {
    this.described = described;
    if (!this.base) this.#build(base);
    $("notices").textContent = described.notices.join(" ");
    this.form.show(described);
    this.game.show(described);
    this.rule.show(described);
    this.#take(texts);
  }

  /** Builds the form, once per experiment.
   * @param {any} base the experiment before changes */
  #build(base) {
    this.base = base;
    this.families = familiesOf(base);
    this.names = [...new Set([...this.families.values(), ...legendOf(base).map(({ name }) => name)])];
    $("queue-name").textContent = base.queues[this.opened.queue];
    this.form.build(base, this.opened.queue);
    this.game.opened(base);
    this.#legend();
  }

  /** The line style of a group, independent of its current number of flows.
   * @param {string} name */
  #look(name) {
    const place = this.names.indexOf(this.families.get(name) ?? name);
    if (place >= 0) return look(place);
    const group = name.replace(/-\d+$/, "");
    return look(this.names.indexOf(this.families.get(group) ?? group));
  }

  #legend() {
    $("legend").replaceChildren(
      ...legendOf(this.base).map(({ name, words }) => {
        const { colour: ink, dash } = this.#look(name);
        return element("span", {}, sample(ink, dash), words);
      }),
      element("span", { class: "quiet", id: "greys" }),
    );
  }

  /** @param {any} parts of the error */
  #problem({ path, value, allowed, hint, reason }) {
    const sentence = [
      `${value}: not possible here`,
      reason ? `, as ${reason}` : "",
      `. Allowed: ${allowed}.`,
      hint ? ` Did you mean ${hint}?` : "",
    ].join("");
    if (!this.base) {
      // An invalid link is discarded.
      this.open(this.experiments.experiments[0].id);
      return this.#say(`This link's experiment cannot be run: ${path || "experiment"}: ${sentence}`);
    }
    if (!this.form.tell(path, sentence)) this.#say(`${path || "This experiment"}: ${sentence}`);
  }

  /** @param {string} text of a simulator that failed */
  #fault(text) {
    if (this.base || !this.isBrought) return this.#say(`${text}. Take the last change back.`);
    this.open(this.experiments.experiments[0].id);
    this.#say(`This link's experiment cannot be run: ${text}.`);
  }

  /** @param {string} words shown permanently */
  #say(words) {
    $("message").textContent = words;
    $("message").hidden = words === "";
  }

  /** @param {any} message @param {number | null} now_ns time reached, during a run */
  #show({ series }, now_ns) {
    const duration_s = this.described.resolved.duration_ns / NS_PER_S;
    this.now = { series, duration_s };
    $("preview").hidden = now_ns === null;
    if (now_ns !== null) {
      $("preview").textContent = `preview: the first ${timeText(now_ns / NS_PER_S)} of ${timeText(duration_s)}`;
    }
    this.#redraw();
    this.drawn_ms = performance.now() - (this.asked_ms ?? 0);
  }

  #redraw() {
    // When another experiment with a task is opened, the layout changes before it is described.
    if (!this.now || !this.described) return;
    this.toSeconds = drawAll(this.canvases, {
      now: this.now,
      before: this.before,
      cursor_s: this.game.isGoing ? this.cursor_s ?? 0 : this.#moment_s(),
      held: this.held,
      isTail: $("tail").checked,
      lookOf: (name) => this.#look(name),
    });
    $("greys").textContent = greysInWords(this.now.series, this.base.queues[this.opened.queue]);
    this.stage.draw();
  }

  /** The capacity of the queue and of the first flow's path. */
  get held() {
    const { queue } = this.opened;
    const limit = endOf(this.described, queue).qdisc.limit_packets ?? NaN;
    const bps = slowestBps(this.described, queue);
    const line = bps && this.described.ways.length ? (baseRttMs(this.described, 0) * bps) / 8e3 / PACKET_BYTES : NaN;
    return { limit, line, all: line + limit };
  }

  /** @param {any} message */
  #finish(message) {
    this.#show(message, null);
    this.finished_ms = performance.now() - (this.asked_ms ?? 0);
    this.lastDone = { ...this.now, numbers: message.numbers };
    this.now = this.lastDone;
    this.done += 1;
    $("digest").textContent = message.digest;
    $("events").textContent = message.events.toLocaleString("en");
    this.replications = {};
    this.#table();
    if (!this.momentBy) this.#choose(message.series.queue);
    // While a slider moves, the CPU is left to the run.
    clearTimeout(this.moving);
    this.moving = window.setTimeout(() => this.#watch(), LOOK_MS);
    this.idle = window.setTimeout(() => {
      this.#tell(message.numbers);
      showInAddress(this.hash ?? null, this.isFirst === true);
      this.isFirst = false;
      this.game.score(this.#order(), this.described);
      const instants_ns = Array.from(message.series.queue.t_s, (each) => Math.round(each * NS_PER_S));
      this.back.send("replicate", { ...this.#order(), replications: REPLICATIONS, instants_ns });
      this.isReplicating = true;
    }, IDLE_MS);
  }

  /** Announces results to screen readers, once a run has ended and nothing changed for a while.
   * @param {{path: string, value: number | null}[]} numbers */
  #tell(numbers) {
    const known = numbers.filter(({ value }) => value !== null);
    $("told").textContent = known.map(({ path, value }) => {
      const { words, factor, unit } = shownAs(path);
      return `${words} ${sensible(Number(value) * factor)} ${unit}`;
    }).join("; ");
  }

  #table() {
    const before = new Map(
      (this.before?.numbers ?? []).map((/** @type {any} */ each) => [each.path, each.value]),
    );
    const numbers = this.lastDone.numbers;
    $("answer").textContent = answerOf(numbers, before);
    const rows = numbers.slice(0, MOST_NUMBERS).map((/** @type {any} */ { path, value }) => {
      const { words, factor, unit } = shownAs(path);
      const shown = (/** @type {number | null | undefined} */ each) =>
        each === null || each === undefined ? "–" : `${sensible(each * factor)} ${unit}`;
      const cells = [
        shown(value),
        shown(before.get(path)),
        intervalText(this.replications[path] ?? [], factor, unit),
      ].map((each) => element("td", {}, each));
      return element("tr", { "data-path": path, "data-value": String(value) },
        element("th", { scope: "row" }, words), ...cells);
    });
    const more = numbers.length - MOST_NUMBERS;
    if (more > 0) rows.push(element("tr", {}, element("th", { scope: "row" }, `${more} more: dumbbell run`)));
    $("numbers").replaceChildren(...rows);
    const counts = Object.values(this.replications).map((values) => values.length);
    $("replications").textContent = String(Math.max(0, ...counts));
  }

  /** @param {any} message */
  #replicated(message) {
    if (message.kind === "stacked" && this.now === this.lastDone) {
      this.lastDone.stacked = message.stacked;
      this.#redraw();
    }
    if (message.kind !== "replicated" || !this.lastDone) return;
    for (const { path, value } of message.numbers) {
      if (value !== null) (this.replications[path] ??= []).push(value);
    }
    this.#table();
  }

  // --- a game -----------------------------------------------------------------------------

  /** Pauses other activity; the previous run stays for comparison. */
  #beginGame() {
    this.rule.stop();
    this.#rest();
    clearTimeout(this.moving);
    this.bucket.show(null, { from_ns: 0, until_ns: 0 });
    this.wasPlaying = this.stage.isPlaying;
    this.before = this.lastDone;
    for (const id of WATCHED) $(id).disabled = true;
    $("motion").scrollIntoView({ block: "nearest" });
  }

  /** @param {any} message @param {number} pace */
  #followed({ now_ns, packets, series }, pace) {
    const { ofFlow, limit } = this.#looks(this.described);
    const lanes = lanesOf(packets, this.described, this.opened.queue);
    this.stage.follow(packets, ofFlow, limit, pace, lanes, titleOf(lanes, this.described, this.opened.queue));
    if (!series) return;
    this.now = { series, duration_s: this.described.resolved.duration_ns / NS_PER_S };
    this.cursor_s = now_ns / NS_PER_S;
    this.#redraw();
  }

  /** Restores the state before the game. */
  #gameEnded() {
    for (const id of WATCHED) $(id).disabled = false;
    this.#play(this.wasPlaying ?? false);
    if (!this.lastDone) return;
    this.now = this.lastDone;
    this.#redraw();
    this.#watch();
  }

  /** Turns the game into an ordinary experiment.
   * @param {[string, any][]} changes */
  #gameOver(changes) {
    for (const [path, value] of changes) this.changes.set(path, value);
    this.#run();
  }

  // --- a rule -----------------------------------------------------------------------------

  #beginRule() {
    this.#rest();
    this.game.stop();
    this.before = this.lastDone;
  }

  /** A run of a modified experiment.
   * @param {any} series */
  #pictured(series) {
    this.now = { series, duration_s: this.described.resolved.duration_ns / NS_PER_S };
    this.#redraw();
  }

  /** @param {any} message */
  #ruled({ series, digest, numbers, order }) {
    this.#pictured(series);
    this.game.compare(order, this.described, { digest, numbers });
  }

  // --- the slow motion --------------------------------------------------------------------

  #moment_s() {
    if (!this.described) return 0;
    return ((Number($("moment").value) / 1000) * this.described.resolved.duration_ns) / NS_PER_S;
  }

  /** The most informative instant: before the first drop, or at the longest queue.
   * @param {{t_s: Float64Array, system_pkts: Float64Array, dropped_pkts: Float64Array}} queue */
  #choose({ t_s, system_pkts, dropped_pkts }) {
    this.momentBy = "page";
    const dropped = dropped_pkts.findIndex((each) => each > 0);
    const place = dropped >= 0 ? dropped : system_pkts.indexOf(Math.max(...system_pkts));
    const share = (t_s[Math.max(0, place - 1)] ?? 0) / this.now.duration_s;
    $("moment").value = String(Math.floor(1000 * share));
    this.#momentInWords();
    this.#redraw();
  }

  #momentInWords() {
    const words = timeText(this.#moment_s());
    $("moment-words").textContent = words;
    $("moment").setAttribute("aria-valuetext", words);
  }

  #moved() {
    this.momentBy = "person";
    this.#momentInWords();
    this.#redraw();
    clearTimeout(this.moving);
    this.moving = window.setTimeout(() => this.#watch(), LOOK_MS);
  }

  /** Requests packets at the chosen instant. */
  #watch() {
    if (!this.lastDone) return;
    this.#momentInWords();
    this.window_ns = windowOf(this.lastDone.numbers);
    // The interesting event lies between two samples.
    const [first_s, second_s] = this.lastDone.series.queue.t_s;
    const step_ns = this.momentBy === "page" ? (second_s - first_s) * NS_PER_S || 0 : 0;
    const asked_ns = Math.max(this.window_ns, step_ns);
    const { duration_ns } = this.described.resolved;
    const from_ns = Math.max(0, Math.min(this.#moment_s() * NS_PER_S, duration_ns - asked_ns));
    this.lens.send("look", { ...this.#order(), from_ns, until_ns: from_ns + asked_ns });
  }

  /** @param {any} message */
  #seen(message) {
    if (message.kind !== "packets" || !this.base) return;
    if (this.game.isGoing) return;
    const { tokens, described } = message;
    const isOurs = this.momentBy === "page";
    const packets = isOurs ? aroundTelling(message.packets, this.window_ns ?? 0) : message.packets;
    this.looked = described;
    const { ofFlow, limit } = this.#looks(described);
    this.bucket.show(tokens, packets);
    const lanes = lanesOf(packets, described, this.opened.queue);
    this.stage.show(packets, ofFlow, limit, lanes, titleOf(lanes, described, this.opened.queue));
    if (isOurs) this.stage.begin();
    $("stage").setAttribute("aria-label", this.stage.words());
  }

  /** Sets the colours of packets by flow, and the capacity of the queue.
   * @param {any} described description of their run */
  #looks(described) {
    const colours = described.groups.map((/** @type {string} */ group) => this.#look(group).colour);
    const ofProbes = described.resolved.probes.map((/** @type {any} */ { name }) => this.#look(name).colour);
    const { qdisc } = endOf(described, this.opened.queue);
    return {
      ofFlow: (/** @type {number} */ flow, /** @type {number} */ probe) => colours[flow] ?? ofProbes[probe] ?? colour("--quiet"),
      limit: qdisc.limit_packets ?? 0,
    };
  }

  /** @param {boolean} isPlaying */
  #play(isPlaying) {
    this.stage.play(isPlaying);
    $("play").textContent = isPlaying ? "Pause" : "Play";
    $("play").setAttribute("aria-pressed", String(isPlaying));
  }

  // --- what one takes along ---------------------------------------------------------------

  /** @param {any} texts */
  #take({ toml, tc }) {
    $("toml").value = toml;
    const name = `${this.described.resolved.name.replace(/[^\w-]+/g, "-") || "experiment"}.toml`;
    this.file = name;
    $("command").value = `dumbbell run ${name}`;
    const lines = [
      ...tc.queue,
      ...(tc.far_end.length ? ["", "# at the far end of the link, with an ifb", ...tc.far_end] : []),
    ];
    $("tc").value = lines.map((line) => (line === "" || line.startsWith("#") ? line : `tc ${line}`)).join("\n");
    this.#link();
  }

  #link() {
    const { isOwn, id, resolved, queue, task } = this.opened;
    const state = isOwn ? { preset: null, own: { resolved, queue, task: task ?? undefined } } : { preset: id, own: null };
    const hash = (this.hash = encoded({ ...state, changes: [...this.changes], rule: this.rule.carried }));
    $("link").value = hash === null ? NO_LINK : sharedAddress() + hash;
    $("frame").value = hash === null ? NO_LINK : frameLine(sharedAddress(), hash);
    $("whole").hidden = hash === null;
    if (hash !== null) $("whole").firstChild.href = wholeAddress() + hash;
  }

  #save() {
    const url = URL.createObjectURL(new Blob([$("toml").value], { type: "application/toml" }));
    element("a", { href: url, download: this.file ?? "experiment.toml" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}

document.documentElement.classList.toggle("embedded", isEmbedded());
const page = new Page(JSON.parse(text("experiments")), await unpacked(text("module")));
page.start();
takeFiles(page);
// For tests and benchmarks.
/** @type {any} */ (window).laboratory = page;
