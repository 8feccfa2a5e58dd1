// Form `climb`, in the worker: an operating point, and the queues over a window of time.
import { meanSojourn_s, samples, sojournQuantile_s, utilization, utilizationSoFar } from "./columns.js";

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
    numbers: {
      load: isPreview ? utilizationSoFar(engine, described, queues) : utilization(engine, queues),
      median_ms: 1e3 * sojournQuantile_s(engine, order, 0.5),
      mean_ms: isPreview ? NaN : 1e3 * meanSojourn_s(engine, queues),
    },
    series: { ...seen, t_s: seen.t_s.map((each) => each - from_s) },
  };
}
