// Runs the simulation in a thread that still receives orders.

/** Events between two readings of the clock. */
export const EVENTS_A_PIECE = 5000;
/** Longest time without receiving orders, ms. */
const PIECE_MS = 10;

const channel = new MessageChannel();
/** @type {(() => void)[]} */
const waiting = [];
channel.port1.onmessage = () => waiting.shift()?.();

/** Lets pending orders be received. */
export function turn() {
  return new Promise((resolve) => {
    waiting.push(() => resolve(undefined));
    channel.port2.postMessage(0);
  });
}

/** Runs for some milliseconds.
 * @param {import("./engine.js").Engine} engine @returns {boolean} whether the run continues */
export function goOn(engine) {
  const until = performance.now() + PIECE_MS;
  do {
    if (!engine.advance(EVENTS_A_PIECE)) return false;
  } while (performance.now() < until);
  return true;
}
