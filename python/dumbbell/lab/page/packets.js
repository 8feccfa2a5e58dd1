// Converts records of a queue's packets to packets with arrival and departure times.

/** `packets.event` */
const Event = { enqueue: 0, dequeue: 1, drop: 2, mark: 3 };
/** `packets.reason` of a drop from inside the queue (CoDel, the fattest flow, its memory limit, BLUE, PI2,
 * choke, cake's filter of acknowledgements); other drops are at enqueue. */
const FROM_INSIDE = [3, 9, 11, 14, 15, 18, 20];

/** @param {number} event */
export function isEntry(event) {
  return event === Event.enqueue;
}

/** @param {number} event @param {number} reason */
export function isExit(event, reason) {
  return event === Event.dequeue || (event === Event.drop && FROM_INSIDE.includes(reason));
}

/** `packets.reason` of a policer's drop. */
const POLICED = 8;

/** @param {number} event */
export function isDequeue(event) {
  return event === Event.dequeue;
}

/** Whether a packet was dropped before it was enqueued.
 * @param {number} event @param {number} reason */
export function isRefused(event, reason) {
  return event === Event.drop && !FROM_INSIDE.includes(reason);
}

/** @param {number} reason of a drop */
export function isPoliced(reason) {
  return reason === POLICED;
}

/**
 * Packets for a picture: times in ns, Infinity for packets still queued.
 * @typedef {{in_ns: Float64Array, out_ns: Float64Array, flow: Float64Array, probe: Float64Array, class: Float64Array,
 *   bytes: Float64Array, drop: Float64Array, lost: Float64Array}} Columns a packet dropped from inside has two
 *   rows, its arrival and its drop, and both are lost
 * @typedef {{in_ns: number, out_ns: number, flow: number, probe: number, class: number, bytes: number, drop: boolean,
 *   lost: boolean}} Packet its class is the queue of its discipline (classes.js)
 */

/** Packets of one queue, from records that may arrive in pieces. */
export class PacketLog {
  constructor() {
    /** @type {Packet[]} */
    this.packets = [];
    /** Packets in the queue, by identity.
     * @type {Map<string, Packet[]>} */
    this.inside = new Map();
  }

  /** Adds the records that a run has so far.
   * @param {import("./engine.js").Engine} engine @param {number} most packets in all
   * @param {number} from_ns if there are more, packets that left earlier are discarded */
  enter(engine, most, from_ns = 0) {
    const [times, events, reasons, flows, probes, numbers, bytes] = [
      "t_ns", "event", "reason", "flow", "probe", "seq", "bytes",
    ].map((name) => engine.column(`packets.${name}`));
    const classes = engine.column("packet_classes.class");
    for (let i = 0; i < times.length; i++) {
      if (this.packets.length >= most) this.forgetBefore(from_ns);
      if (this.packets.length >= most) return;
      const key = `${flows[i]} ${probes[i]} ${numbers[i]}`;
      const event = events[i];
      const packet = {
        in_ns: times[i], out_ns: Infinity, flow: flows[i], probe: probes[i], class: classes[i], bytes: bytes[i],
        drop: false, lost: false,
      };
      if (isEntry(event)) {
        this.inside.set(key, [...(this.inside.get(key) ?? []), packet]);
        this.packets.push(packet);
        continue;
      }
      if (event === Event.mark) continue;
      // Another packet with the same numbers may be queued: sequence numbers of each connection of a flow
      // start at 0.
      const isDrop = event === Event.drop, isInside = isExit(event, reasons[i]);
      const left = isInside ? this.#leave(key, times[i], isDrop) : undefined;
      // A mark set meanwhile may have changed its class.
      const came = left?.class ?? packet.class;
      if (isDrop) this.packets.push({ ...packet, class: came, out_ns: times[i], drop: true, lost: isInside });
    }
  }

  /** @param {string} key @param {number} t_ns @param {boolean} isDrop */
  #leave(key, t_ns, isDrop) {
    const alike = this.inside.get(key);
    const packet = alike?.shift();
    if (packet) [packet.out_ns, packet.lost] = [t_ns, isDrop];
    if (alike?.length === 0) this.inside.delete(key);
    return packet;
  }

  /** Discards packets that left before an instant.
   * @param {number} t_ns */
  forgetBefore(t_ns) {
    this.packets = this.packets.filter((each) => each.out_ns >= t_ns);
  }

  /** Packets present at some time of a window.
   * @param {number} from_ns @param {number} until_ns @returns {Columns} */
  between(from_ns, until_ns) {
    const seen = this.packets.filter((each) => each.out_ns >= from_ns && each.in_ns <= until_ns);
    const column = (/** @type {(each: Packet) => number} */ of) => Float64Array.from(seen, of);
    return {
      in_ns: column((each) => each.in_ns),
      out_ns: column((each) => each.out_ns),
      flow: column((each) => each.flow),
      probe: column((each) => each.probe),
      class: column((each) => each.class),
      bytes: column((each) => each.bytes),
      drop: column((each) => Number(each.drop)),
      lost: column((each) => Number(each.lost)),
    };
  }
}

/** Packets that were in the queue, or were dropped at enqueue, in a window.
 * @param {import("./engine.js").Engine} engine
 * @param {{from_ns: number, until_ns: number}} window @param {number} most */
export function packetsOf(engine, { from_ns, until_ns }, most) {
  const log = new PacketLog();
  log.enter(engine, most, from_ns);
  return { from_ns, until_ns, ...log.between(from_ns, until_ns) };
}
