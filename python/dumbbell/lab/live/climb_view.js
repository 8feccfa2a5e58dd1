// Form `climb`: operating points on curves that rise as 1/(1 - load), above the queues on one time axis. A
// control `load` has loads as values. Options: most_ms, the top of the axis; window_s, the length of the
// time axis; packet_bytes, of a typical packet.
import { sensible } from "../page/words.js";
import { Chart } from "./chart.js";
import { intervalOf } from "./replications.js";
import { GHOST, keepBetFree } from "./views.js";

/** Inks of stacked lanes. */
const LANES = ["--vermillion", "--orange", "--purple", "--sky", "--green", "--blue", "--magenta", "--interval"];

/** @param {any} hero @returns {import("./views.js").BetPlace} */
function betPlace({ bet: { settings }, controls }) {
  const load = controls.find((/** @type {any} */ each) => each.id === "load");
  return { moves: "y", at: load.stops[settings.load].value };
}

/** @param {import("./views.js").Arm} arm */
function highest(arm) {
  const { values } = arm.now?.series ?? { values: [] };
  let most = 0;
  for (let i = 0; i < (values[0]?.length ?? 0); i++) {
    let sum = 0;
    for (const lane of values) sum += lane[i];
    most = Math.max(most, sum);
  }
  return most;
}

/** @param {import("./views.js").Curve[]} curves */
function listed(curves) {
  return curves.flatMap(({ y }) => y.map((each) => sensible(each, 4))).join(" and ");
}

/** @param {HTMLCanvasElement} canvas @param {import("./views.js").State} state */
function plane(canvas, state) {
  const { arms, curves, options, isBetOpen } = state;
  const most = options.most_ms;
  const chart = new Chart(canvas, {
    x: { title: "load of the link", least: 0, most: 1 },
    y: { title: "ms", least: 0, most },
  });
  keepBetFree(chart, state, betPlace(state.hero));
  for (const arm of arms) {
    const own = curves.filter((curve) => curve.arm === arm.id);
    // The theory would reveal the answer.
    if (!isBetOpen) {
      for (const { x, y } of own.filter((curve) => !curve.is_published)) {
        chart.line(x, y, { ink: arm.ink, width: 1.4, dash: arm.dash });
      }
    }
    const { numbers } = arm.before ?? {};
    if (numbers) chart.mark(numbers.load, numbers.median_ms, { ink: GHOST, shape: "ring" });
  }
  const printed = isBetOpen ? [] : curves.filter((curve) => curve.is_published);
  for (const { x, y, arm } of printed) {
    const { ink = "--ink" } = arms.find((each) => each.id === arm) ?? {};
    x.forEach((each, i) => chart.mark(each, y[i], { ink, shape: "diamond" }));
  }
  const now = arms.flatMap(({ ink, label, now: found }) => (found ? [{ ink, label, numbers: found.numbers }] : []));
  for (const { ink, numbers: { load, median_ms } } of now) chart.mark(load, median_ms, { ink });
  for (const { drawn } of arms) chart.cross(intervalOf(drawn, "load"), intervalOf(drawn, "median_ms"), "--ink");
  // The lowest first: labels that would overlap are moved up.
  now.sort((one, other) => one.numbers.median_ms - other.numbers.median_ms);
  for (const { ink, label, numbers: { load, median_ms } } of now) {
    chart.name(load, median_ms, `${label}: ${sensible(median_ms)} ms`, ink);
  }
  // One name for all of them, because they are close; it is above the curves.
  if (printed.length) chart.text(`◆ ${printed[0].label}: ${listed(printed)} ms`, chart.left, chart.top + 10, "--ink");
  return chart;
}

/** Stacks a lane on the previous one.
 * @param {HTMLCanvasElement} canvas @param {import("./views.js").Arm} arm
 * @param {number} most @param {import("./views.js").State} state */
function queue(canvas, arm, most, { options, cursor_s }) {
  const { t_s, values } = arm.now?.series ?? { t_s: [], values: [] };
  const chart = new Chart(canvas, {
    x: { title: "seconds since counting began", least: 0, most: options.window_s },
    y: { title: "packets", least: 0, most: Math.max(most, 4) },
  });
  let low = new Float64Array(t_s.length);
  values.forEach((/** @type {Float64Array} */ lane, /** @type {number} */ i) => {
    const high = lane.map((each, j) => each + low[j]);
    const ink = values.length > 1 ? LANES[i % LANES.length] : arm.ink;
    chart.area(t_s, low, high, ink);
    chart.line(t_s, high, { ink, width: 1 });
    low = high;
  });
  if (cursor_s !== null) {
    chart.cursor(cursor_s);
    const i = t_s.findIndex((/** @type {number} */ each) => each >= cursor_s);
    if (i >= 0) chart.text(`${low[i]} packets`, chart.x.at(t_s[i]), chart.top + 10, "--ink");
  }
  return chart;
}

/** @type {import("./views.js").View} */
export const climb = {
  pictures: (hero) => [
    { id: "plane", label: "Half of the packets take at most so long, ms", height: 330 },
    ...hero.arms.map((/** @type {any} */ arm) => ({
      id: arm.id, label: `Packets in queue and transmission: ${arm.label}`, height: 130,
    })),
  ],
  clocks: (hero) => hero.arms.map((/** @type {any} */ arm) => arm.id),
  beside: { inkOf: (flow) => LANES[flow % LANES.length] },
  numbers: [
    { id: "load", label: "load of the link", unit: "" },
    { id: "median_ms", label: "half of the packets take at most", unit: "ms" },
    { id: "mean_ms", label: "mean", unit: "ms" },
  ],
  draw(id, canvas, state) {
    const arm = state.arms.find((each) => each.id === id);
    if (!arm) return plane(canvas, state);
    return queue(canvas, arm, Math.max(1, ...state.arms.map(highest)) * 1.05, state);
  },
  words(state) {
    const of = (/** @type {import("./views.js").Arm} */ arm) =>
      arm.now
        ? `${arm.label} ${sensible(arm.now.numbers.median_ms)} ms at load ${sensible(arm.now.numbers.load)}`
        : `${arm.label}: not run yet`;
    const queues = state.arms.map((arm) => [arm.id, `${arm.label}: at most ${highest(arm)} packets`]);
    return { plane: state.arms.map(of).join("; "), ...Object.fromEntries(queues) };
  },
  betPlace,
};
