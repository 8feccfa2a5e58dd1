// Form `ellipse`, in the worker: throughput of the flows from one host and latency of the probes in time
// steps, as Flent plots them; their means, deviations and the ellipse of two standard deviations. The first
// observed queue has the discipline. Options: sender, the host; step_s; from_s and until_s, the measured
// time.

const NS_PER_S = 1e9;
/** `rtt_ns`, `delay_estimate_ns` if missing. */
const NONE = -1;
const SIGMAS = 2;
const OUTLINE_POINTS = 90;

/** Rows of one object in a table with a row per object and instant.
 * @param {ArrayLike<number>} values @param {number} all objects @param {number} place of the one
 * @param {number} many rows */
function every(values, all, place, many) {
  return Array.from({ length: many }, (_, i) => values[i * all + place]);
}

/** Differences of cumulative sums, per step.
 * @param {number[]} sums */
function differences(sums) {
  return sums.map((each, i) => each - (i ? sums[i - 1] : 0));
}

/** Payload received from a host's flows, Mbit/s in each step.
 * @param {import("./columns.js").Columns} engine @param {any} described @param {any} options @param {number} many */
function throughput_mbps(engine, { resolved: { flows } }, { sender, step_s }, many) {
  const delivered = engine.column("flow_samples.delivered_payload_bytes");
  const sums = new Array(many).fill(0);
  flows.forEach((/** @type {any} */ flow, /** @type {number} */ place) => {
    if (flow.from !== sender) return;
    every(delivered, flows.length, place, many).forEach((bytes, i) => (sums[i] += bytes));
  });
  return differences(sums).map((bytes) => (8e-6 * bytes) / step_s);
}

/** Mean RTT of the answered probes sent in each step, ms; NaN for none.
 * @param {import("./columns.js").Columns} engine @param {number} step_s @param {number} many */
function latency_ms(engine, step_s, many) {
  const [sent_ns, rtt_ns] = ["sent_ns", "rtt_ns"].map((name) => engine.column(`probes.${name}`));
  const sums = new Array(many).fill(0), counts = new Array(many).fill(0);
  for (let i = 0; i < sent_ns.length; i++) {
    const step = Math.floor(sent_ns[i] / Math.round(step_s * NS_PER_S));
    if (rtt_ns[i] === NONE || step >= many) continue;
    sums[step] += rtt_ns[i] / 1e6;
    counts[step] += 1;
  }
  return sums.map((sum, i) => (counts[i] ? sum / counts[i] : NaN));
}

/** Statistics of known values; the deviation is that of a sample.
 * @param {number[]} values */
function moments(values) {
  const known = values.filter(Number.isFinite);
  const mean = known.reduce((sum, each) => sum + each, 0) / known.length;
  const squares = known.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return { mean: known.length ? mean : NaN, sd: known.length > 1 ? Math.sqrt(squares / (known.length - 1)) : NaN };
}

/** The ellipse of two standard deviations by the samples' covariance: the image of a circle under its
 * Cholesky factor.
 * @param {number[]} x @param {number[]} y @returns {{x: number[], y: number[]}} */
function outline(x, y) {
  const both = [...x.keys()].filter((i) => Number.isFinite(x[i]) && Number.isFinite(y[i]));
  const [own, other] = [x, y].map((values) => both.map((i) => values[i]));
  const [across, up] = [own, other].map(moments);
  if (both.length < 3 || !(across.sd > 0)) return { x: [], y: [] };
  const products = own.reduce((sum, each, i) => sum + (each - across.mean) * (other[i] - up.mean), 0);
  const along = products / (both.length - 1) / across.sd;
  const aside = Math.sqrt(Math.max(0, up.sd ** 2 - along ** 2));
  const turns = Array.from({ length: OUTLINE_POINTS + 1 }, (_, i) => (2 * Math.PI * i) / OUTLINE_POINTS);
  return {
    x: turns.map((turn) => across.mean + SIGMAS * across.sd * Math.cos(turn)),
    y: turns.map((turn) => up.mean + SIGMAS * (along * Math.cos(turn) + aside * Math.sin(turn))),
  };
}

/**
 * @param {import("./columns.js").Columns} engine
 * @param {any} described
 * @param {import("./columns.js").Order} order
 */
export function reduceEllipse(engine, described, { queues: [queue], options }) {
  const { step_s, from_s, until_s } = options;
  const all = described.queues.length;
  const many = Math.floor(engine.column("queue_samples.t_ns").length / all);
  const of = (/** @type {string} */ name) => every(engine.column(`queue_samples.${name}`), all, queue, many);
  const t_s = Array.from({ length: many }, (_, i) => (i + 1) * step_s);
  const upload_mbps = throughput_mbps(engine, described, options, many);
  const ms = latency_ms(engine, step_s, many);
  const estimate_ms = of("delay_estimate_ns").map((each) => (each === NONE ? NaN : each / 1e6));
  const dropped = differences(of("dropped_pkts"));
  const counted = [...t_s.keys()].filter((i) => t_s[i] > from_s + 1e-9 && t_s[i] < until_s + 1e-9);
  const during = (/** @type {number[]} */ values) => counted.map((i) => values[i]);
  const [latency, upload] = [ms, upload_mbps].map((values) => moments(during(values)));
  const drops = during(dropped).reduce((sum, each) => sum + each, 0);
  return {
    numbers: {
      latency_ms: latency.mean,
      latency_sd_ms: latency.sd,
      upload_mbps: upload.mean,
      upload_sd_mbps: upload.sd,
      queue_delay_ms: moments(during(estimate_ms)).mean,
      drops_per_s: counted.length ? drops / (counted.length * step_s) : NaN,
    },
    series: {
      t_s, latency_ms: ms, estimate_ms,
      probability: of("drop_probability"),
      samples: { x: during(ms), y: during(upload_mbps) },
      outline: outline(during(ms), during(upload_mbps)),
    },
  };
}
