// The story: each step has a setting, whose run is shown above it, animated at its queue.
import { Chart } from "../live/chart.js";
import { Bench } from "../page/orders.js";
import { forgetColours } from "../page/plot.js";
import { encoded } from "../page/state.js";
import { unpacked } from "../page/unpacked.js";
import { Duel } from "./duel.js";
import { ANSWERS, BOTTLENECK, CALL, LATE_MS, WAY_MS, changesOf, outcomeOf, setting, verdict, waitText } from "./scenes.js";
import { Tank } from "./tank.js";

const NS_PER_S = 1e9;
const MOST_PACKETS = 100_000;
/** Top of the axes of delay, ms, and of packets. */
const MOST_MS = 700;
const MOST_PKTS = 1100;
const GAME_PKTS = 120;
/** Limit of the game's queue. */
const GAME_LIMIT_PKTS = 100;
/** Simulated seconds per second of real time: while the queue fills, in slow motion, in the game. */
const PACE = { filling: 3, slow: 0.25, steady: 0.5, played: 1 };
/** Start of the slow motion, before the first drop, and its length, s. */
const SLOW = { before_s: 0.3, for_s: 1 };
/** Time shown in the other steps, s. */
const STEADY = { from_s: 9, until_s: 15 };
/** Time for which a departed packet stays visible, s of real time. */
const LEFT_S = 0.6;

const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/** Initial setting of each step.
 * @type {Record<string, import("./scenes.js").Setting>} */
const settings = {
  fill: setting({ downloads: 0 }),
  bet: setting(),
  wall: setting(),
  more: setting({ downloads: 32, limit_pkts: 100 }),
  lanes: setting({ downloads: 32, bottleneck: BOTTLENECK.queue }),
  policer: setting({ bottleneck: BOTTLENECK.policer }),
  duel: setting(),
};

class Story {
  /** @param {any} told @param {Uint8Array} module */
  constructor(told, module) {
    this.told = told;
    const make = (/** @type {(message: any) => void} */ hear) => new Bench($("worker").textContent, module, hear);
    this.bench = make((message) => this.#heard(message));
    this.makeBench = make;
    /** @type {Duel | null} */ this.duel = null;
    this.tank = new Tank($("tank"));
    this.step = "";
    /** @type {any} */ this.run = null;
    /** Last state shown of the game.
     * @type {any} */
    this.game = null;
    this.done = 0;
    this.t_ns = 0;
    this.last_ms = 0;
    this.followed = -1;
    this.isBetOpen = true;
    /** @type {number | null} */ this.bet_ms = null;
    this.isPlaying = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.isDirty = false;
    this.drawn_ms = NaN;
    this.#wire();
  }

  #wire() {
    $("download").addEventListener("click", () => {
      settings.fill.downloads = 1 - settings.fill.downloads;
      this.#changed("fill");
    });
    $("bet").addEventListener("input", () => this.#betWords());
    $("show").addEventListener("click", () => this.#show());
    $("wall").addEventListener("input", () => this.#pulled());
    $("downloads").addEventListener("input", () => {
      settings.more.downloads = Number($("downloads").value);
      this.#changed("more");
    });
    $("split").addEventListener("click", () => {
      settings.lanes.bottleneck = settings.lanes.bottleneck === BOTTLENECK.lanes ? BOTTLENECK.queue : BOTTLENECK.lanes;
      this.#changed("lanes");
    });
    $("burst").addEventListener("input", () => {
      settings.policer.burst_kb = Number($("burst").value);
      this.#changed("policer");
    });
    $("pause").addEventListener("click", () => this.#play(!this.isPlaying));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      forgetColours();
      this.#draw();
    });
    new ResizeObserver(() => this.#place()).observe($("tank"));
    const steps = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("section.step"));
    const chosen = () => {
      // The step in the middle of the area not covered by the stage.
      const y = ($("stage").getBoundingClientRect().bottom + innerHeight) / 2;
      const found = [...steps].find((each) => each.getBoundingClientRect().bottom > y) ?? steps[steps.length - 1];
      this.#enter(/** @type {string} */ (found.dataset.step));
    };
    addEventListener("scroll", () => requestAnimationFrame(chosen), { passive: true });
    this.#onPaper();
    $("answer-bet").textContent = "";
    this.#words();
    this.#betWords();
    this.#play(this.isPlaying);
    chosen();
    requestAnimationFrame((ms) => this.#frame(ms));
  }

  /** On paper the answers belong to the drawn pictures, not to the last run of each step. */
  #onPaper() {
    const answers = [...document.querySelectorAll(".answer")];
    const ofPictures = answers.map((each) => each.textContent);
    let ofRuns = ofPictures;
    const say = (/** @type {(string | null)[]} */ words) => answers.forEach((each, i) => (each.textContent = words[i]));
    addEventListener("beforeprint", () => {
      ofRuns = answers.map((each) => each.textContent);
      say(ofPictures);
    });
    addEventListener("afterprint", () => say(ofRuns));
  }

  // --- user input ---------------------------------------------------------------------------

  /** @param {string} step */
  #enter(step) {
    if (step === this.step) return;
    if (this.step === "wall" && step === "more") settings.more.limit_pkts = settings.wall.limit_pkts;
    this.duel?.stop();
    this.step = step;
    $("stage").dataset.step = step;
    $("step-number").textContent = `${1 + Object.keys(settings).indexOf(step)} of ${Object.keys(settings).length}`;
    if (step === "duel") this.duel ??= new Duel(this.told.game, this.makeBench, (message) => this.#played(message), () => this.#draw());
    this.#place();
    this.#order();
  }

  /** @param {string} step */
  #changed(step) {
    this.#words();
    if (this.step === step) this.#order();
  }

  #pulled() {
    const limit_pkts = Math.round(Number($("wall").value) ** 2 / 10);
    (settings[this.step] ?? settings.wall).limit_pkts = limit_pkts;
    // The picture changes at once; the run follows.
    this.tank.setting = { ...this.tank.setting, limit_pkts };
    this.#changed(this.step);
  }

