// The packets of one queue around an instant: the run once more, recorded there alone.
import { packetsOf } from "./packets.js";
import { EVENTS_A_PIECE, turn } from "./turns.js";

/** Packets that a lens shows at most. */
const MOST_PACKETS = 6000;
/** Packets are recorded from so long before the window on: those that wait were sent before. */
const MARGIN_NS = 3e9;
/** Records that tokens are counted from are taken out of the run after so many pieces. */
const PIECES_A_COUNT = 8;

/**
 * Packets of a queue between two instants, of the description that the simulator has.
 * @param {import("./engine.js").Engine} engine
 * @param {{queue: number, replication: number, from_ns: number, until_ns: number}} wanted
 * @param {() => boolean} isWanted whether nothing else was ordered meanwhile
 * @param {{enter: (engine: import("./engine.js").Engine) => void} | null} tokens that are counted from all records
 * @returns {Promise<ReturnType<typeof packetsOf> | null>} null where it is not wanted any more
 */
export async function lookAt(engine, wanted, isWanted, tokens = null) {
  engine.ask({ do: "begin", replication: wanted.replication, record: wanted.queue });
  let isGoing = true;
  for (let now_ns = 0, piece = 1; isGoing && now_ns < wanted.until_ns; piece++) {
    isGoing = engine.advance(EVENTS_A_PIECE);
    now_ns = engine.ask({ do: "clock" }).now_ns;
    // By the time after the piece: one piece may reach beyond the window.
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
