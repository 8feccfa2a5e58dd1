// Form `ellipse`: operating points with their ellipses of two standard deviations, above latency and drop
// probability on one time axis. The first arm is the subject, the other arms are for comparison. Options:
// most_ms, least_mbps and most_mbps, the plane's axes; line_mbps, the line's capacity; from_s and until_s,
// the measured time. Control: target (ms).
import { sensible } from "../page/words.js";
import { Chart } from "./chart.js";
import { intervalOf } from "./replications.js";
import { GHOST, keepBetFree } from "./views.js";

/** @type {import("./views.js").BetPlace} */
const BET_PLACE = { moves: "x", share: 0.25 };

const PLANE = "plane", LATENCY = "latency", DROPS = "drops";
/** Pictures of curves: printed means, printed ranges, and theory. */
const MEAN = "mean", RANGE = "range", THEORY = "theory";

/** @typedef {import("./views.js").State} State */

/** @param {State} state @param {string} picture */
function shown({ curves, isBetOpen }, picture) {
  return isBetOpen ? [] : curves.filter((each) => each.picture === picture);
}

/** @param {HTMLCanvasElement} canvas @param {State} state */
function plane(canvas, state) {
  const { arms, options } = state;
  const chart = new Chart(canvas, {
    x: { title: "latency, ms", least: 0, most: options.most_ms },
    y: { title: "Mbit/s", least: options.least_mbps, most: options.most_mbps },
  });
  keepBetFree(chart, state, BET_PLACE);
  chart.level(options.line_mbps, { ink: "--axis", label: `what the line carries: ${sensible(options.line_mbps)}` });
  for (const { x, y, label } of shown(state, THEORY)) {
    chart.line(x, y, { ink: "--ink", width: 1.4, dash: [2, 3] });
    chart.name(x[0], options.least_mbps + 1.5, label, "--soft");
  }
  for (const { x, y } of shown(state, RANGE)) chart.line(x, y, { ink: "--ink", width: 1.3, dash: [5, 3] });
  for (const { before } of arms) {
    if (before) chart.line(before.series.outline.x, before.series.outline.y, { ink: GHOST, width: 1.4 });
  }
  for (const { now, ink } of arms) {
    if (!now) continue;
    const { samples, outline } = now.series;
    chart.dots(samples.x, samples.y, ink);
    chart.line(outline.x, outline.y, { ink, width: 2 });
  }
  for (const { now, ink } of arms) if (now) chart.mark(now.numbers.latency_ms, now.numbers.upload_mbps, { ink });
  for (const { drawn } of arms) chart.cross(intervalOf(drawn, "latency_ms"), intervalOf(drawn, "upload_mbps"), "--ink");
  for (const { x, y, label } of shown(state, MEAN)) {
    chart.mark(x[0], y[0], { ink: "--ink", shape: "diamond" });
    chart.name(x[0], options.most_mbps - 3, label, "--ink");
  }
  for (const { now, ink, label } of arms) {
    if (!now) continue;
    const lowest = Math.min(...now.series.outline.y, now.numbers.upload_mbps);
    chart.name(now.numbers.latency_ms, lowest - 1.5, `${label}: ${sensible(now.numbers.latency_ms)} ms`, ink);
  }
  return chart;
}

/** @param {Chart} chart @param {State} state @param {(arm: any) => number[]} of @param {string} unit */
function read(chart, { arms, cursor_s }, of, unit) {
  if (cursor_s === null) return;
  chart.cursor(cursor_s);
  for (const arm of arms) {
    if (!arm.now) continue;
    const { t_s } = arm.now.series;
    const i = t_s.findIndex((/** @type {number} */ each) => each >= cursor_s);
    const value = of(arm)[i];
    if (Number.isFinite(value)) chart.name(cursor_s, value, `${sensible(value)} ${unit}`, arm.ink);
  }
}

/** Shades the time that is not measured.
 * @param {Chart} chart @param {State} state */
function shade(chart, { options: { from_s } }) {
  const { least, most } = chart.axes.y;
  chart.area([0, from_s], [least, least], [most, most], "--rule", 0.25);
}