  #betWords() {
    const words = `${$("bet").value} ms`;
    $("bet-words").textContent = words;
    $("bet").setAttribute("aria-valuetext", words);
  }

  #show() {
    this.bet_ms = Number($("bet").value);
    this.isBetOpen = false;
    this.#answer();
    this.#draw();
  }

  #words() {
    const { fill, more, lanes, policer } = settings;
    $("download").textContent = fill.downloads ? "Stop the download" : "Start a download";
    $("downloads-words").textContent = String(more.downloads);
    $("split").textContent = lanes.bottleneck === BOTTLENECK.lanes ? "Back to one queue" : "Split it: fq_codel";
    $("burst-words").textContent = `${policer.burst_kb} kB`;
    $("burst").setAttribute("aria-valuetext", `${policer.burst_kb} kB`);
    const { limit_pkts } = settings[this.step] ?? settings.wall;
    $("wall").value = String(Math.round(Math.sqrt(10 * limit_pkts)));
    $("wall").setAttribute("aria-valuetext", `${limit_pkts} packets`);
  }

  /** @param {boolean} isPlaying */
  #play(isPlaying) {
    this.isPlaying = isPlaying;
    $("pause").textContent = isPlaying ? "Pause" : "Play";
    this.#draw();
  }

  /** The slider of the buffer's wall is placed over the wall in the picture. */
  #place() {
    const { exit, wide } = this.tank.layout;
    const half = 22;
    const style = $("wall").style;
    style.left = `${exit - wide - half - 4}px`;
    style.width = `${0.9 * wide + 2 * half}px`;
    this.tank.isHeld = ["wall", "more"].includes(this.step);
    $("wall").hidden = !this.tank.isHeld;
    this.#words();
    this.#draw();
  }

  // --- runs ---------------------------------------------------------------------------------

  #order() {
    if (this.step === "duel") {
      this.run = this.game = null;
      this.tank.packets = null;
      return this.#draw();
    }
    if (this.isDirty) return;
    this.isDirty = true;
    requestAnimationFrame(() => {
      this.isDirty = false;
      if (this.step === "duel") return;
      this.ordered = { step: this.step, setting: { ...settings[this.step] } };
      this.asked_ms = performance.now();
      const { resolved, queue } = this.told.call;
      const changes = changesOf(this.ordered.setting, queue);
      this.bench.send("run", { resolved, queue, replication: 0, changes, most_packets: MOST_PACKETS });
    });
  }

  /** @param {any} message */
  #heard(message) {
    if (message.kind === "described") this.described = message;
    else if (message.kind === "done") this.#finished(message);
    else if (message.kind === "problem" || message.kind === "fault") {
      $("live").textContent = message.text ?? `${message.parts.value}: not possible here. Allowed: ${message.parts.allowed}.`;
    }
  }

  /** @param {any} message */
  #finished({ digest, packets, numbers }) {
    if (this.step === "duel" || !this.ordered || !this.described) return;
    const { described, texts } = this.described;
    const isSame = this.run?.step === this.ordered.step;
    this.run = { ...this.ordered, digest, packets, toml: texts.toml, outcome: outcomeOf(packets, described, numbers), line: this.#lineOf(packets) };
    this.tank.show(packets, this.ordered.setting);
    const drop = packets.in_ns.findIndex((/** @type {number} */ _, /** @type {number} */ i) => packets.drop[i] === 1);
    this.full_ns = drop < 0 ? 13 * NS_PER_S : packets.in_ns[drop];
    const [from_ns, until_ns] = this.#window();
    // The next value of a slider continues at the previous time.
    if (!isSame || this.step === "fill" || this.t_ns < from_ns || this.t_ns > until_ns) this.t_ns = from_ns;
    if (!this.isPlaying) this.t_ns = this.#telling();
    this.followed = -1;
    this.#answer();
    this.#draw();
    this.done += 1;
    this.drawn_ms = performance.now() - (this.asked_ms ?? 0);
  }

  /** Waiting time of each packet of the call, ms; and the number of packets ahead of it.
   * @param {any} packets */
  #lineOf({ in_ns, out_ns, flow, drop }) {
    const line = { t_s: /** @type {number[]} */ ([]), wait_ms: /** @type {number[]} */ ([]), lost_s: /** @type {number[]} */ ([]) };
    in_ns.forEach((/** @type {number} */ each, /** @type {number} */ i) => {
      if (flow[i] !== CALL) return;
      if (drop[i]) line.lost_s.push(each / NS_PER_S);
      else if (Number.isFinite(out_ns[i])) {
        line.t_s.push(each / NS_PER_S);
        line.wait_ms.push((out_ns[i] - each) / 1e6);
      }
    });
    return line;
  }

  // --- display ------------------------------------------------------------------------------

  /** The part of the run that is shown, ns. */
  #window() {
    if (this.step === "fill" && settings.fill.downloads) return [0, this.full_ns + (SLOW.for_s - SLOW.before_s) * NS_PER_S];
    if (this.step === "fill") return [0, 6 * NS_PER_S];
    if (this.step === "bet" || this.run.setting.limit_pkts > 700) return [this.full_ns - SLOW.before_s * NS_PER_S, this.full_ns + SLOW.for_s * NS_PER_S];
    return [STEADY.from_s * NS_PER_S, STEADY.until_s * NS_PER_S];
  }

  /** Without motion: the instant before the call's longest-waiting packet departs. */
  #telling() {
    const { in_ns, out_ns, flow, drop } = this.run.packets;
    let [longest, at_ns] = [-1, 0];
    for (let i = 0; i < in_ns.length; i++) {
      if (flow[i] !== CALL || drop[i] || !Number.isFinite(out_ns[i]) || out_ns[i] - in_ns[i] <= longest) continue;
      [longest, at_ns] = [out_ns[i] - in_ns[i], out_ns[i] - 1];
    }
    return at_ns;
  }

  get pace() {
    if (this.step === "fill" && settings.fill.downloads) return this.t_ns < this.full_ns - SLOW.before_s * NS_PER_S ? PACE.filling : PACE.slow;
    return this.step === "bet" ? PACE.slow : PACE.steady;
  }

  /** @param {number} ms */
  #frame(ms) {
    const passed_s = Math.min(0.1, Math.max(0, ms - this.last_ms) / 1000);
    this.last_ms = ms;
    if (this.isPlaying && this.run) {
      const [from_ns, until_ns] = this.#window();
      this.t_ns += passed_s * this.pace * NS_PER_S;
      if (this.t_ns > until_ns) this.t_ns = from_ns;
      this.#draw();
    }
    requestAnimationFrame((next) => this.#frame(next));
  }

  /** The packet of the call that is labelled, and its label. */
  #call() {
    const { in_ns, out_ns, flow, drop } = this.run.packets;
    const shown_ns = LEFT_S * this.pace * NS_PER_S;
    const isOver = (/** @type {number} */ i) => i < 0 || in_ns[i] > this.t_ns || out_ns[i] + shown_ns < this.t_ns;
    if (isOver(this.followed)) {
      // Of the packets that are queued, the last to arrive.
      this.followed = -1;
      for (let i = in_ns.length - 1; i >= 0; i--) {
        if (flow[i] === CALL && !drop[i] && in_ns[i] <= this.t_ns) {
          this.followed = this.isPlaying ? i : this.#eldest(i);
          break;
        }
      }
      if (isOver(this.followed)) return null;
    }
    const wait_ms = (Math.min(this.t_ns, out_ns[this.followed]) - in_ns[this.followed]) / 1e6;
    if (this.isHidden) {
      const ahead = this.tank.inside(this.t_ns).filter((each) => each < this.followed).length;
      return { packet: this.followed, words: `you: ${ahead} ahead` };
    }
    return { packet: this.followed, words: `you: ${wait_ms < 1 ? wait_ms.toFixed(1) : Math.round(wait_ms)} ms` };
  }

  /** Of the call's queued packets, the one that has waited longest.
   * @param {number} last */
  #eldest(last) {
    return this.tank.inside(this.t_ns).find((each) => this.run.packets.flow[each] === CALL) ?? last;
  }

  /** Whether the waiting time is hidden, because the reader predicts it. */
  get isHidden() {
    return this.isBetOpen && ["fill", "bet"].includes(this.step);
  }

  #draw() {
    if (this.step === "duel") return this.#drawGame();
    if (!this.run) {
      this.tank.draw(0, 1, null);
      this.#axes();
      return;
    }
    this.tank.draw(this.t_ns, this.pace, this.#call());
    const chart = this.#axes();
    const { t_s, wait_ms, lost_s } = this.run.line;
    const factor = this.isHidden ? this.told.call.resolved.links[1].forward.rate_bps / 12e6 : 1;
    chart.line(t_s, factor === 1 ? wait_ms : wait_ms.map((/** @type {number} */ each) => each * factor), { ink: "--magenta", width: 1.8 });
    chart.ticks(lost_s, 0, "--vermillion");
    if (this.step === "bet" && this.bet_ms !== null) {
      chart.level(this.bet_ms, { ink: "--blue", label: "" });
      chart.text("your bet", chart.right - 70, chart.y.at(Math.min(this.bet_ms, MOST_MS)) - 10, "--soft");
    }
    chart.cursor(this.t_ns / NS_PER_S);
    $("pace").textContent = this.pace > 1 ? `${this.pace} times as fast as life` : `slow motion, 1/${1 / this.pace}`;
  }

  #axes() {
    const chart = new Chart($("line"), {
      x: { title: "seconds", least: 0, most: this.told.call.resolved.duration_ns / NS_PER_S },
      y: { title: "ms", least: 0, most: this.isHidden ? MOST_PKTS : MOST_MS, ticks: this.isHidden ? [0, 500, 1000] : [0, 300, 600] },
    });
    $("line-title").textContent = this.isHidden ? "Packets in front of your call" : "Your call's wait in the queue, ms";
    if (!this.isHidden) {
      chart.level(LATE_MS - WAY_MS, { ink: "--rule" });
      chart.text("too late to talk", chart.left, chart.y.at(LATE_MS - WAY_MS) - 10, "--soft");
    }
    return chart;
  }

  #answer() {
    const { step, setting: shown, outcome, digest } = this.run;
    if (step !== this.step) return;
    const words = step === "bet" ? this.#betAnswer(outcome) : ANSWERS[step](shown, outcome);
    if (words) $(`answer-${step}`).textContent = words;
    this.#readings(this.isHidden ? "?" : waitText(outcome.mean_ms), `${Math.round(100 * outcome.share)} %`, verdict(outcome));
    const seen = `${shown.bottleneck === BOTTLENECK.queue ? `a queue of at most ${shown.limit_pkts} packets` : shown.bottleneck}, ${shown.downloads} downloads`;
    $("tank").setAttribute("aria-label", `The queue in front of the link: ${seen}`);
    $("line").setAttribute("aria-label", this.isHidden ? "Packets in front of the call over time" : `The call's wait over time: mean ${waitText(outcome.mean_ms)}, longest ${waitText(outcome.longest_ms)}`);
    const hash = encoded({
      preset: null, own: this.told.call,
      changes: changesOf(shown, this.told.call.queue).map(({ path, value }) => /** @type {[string, any]} */ ([path, value])),
    });
    $("digest").textContent = digest.slice(0, 12);
    $("digest").title = digest;
    $("same").href = `laboratory.html${hash ?? ""}`;
  }

  /** @param {import("./scenes.js").Outcome} outcome */
  #betAnswer({ longest_ms }) {
    if (this.bet_ms === null) return "";
    const how = this.bet_ms < longest_ms / 1.5 ? "too short" : this.bet_ms > longest_ms * 1.5 ? "too long" : "close";
    return `${Math.round(longest_ms)} ms: 1,000 packets of 1,500 bytes are 12 Mbit, and the link sends 20 a second. Your bet of ${this.bet_ms} ms was ${how}.`;
  }

  /** @param {string} wait @param {string} share @param {{name: string, words: string}} state */
  #readings(wait, share, { name, words }) {
    $("reading-wait").textContent = wait;
    $("reading-share").textContent = share;
    $("reading-call").textContent = words;
    $("reading-call").dataset.state = name;
  }

  /** Current state of the game.
   * @param {any} message */
  #played({ packets, series, now_ns }) {
    const own = { ...packets, flow: packets.flow.map((/** @type {number} */ each) => each + 1) };
    this.tank.show(own, setting({ limit_pkts: GAME_LIMIT_PKTS }));
    this.tank.draw(Math.max(0, packets.until_ns - 0.6 * NS_PER_S), 1, null);
    $("pace").textContent = "as fast as life";
    this.game = { queue: series?.queue ?? this.game?.queue, now_ns };
    this.#lineOfGame();
  }

  #drawGame() {
    if (!this.game) this.tank.draw(0, 1, null);
    this.#lineOfGame();
  }

  #lineOfGame() {
    const { resolved } = this.told.game;
    const chart = new Chart($("line"), {
      x: { title: "seconds", least: 0, most: resolved.duration_ns / NS_PER_S },
      y: { title: "packets", least: 0, most: GAME_PKTS, ticks: [0, 50, 100] },
    });
    $("line-title").textContent = "Packets in the queue: keep it short, but never empty for long";
    if (!this.game?.queue) return;
    chart.line(this.game.queue.t_s, this.game.queue.system_pkts, { ink: "--blue" });
    chart.cursor(this.game.now_ns / NS_PER_S);
  }
}

/** The page with its simulator, if it was included. */
async function begin() {
  const base64 = $("module").textContent.trim();
  if (!base64 || !("DecompressionStream" in window)) return;
  document.documentElement.classList.add("running");
  const told = JSON.parse($("told").textContent);
  /** @type {any} */ (window).story = new Story(told, await unpacked(base64));
}

begin();
