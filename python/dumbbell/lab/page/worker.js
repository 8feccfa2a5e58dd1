// One simulator in a separate thread. It receives orders and sends results; a new order ends the previous
// one. Messages are described in orders.js.
import { Engine, Fault, Problem } from "./engine.js";
import { drawnAs } from "./families.js";
import { lookAt } from "./looking.js";
import { packetsOf } from "./packets.js";
import { hold, play } from "./play.js";
import { seriesOf } from "./series.js";
import { Stack } from "./stack.js";
import { TokensSeen } from "./tokens_seen.js";
import { goOn, turn } from "./turns.js";

/** Interval between pictures of an ongoing run, ms. */
const PICTURE_MS = 35;
/** The first picture is sooner, for a responsive slider. */
const FIRST_PICTURE_MS = 15;
/** Number of slices of a run after which records are consumed. */
const PIECES_A_RECORD = 4;

/** @type {Promise<Engine>} */
let loading = Promise.reject(new Fault("there is no module yet"));
loading.catch(() => undefined);
/** Number of the current order. */
let current = 0;

/** All buffers of an object's arrays, for transfer.
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
  // Timed from the order: a description of hundreds of flows also takes time.
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

/** Texts to copy.
 * @param {Engine} engine @param {number} queue */
function textsOf(engine, queue) {
  return { toml: engine.ask({ do: "toml" }).text, tc: engine.ask({ do: "tc", queue }) };
}

/** Packets of a queue between two instants.
 * @param {Engine} engine @param {any} order */
async function look(engine, order) {
  const { described } = describe(engine, order);
  // Reports activity, however long the run takes up to the window.
  say({ kind: "looking", id: order.id });
  const tokens = TokensSeen.of(described, order.queue, order);
  const packets = await lookAt(engine, order, () => current === order.id, tokens);
  if (packets) say({ kind: "packets", id: order.id, packets, tokens: tokens?.seen() ?? null, described });
}

/** Consumes the records that a run has so far.
 * @param {Engine} engine @param {Stack | null} stack */
function enter(engine, stack) {
  if (!stack) return;
  engine.ask({ do: "peek" });
  stack.enter(engine);
  engine.ask({ do: "forget" });
}

/** Runs replications one after the other.
 * @param {Engine} engine @param {any} order */
async function replicate(engine, order) {
  const { described } = describe(engine, order);
  // Reports activity, however long the first run takes.
  say({ kind: "replicating", id: order.id });
  for (let replication = 0; replication < order.replications; replication++) {
    // The replication that is shown is recorded.
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

/** Runs the same experiment with each set of changes.
 * @param {Engine} engine @param {any} order */
async function score(engine, order) {
  for (const { name, changes } of order.rivals) {
    describe(engine, { ...order, changes });
    // Reports activity, however long the run takes.
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

/** Runs a game.
 * @param {Engine} engine @param {any} order */
async function played(engine, order) {
  const { described } = describe(engine, order);
  await play(engine, { ...order, described }, say, () => current === order.id);
}

/** Stops the previous order.
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
    // Moves of a player belong to the ongoing game.
    if (order.kind === "hand") return hold(order);
    if (order.kind === "module") loading = Engine.from(order.bytes);
    // Of orders received before the module, only the last is processed.
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
