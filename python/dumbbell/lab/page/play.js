// A game: a run at a pace that a person can follow, with the window set by hand.
import { PacketLog } from "./packets.js";
import { seriesOf } from "./series.js";

/** Interval between pictures, ms of real time. */
const FRAME_MS = 33;
/** Maximum step, ms of real time: after a pause of the tab, the game continues where it was. */
const LONGEST_STEP_MS = 100;
/** Number of pictures of the queue per update of the figures. */
const FRAMES_A_FIGURE = 3;
/** Maximum packets shown, and how long after departure, ms of real time. */
const MOST_PACKETS = 20_000;
const SEEN_MS = 1500;
const NS_PER_MS = 1e6;

/** The requested window; a pace of 0 pauses. */
const wanted = { cwnd_pkts: 0, pace: 0 };

/** The player sets the window.
 * @param {{cwnd_pkts: number, pace: number}} order */
export function hold({ cwnd_pkts, pace }) {
  wanted.cwnd_pkts = cwnd_pkts;
  wanted.pace = pace;
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Moves of a game in the form of the description. */
class Moves {
  /** @param {number} initial_pkts the window before the first @param {number} most */
  constructor(initial_pkts, most) {
    this.initial_pkts = initial_pkts;
    this.most = most;
    /** @type {{at_ns: number, cwnd_pkts: number}[]} */
    this.all = [];
  }

  /** Sets the requested window if it has changed.
   * @param {import("./engine.js").Engine} engine @param {string} group */
  follow(engine, group) {
    const { cwnd_pkts } = wanted;
    const before_pkts = this.all.at(-1)?.cwnd_pkts ?? this.initial_pkts;
    if (cwnd_pkts === before_pkts || this.all.length >= this.most) return;
    const move = engine.ask({ do: "change_cwnd", group, cwnd_pkts });
    // Of several moves at one instant the last is used.
    if (this.all.at(-1)?.at_ns === move.at_ns) this.all.pop();
    this.all.push(move);
  }
}

/**
 * @param {import("./engine.js").Engine} engine with the description that is played
 * @param {any} order
 * @param {(message: any) => void} say
 * @param {() => boolean} isWanted whether the order is still current
 */
export async function play(engine, order, say, isWanted) {
  hold(order);
  engine.ask({ do: "begin", replication: order.replication, record: order.queue, keeps_samples: true });
  const moves = new Moves(order.cwnd_pkts, order.most_moves);
  const log = new PacketLog();
  let [until_ns, before_ms, isGoing] = [0, performance.now(), true];
  for (let frame = 0; isGoing; frame++) {
    moves.follow(engine, order.group);
    const now_ms = performance.now();
    until_ns += Math.min(LONGEST_STEP_MS, now_ms - before_ms) * NS_PER_MS * paceNow();
    before_ms = now_ms;
    isGoing = engine.ask({ do: "advance_to", until_ns: Math.round(until_ns) }).is_going;
    const { now_ns } = engine.ask({ do: "peek" });
    log.enter(engine, MOST_PACKETS);
    const seen_ns = SEEN_MS * NS_PER_MS * (paceNow() || 1);
    log.forgetBefore(now_ns - seen_ns);
    const isFigure = frame % FRAMES_A_FIGURE === 0;
    say({
      kind: "played", id: order.id, now_ns: Math.min(until_ns, now_ns), moves: moves.all.length,
      packets: { from_ns: now_ns - seen_ns, until_ns: now_ns, ...log.between(now_ns - seen_ns, now_ns) },
      series: isFigure ? seriesOf(engine, order.described, order.queue, now_ns) : null,
    });
    engine.ask({ do: "forget" });
    await pause(Math.max(0, FRAME_MS - (performance.now() - now_ms)));
    if (!isWanted()) return;
  }
  const { numbers } = engine.ask({ do: "finish", queue: order.queue });
  say({ kind: "over", id: order.id, moves: moves.all, numbers });
}

/** Simulated time per unit of real time. */
function paceNow() {
  return wanted.pace > 0 ? 1 / wanted.pace : 0;
}
