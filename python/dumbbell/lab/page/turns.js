// How a run goes on in a thread that still hears orders.

/** Events between two looks at the clock. */
export const EVENTS_A_PIECE = 5000;
/** Longest time without hearing orders, ms. */
const PIECE_MS = 10;

const channel = new MessageChannel();
/** @type {(() => void)[]} */
const waiting = [];
channel.port1.onmessage = () => waiting.shift()?.();

/** Lets orders that have come in be heard. */
export function turn() {
  return new Promise((resolve) => {
    waiting.push(() => resolve(undefined));
    channel.port2.postMessage(0);
  });
}

/** Goes on for some milliseconds.
 * @param {import("./engine.js").Engine} engine @returns {boolean} whether there is more */
export function goOn(engine) {
  const until = performance.now() + PIECE_MS;
  do {
    if (!engine.advance(EVENTS_A_PIECE)) return false;
  } while (performance.now() < until);
  return true;
}
