// Form `crowd`, in the worker: throughputs of large and small flows as a capture behind the queue shows
// them, and the queue's statistics. Options: large_bytes, the minimum size of a large flow.
import { busySoFar, meanWaitSoFar_s, numberOf, ofQueues } from "./columns.js";

const NS_PER_MS = 1e6;
/** Ethernet overhead of a packet. */
const ETHERNET_BYTES = 14;

/** Throughputs of connections from their first to their last packet at the receiver, kbit/s, ascending;
 * connections with fewer than two packets are left out.
 * @param {import("./columns.js").Columns} engine @param {number} large_bytes */
function throughputs_kbps(engine, large_bytes) {
  const [first, last, bytes, packets] = ["first_received_ns", "last_received_ns", "received_bytes", "received_pkts"].map(
    (name) => engine.column(`transfers.${name}`),
  );
  /** @type {number[]} */ const large = [];
  /** @type {number[]} */ const small = [];
  for (let i = 0; i < first.length; i++) {
    if (first[i] < 0 || last[i] <= first[i]) continue;
    const bits = 8 * (bytes[i] + ETHERNET_BYTES * packets[i]);
    (bytes[i] > large_bytes ? large : small).push(bits / ((last[i] - first[i]) / NS_PER_MS));
  }
  return { large: Float64Array.from(large).sort(), small: Float64Array.from(small).sort() };
}

/**
 * @param {import("./columns.js").Columns} engine
 * @param {any} described
 * @param {import("./columns.js").Order} order
 */
export function reduceCrowd(engine, described, order) {
  const { queues, options, isPreview } = order;
  const [queue] = queues;
  const wait_s = isPreview ? meanWaitSoFar_s(engine, queue) : ofQueues(engine, "wait_mean_s", queues)[0];
  return {
    numbers: {
      mean_wait_ms: 1e3 * wait_s,
      utilization: isPreview ? busySoFar(engine, queue) : numberOf(described, order, "utilization"),
      lost: isPreview ? NaN : numberOf(described, order, "loss_ratio"),
    },
    series: throughputs_kbps(engine, options.large_bytes),
  };
}
