// One simulator in a thread of its own. It is told what to run and says what it sees; a new order
// ends the one before. Messages are described in orders.js.
import { Engine, Fault, Problem } from "./engine.js";
import { drawnAs } from "./families.js";
import { lookAt } from "./looking.js";
import { packetsOf } from "./packets.js";
import { hold, play } from "./play.js";
import { seriesOf } from "./series.js";
import { Stack } from "./stack.js";
import { TokensSeen } from "./tokens_seen.js";
import { goOn, turn } from "./turns.js";

/** From one picture of a run that goes on to the next, ms. */
const PICTURE_MS = 35;
/** The first comes sooner: a hand on a slider waits for it. */
const FIRST_PICTURE_MS = 15;
/** Records are taken out of a run after so many pieces. */
const PIECES_A_RECORD = 4;

/** @type {Promise<Engine>} */
let loading = Promise.reject(new Fault("there is no module yet"));
loading.catch(() => undefined);
/** Number of the order that is worked on. */
let current = 0;

/** Every buffer of an object's arrays, to be handed over.
 * @param {any} value @returns {any[]} */
function buffers(value) {
  if (ArrayBuffer.isView(value)) return [value.buffer];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(buffers);
}

/** @param {any} message */
function say(message) {
  postMessage(message, { transfer: buffers(message) });
}

/** @param {Engine} engine @param {any} order */
function describe(engine, order) {
  const base = engine.ask({ do: "load", resolved: order.resolved });
  return { base, described: engine.ask({ do: "change", changes: order.changes }) };
}

/** @param {Engine} engine @param {any} order */
async function run(engine, order) {
  // From the order on: a description of hundreds of flows takes its time, too.
  let due_ms = performance.now() + FIRST_PICTURE_MS;
  const { base, described } = describe(engine, order);
  say({ kind: "described", id: order.id, base, described, texts: textsOf(engine, order.queue) });
  engine.ask({ do: "begin", replication: order.replication });
  while (goOn(engine)) {
    if (performance.now() >= due_ms) {
      const { now_ns } = engine.ask({ do: "peek" });
      const series = seriesOf(engine, described, order.queue, now_ns);
      say({ kind: "soFar", id: order.id, now_ns, series });
      due_ms = performance.now() + PICTURE_MS;
    }
    await turn();
    if (current !== order.id) return;
  }
  const { digest, events, numbers } = engine.ask({ do: "finish", queue: order.queue });
  const series = seriesOf(engine, described, order.queue);
  const whole = { from_ns: 0, until_ns: described.resolved.duration_ns };
  const packets = order.most_packets ? packetsOf(engine, whole, order.most_packets) : null;
  say({ kind: "done", id: order.id, digest, events, numbers, series, packets });
}

/** What one takes along.
 * @param {Engine} engine @param {number} queue */
function textsOf(engine, queue) {
  return { toml: engine.ask({ do: "toml" }).text, tc: engine.ask({ do: "tc", queue }) };
}

/** Packets of a queue between two instants.
 * @param {Engine} engine @param {any} order */
async function look(engine, order) {
  const { described } = describe(engine, order);
  // However long the run takes up to the window, it is at work.
  say({ kind: "looking", id: order.id });
  const tokens = TokensSeen.of(described, order.queue, order);
  const packets = await lookAt(engine, order, () => current === order.id, tokens);
  if (packets) say({ kind: "packets", id: order.id, packets, tokens: tokens?.seen() ?? null, described });
}

/** Takes the records that a run has now out of it.
 * @param {Engine} engine @param {Stack | null} stack */
function enter(engine, stack) {
  if (!stack) return;
  engine.ask({ do: "peek" });
  stack.enter(engine);
  engine.ask({ do: "forget" });
}

/** One replication after the other.
 * @param {Engine} engine @param {any} order */
async function replicate(engine, order) {
  const { described } = describe(engine, order);
  // However long the first takes, it is at work.
  say({ kind: "replicating", id: order.id });
  for (let replication = 0; replication < order.replications; replication++) {
    // The one that is shown is recorded meanwhile.
    const stack = replication === 0 ? new Stack(drawnAs(described), order.instants_ns) : null;
    engine.ask({ do: "begin", replication, ...(stack ? { record: order.queue } : {}) });
    for (let piece = 1; goOn(engine); piece++) {
      if (piece % PIECES_A_RECORD === 0) enter(engine, stack);
      await turn();
      if (current !== order.id) return;
    }
    enter(engine, stack);
    const { numbers } = engine.ask({ do: "finish", queue: order.queue });
    if (stack) say({ kind: "stacked", id: order.id, stacked: stack.stacked() });
    say({ kind: "replicated", id: order.id, replication, numbers });
    await turn();
    if (current !== order.id) return;
  }
}

/** The same with each of some sets of changes.
 * @param {Engine} engine @param {any} order */
async function score(engine, order) {
  for (const { name, changes } of order.rivals) {
    describe(engine, { ...order, changes });
    // However long the run takes, it is at work.
    say({ kind: "scoring", id: order.id });
    engine.ask({ do: "begin", replication: order.replication });
    while (goOn(engine)) {
      await turn();
      if (current !== order.id) return;
    }
    const { digest, numbers } = engine.ask({ do: "finish", queue: order.queue });
    say({ kind: "scored", id: order.id, name, digest, numbers });
  }
}

/** By hand.
 * @param {Engine} engine @param {any} order */
async function played(engine, order) {
  const { described } = describe(engine, order);
  await play(engine, { ...order, described }, say, () => current === order.id);
}

/** Nothing more of what was ordered before.
 * @param {Engine} _ @param {any} order */
async function stop(_, order) {
  say({ kind: "stopped", id: order.id });
}

const WORK = { run, look, replicate, score, play: played, stop };

/** @param {any} order @param {unknown} error */
function fail(order, error) {
  if (error instanceof Problem) say({ kind: "problem", id: order.id, parts: error.parts });
  else if (error instanceof Fault) say({ kind: "fault", id: order.id, text: error.message });
  else say({ kind: "fault", id: order.id, text: String(error) });
}

onmessage = async ({ data: order }) => {
  try {
    // What a hand does belongs to the game that goes on.
    if (order.kind === "hand") return hold(order);
    if (order.kind === "module") loading = Engine.from(order.bytes);
    // Of orders that came before the module only the last is followed.
    else {
      current = order.id;
      say({ kind: "heard", id: order.id });
    }
    const engine = await loading;
    if (order.kind === "module") say({ kind: "ready", id: order.id });
    else if (current === order.id) await WORK[/** @type {keyof typeof WORK} */ (order.kind)](engine, order);
  } catch (error) {
    fail(order, error);
  }
};
