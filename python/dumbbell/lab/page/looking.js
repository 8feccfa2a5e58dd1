// The packets of one queue around an instant: reruns the simulation and records only there.
import { packetsOf } from "./packets.js";
import { EVENTS_A_PIECE, turn } from "./turns.js";

/** Maximum packets that a lens shows. */
const MOST_PACKETS = 6000;
/** Time before the window at which recording starts, to include packets already queued. */
const MARGIN_NS = 3e9;
/** Number of slices of a run after which records are consumed for token counting. */
const PIECES_A_COUNT = 8;

/**
 * Packets of a queue between two instants, of the description that the simulator has.
 * @param {import("./engine.js").Engine} engine
 * @param {{queue: number, replication: number, from_ns: number, until_ns: number}} wanted
 * @param {() => boolean} isWanted whether the order is still current
 * @param {{enter: (engine: import("./engine.js").Engine) => void} | null} tokens counted from all records
 * @returns {Promise<ReturnType<typeof packetsOf> | null>} null if the order is obsolete
 */
export async function lookAt(engine, wanted, isWanted, tokens = null) {
  engine.ask({ do: "begin", replication: wanted.replication, record: wanted.queue });
  let isGoing = true;
  for (let now_ns = 0, piece = 1; isGoing && now_ns < wanted.until_ns; piece++) {
    isGoing = engine.advance(EVENTS_A_PIECE);
    now_ns = engine.ask({ do: "clock" }).now_ns;
    // Judged by the time after the slice: a slice may extend beyond the window.
    if (now_ns < wanted.from_ns - MARGIN_NS && isGoing && (!tokens || piece % PIECES_A_COUNT === 0)) {
      if (tokens) {
        engine.ask({ do: "peek" });
        tokens.enter(engine);
      }
      engine.ask({ do: "forget" });
    }
    await turn();
    if (!isWanted()) return null;
  }
  engine.ask(isGoing ? { do: "peek" } : { do: "finish", queue: wanted.queue });
  tokens?.enter(engine);
  return packetsOf(engine, wanted, MOST_PACKETS);
}
