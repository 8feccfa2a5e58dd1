// One arm of a live figure in a separate thread: runs orders, and sends its form's reduction of the run. A
// new order ends the previous one.
//
// orders:  module {bytes}; run {form, options, resolved, changes, queues, replication};
//          look {lanes: [{resolved, changes, queue}], replication, at_s, packet_bytes}; stop {};
//          replicate {form, options, arms: [{resolved, changes, queues}], from, until}
// answers: ready; soFar {now_ns, found}; done {digest, events, found, toml, name, duration_ns};
//          looking; packets {lanes: [{packets, limit}]}; replicating; replicated {replication, numbers}; stopped;
//          problem {parts}; fault {text}
//          (each with the id of its order; see ../page/orders.js)
import { endOf, slowestBps } from "../page/ends.js";
import { Engine, Fault, Problem } from "../page/engine.js";
import { lookAt } from "../page/looking.js";
import { REDUCERS, TOGETHER } from "./reducers.js";
import { goOn, turn } from "../page/turns.js";

/** Time from the order to its first picture, and between pictures, ms. */
const PICTURE_MS = 35;
/** Minimum interval between pictures, relative to the time to make one: the run continues meanwhile. */
const TIMES_A_PICTURE = 6;
/** Approximate packets shown by a lens, if the queue sends all the time: ten seconds of real time. */
const PACKETS_OF_A_LENS = 56;
const NS_PER_S = 1e9;

/** @type {Promise<Engine>} */
let loading = Promise.reject(new Fault("there is no module yet"));
loading.catch(() => undefined);
/** Number of the current order. */
let current = 0;

/** @param {any} message */
function say(message) {
  postMessage(message);
}

/** The columns of a run in progress, each fetched once.
 * @param {Engine} engine */
function columnsOf(engine) {
  /** @type {Map<string, Float64Array>} */
  const known = new Map();
  const column = (/** @type {string} */ name) => {
    const found = known.get(name) ?? engine.column(name);
    known.set(name, found);
    return found;
  };
  return { column };
}

/** @param {Engine} engine @param {any} order */
function describe(engine, order) {
  engine.ask({ do: "load", resolved: order.resolved });
  return engine.ask({ do: "change", changes: order.changes });
}

/** Time in which a lane sends the number of packets of a lens.
 * @param {any} described @param {number} queue @param {number} packet_bytes */
function windowOf(described, queue, packet_bytes) {
  const { police } = endOf(described, queue);
  const rates = [slowestBps(described, queue), police?.rate_bps ?? 0].filter((each) => each > 0);
  return rates.length ? (PACKETS_OF_A_LENS * packet_bytes * 8 * NS_PER_S) / Math.min(...rates) : NS_PER_S;
}

/** Packets of some queues from an instant on, for a time suited to the fastest.
 * @param {Engine} engine @param {any} order */
async function look(engine, order) {
  const { id, lanes, replication, at_s, packet_bytes } = order;
  let window_ns = Infinity;
  for (const lane of lanes) window_ns = Math.min(window_ns, windowOf(describe(engine, lane), lane.queue, packet_bytes));
  // Reports activity, however long the runs take up to the window.
  say({ kind: "looking", id });
  const found = [];
  for (const lane of lanes) {
    const described = describe(engine, lane);
    const { duration_ns } = described.resolved;
    const from_ns = Math.max(0, Math.min(at_s * NS_PER_S, duration_ns - window_ns));
    const wanted = { queue: lane.queue, replication, from_ns, until_ns: from_ns + window_ns };
    const packets = await lookAt(engine, wanted, () => current === id);
    if (!packets) return;
    found.push({ packets, limit: endOf(described, lane.queue).qdisc.limit_packets ?? 0 });
  }
  say({ kind: "packets", id, lanes: found });
}

/** @param {Engine} engine @param {any} order */
async function run(engine, order) {
  let due = performance.now() + PICTURE_MS;
  const described = describe(engine, order);
  const reduce = REDUCERS[order.form];
  // A run in progress has samples and histograms, but no tables of queues and flows.
  const found = (/** @type {import("./columns.js").Numbers | null} */ numbers) =>
    reduce(columnsOf(engine), described, { ...order, isPreview: numbers === null, numbers: numbers ?? [] });
  engine.ask({ do: "begin", replication: order.replication });
  while (goOn(engine)) {
    const began = performance.now();
    if (began >= due) {
      const { now_ns } = engine.ask({ do: "peek" });
      say({ kind: "soFar", id: order.id, now_ns, found: found(null) });
      const ended = performance.now();
      due = ended + Math.max(PICTURE_MS, TIMES_A_PICTURE * (ended - began));
    }
    await turn();
    if (current !== order.id) return;
  }
  const { digest, events, numbers } = engine.ask({ do: "finish", queue: order.queues[0], together: order.queues });
  const toml = engine.ask({ do: "toml" }).text;
  const { name, duration_ns } = described.resolved;
  say({ kind: "done", id: order.id, digest, events, found: found(numbers), toml, name, duration_ns });
}

/** Runs all arms with other random numbers, one replication after the other, for numbers only.
 * @param {Engine} engine @param {any} order */
async function replicate(engine, { id, form, options, arms, from, until }) {
  // Reports activity, however long the first run takes.
  say({ kind: "replicating", id });
  for (let replication = from; replication < until; replication++) {
    const found = [];
    for (const arm of arms) {
      const described = describe(engine, arm);
      engine.ask({ do: "begin", replication });
      while (goOn(engine)) {
        await turn();
        if (current !== id) return;
      }
      const { numbers } = engine.ask({ do: "finish", queue: arm.queues[0], together: arm.queues });
      found.push(REDUCERS[form](columnsOf(engine), described, { ...arm, options, isPreview: false, numbers }));
      await turn();
      if (current !== id) return;
    }
    const together = TOGETHER[form]?.(found.map(({ series }) => series));
    say({ kind: "replicated", id, replication, numbers: found.map(({ numbers }, i) => ({ ...numbers, ...together?.[i] })) });
  }
}

/** Stops the previous order.
 * @param {Engine} _ @param {any} order */
async function stop(_, { id }) {
  say({ kind: "stopped", id });
}

const WORK = { run, look, replicate, stop };

/** @param {any} order @param {unknown} error */
function fail(order, error) {
  if (error instanceof Problem) say({ kind: "problem", id: order.id, parts: error.parts });
  else if (error instanceof Fault) say({ kind: "fault", id: order.id, text: error.message });
  else say({ kind: "fault", id: order.id, text: String(error) });
}

onmessage = async ({ data: order }) => {
  try {
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
