// Form `climb`, in the worker: an operating point, and the queues over a time window.
import { numberOfAll, numberOfEach, samples, sojournQuantileSoFar_s, utilizationSoFar } from "./columns.js";

const NS_PER_S = 1e9;

/**
 * @param {import("./columns.js").Columns} engine
 * @param {any} described
 * @param {import("./columns.js").Order} order
 */
export function reduceClimb(engine, described, order) {
  const { queues, options, isPreview } = order;
  const from_s = described.resolved.warm_up_ns / NS_PER_S;
  const all = described.queues.length;
  const seen = samples(engine, all, queues, "system_pkts", from_s, from_s + options.window_s);
  return {
    numbers: isPreview ? soFar(engine, described, queues) : {
      load: Math.max(...numberOfEach(described, order, "utilization")),
      median_ms: 1e3 * numberOfAll(order, "sojourn_p50_s"),
      mean_ms: 1e3 * numberOfAll(order, "mean_sojourn_s"),
    },
    series: { ...seen, t_s: seen.t_s.map((each) => each - from_s) },
  };
}

/** @param {import("./columns.js").Columns} engine @param {any} described @param {number[]} queues */
function soFar(engine, described, queues) {
  const median_ms = 1e3 * sojournQuantileSoFar_s(engine, queues, 0.5);
  return { load: utilizationSoFar(engine, described, queues), median_ms, mean_ms: NaN };
}