/** @param {HTMLCanvasElement} canvas @param {State} state */
function latency(canvas, state) {
  const { arms, options, values } = state;
  const chart = new Chart(canvas, {
    x: { title: "seconds", least: 0, most: options.until_s },
    y: { title: "ms", least: 0, most: options.most_ms, ticks: [0, 10, 20, 30, 40] },
  });
  shade(chart, state);
  chart.level(values.target, { ink: "--axis", dash: [6, 4] });
  for (const { before } of arms) {
    if (before) chart.line(before.series.t_s, before.series.latency_ms, { ink: GHOST, width: 1.2 });
  }
  for (const { now, ink } of arms) {
    if (!now) continue;
    chart.line(now.series.t_s, now.series.latency_ms, { ink, width: 1.8 });
    chart.line(now.series.t_s, now.series.estimate_ms, { ink, width: 1.3, dash: [2, 3] });
  }
  chart.name(options.from_s, options.most_ms, `dashed: the target, ${values.target} ms`, "--soft");
  read(chart, state, ({ now }) => now.series.latency_ms, "ms");
  return chart;
}

/** The largest rounded number that is not larger.
 * @param {number} value */
function roundBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([5, 2].find((each) => each * power <= value) ?? 1);
}

/** @param {HTMLCanvasElement} canvas @param {State} state */
function drops(canvas, state) {
  const { arms, options } = state;
  const percent = (/** @type {any} */ found) => found.series.probability.map((/** @type {number} */ each) => 100 * each);
  const most = Math.max(0.1, ...arms.flatMap(({ now }) => (now ? percent(now).filter(Number.isFinite) : [])));
  const chart = new Chart(canvas, {
    x: { title: "seconds", least: 0, most: options.until_s },
    y: { title: "%", least: 0, most: 1.15 * most, ticks: [0, roundBelow(most)] },
  });
  shade(chart, state);
  for (const { before } of arms) if (before) chart.line(before.series.t_s, percent(before), { ink: GHOST, width: 1.2 });
  for (const { now, ink } of arms) if (now) chart.line(now.series.t_s, percent(now), { ink, width: 1.6 });
  read(chart, state, ({ now }) => percent(now), "%");
  return chart;
}

/** @type {import("./views.js").View} */
export const ellipse = {
  pictures: () => [
    { id: PLANE, label: "Upload, Mbit/s, against latency; the ellipse is two standard deviations", height: 300 },
    { id: LATENCY, label: "Latency of the probes, ms; dotted: what PIE takes its own delay for", height: 170 },
    { id: DROPS, label: "Probability with which PIE drops, %", height: 120 },
  ],
  clocks: [LATENCY, DROPS],
  instants: [LATENCY, DROPS],
  numbers: [
    { id: "latency_ms", label: "latency, mean", unit: "ms" },
    { id: "latency_sd_ms", label: "its standard deviation", unit: "ms" },
    { id: "upload_mbps", label: "upload, mean", unit: "Mbit/s" },
    { id: "upload_sd_mbps", label: "its standard deviation", unit: "Mbit/s" },
    { id: "queue_delay_ms", label: "PIE's own estimate of its delay", unit: "ms" },
    { id: "drops_per_s", label: "packets dropped a second", unit: "" },
  ],
  draw(id, canvas, state) {
    if (id === PLANE) return plane(canvas, state);
    return id === LATENCY ? latency(canvas, state) : drops(canvas, state);
  },
  words({ arms, values }) {
    const each = (/** @type {(numbers: any) => string} */ say) =>
      arms.map(({ label, now }) => `${label}: ${now ? say(now.numbers) : "not run yet"}`).join("; ");
    return {
      [PLANE]: each((found) => `${sensible(found.latency_ms)} ms, ${sensible(found.upload_mbps)} Mbit/s`),
      [LATENCY]: `target ${values.target} ms; ${each((found) => `latency varies by ${sensible(found.latency_sd_ms)} ms`)}`,
      [DROPS]: each((found) => `${sensible(found.drops_per_s)} packets dropped a second`),
    };
  },
  betPlace: () => BET_PLACE,
};
