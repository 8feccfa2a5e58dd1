// Form `tank`: a queue's level rising to its limit, with losses as ticks at the limit; pings and the tail
// of the delays below. Options: rate_bps, burst_bytes, sending_s (see tank_run.js).
import { sensible } from "../page/words.js";
import { Chart } from "./chart.js";
import { GHOST, keepBetFree } from "./views.js";

/** @type {import("./views.js").BetPlace} */
const BET_PLACE = { moves: "y", share: 0.85 };

/** Top of the axis relative to the limit; during a bet there is room for every bet. */
const TOP = { bet: 2.5, usual: 1.25 };
/** Smallest share of packets shown in the tail. */
const LEAST_SHARE = 1e-4;

/** @param {import("./views.js").State} state */
function shown({ arms }) {
  return arms[0].now?.series ?? null;
}

/** @param {import("./views.js").State} state */
function top(state) {
  return (shown(state)?.rim_ms ?? 1) * (state.isBetOpen ? TOP.bet : TOP.usual);
}

/** A tick for every instant with a loss.
 * @param {Chart} chart @param {any} series */
function losses(chart, { t_s, dropped, rim_ms }) {
  const times = [...t_s.keys()].filter((i) => i > 0 && dropped[i] > dropped[i - 1]);
  chart.ticks(times.map((i) => t_s[i]), rim_ms, "--ink");
}

/** @param {HTMLCanvasElement} canvas @param {import("./views.js").State} state */
function filling(canvas, state) {
  const { arms: [arm], curves, cursor_s, isBetOpen } = state;
  const series = shown(state);
  const most = top(state);
  const chart = new Chart(canvas, {
    x: { title: "seconds since the sender began", least: 0, most: series?.window_s ?? 1 },
    y: { title: "ms", least: 0, most },
  });
  keepBetFree(chart, state, BET_PLACE);
  if (!series) return chart;
  const { t_s, level_ms, rim_ms } = series;
  chart.area(t_s, new Float64Array(t_s.length), level_ms, arm.ink);
  const { before } = arm;
  if (before) chart.line(before.series.t_s, before.series.level_ms, { ink: GHOST, width: 1.4 });
  chart.line(t_s, level_ms, { ink: arm.ink, width: 1.5 });
  if (!isBetOpen) {
    for (const { x, y, label } of curves.filter((each) => !each.is_published)) {
      chart.line(x, y, { ink: "--ink", width: 1.4, dash: [6, 4] });
      chart.name(x[1] * 0.5 + x[2] * 0.5 || 0, (y[1] + (y[2] ?? 0)) / 2, label, "--soft");
    }
    chart.level(rim_ms, { ink: "--ink", label: `rim: ${sensible(rim_ms)} ms, the size over the rate`, dash: [] });
  }
  const full_s = arm.now?.numbers.full_s ?? NaN;
  losses(chart, series);
  if (full_s <= series.window_s) chart.name(full_s, rim_ms * 1.1, `first loss after ${sensible(full_s, 2)} s`, "--ink");
  else if (!arm.isPreview) chart.name(0, most * 0.97, Number.isFinite(full_s) ? `first loss after ${sensible(full_s, 2)} s, beyond this picture` : "not full in ten seconds", "--ink");
  if (cursor_s !== null) read(chart, series, cursor_s);
  return chart;
}

/** @param {Chart} chart @param {any} series @param {number} cursor_s */
function read(chart, { t_s, level_ms }, cursor_s) {
  chart.cursor(cursor_s);
  const i = t_s.findIndex((/** @type {number} */ each) => each >= cursor_s);
  if (i >= 0) chart.name(cursor_s, level_ms[i], `${sensible(level_ms[i])} ms`, "--ink");
}

/** Ten seconds with ten pings.
 * @param {HTMLCanvasElement} canvas
 * @param {import("./views.js").State} state */
function pinged(canvas, state) {
  const { arms: [arm], curves, cursor_s, isBetOpen } = state;
  const series = shown(state);
  const chart = new Chart(canvas, {
    x: { title: "seconds since the sender began", least: 0, most: series?.sending_s ?? 1 },
    y: { title: "ms", least: 0, most: top(state) },
  });
  if (!series) return chart;
  const { level_everywhere, rim_ms, pings } = series;
  chart.line(level_everywhere.t_s, level_everywhere.level_ms, { ink: arm.ink, width: 1 });
  if (!isBetOpen) chart.level(rim_ms, { ink: "--ink", dash: [] });
  pings.t_s.forEach((/** @type {number} */ t, /** @type {number} */ i) => chart.mark(t, pings.rtt_ms[i], { ink: "--vermillion" }));
  for (const { x, y, label } of isBetOpen ? [] : curves.filter((each) => each.is_published)) {
    x.forEach((each, i) => chart.mark(each, y[i], { ink: "--ink", shape: "diamond" }));
    chart.name(x[x.length - 1], y[y.length - 1] + rim_ms / 8, label, "--ink");
  }
  if (cursor_s !== null) read(chart, level_everywhere, cursor_s);
  return chart;
}

/** @param {HTMLCanvasElement} canvas @param {import("./views.js").State} state */
function tailOf(canvas, state) {
  const { arms: [arm], isBetOpen } = state;
  const series = shown(state);
  const chart = new Chart(canvas, {
    x: { title: "ms", least: 0, most: top(state) },
    y: { title: "share", least: LEAST_SHARE, most: 1, log: true },
  });
  if (!series) return chart;
  const { before } = arm;
  if (before) chart.line(before.series.tail.ms, before.series.tail.share, { ink: GHOST, width: 1.4 });
  chart.line(series.tail.ms, series.tail.share, { ink: arm.ink });
  if (!isBetOpen) chart.line([series.rim_ms, series.rim_ms], [LEAST_SHARE, 1], { ink: "--ink", width: 1.5 });
  return chart;
}

/** @type {import("./views.js").View} */
export const tank = {
  pictures: () => [
    { id: "filling", label: "Time that the queue holds, ms; ticks on the rim are lost packets", height: 300 },
    { id: "pings", label: "The whole ten seconds, with a ping a second (round trip, ms)", height: 160 },
    { id: "tail", label: "Share of packets that stay longer", height: 160 },
  ],
  clocks: ["filling", "pings"],
  instants: ["filling", "pings"],
  numbers: [
    { id: "longest_ms", label: "longest stay of a packet", unit: "ms" },
    { id: "longest_ping_ms", label: "longest of ten pings", unit: "ms" },
    { id: "full_s", label: "first loss after", unit: "s" },
    { id: "lost", label: "packets lost", unit: "%", factor: 100 },
  ],
  draw(id, canvas, state) {
    if (id === "tail") return tailOf(canvas, state);
    return id === "pings" ? pinged(canvas, state) : filling(canvas, state);
  },
  words(state) {
    const { numbers, series } = state.arms[0].now ?? {};
    if (!numbers) return { filling: "not run yet", pings: "not run yet", tail: "not run yet" };
    const full = Number.isFinite(numbers.full_s)
      ? `full after ${sensible(numbers.full_s)} s, packets stay up to ${sensible(numbers.longest_ms)} ms`
      : `not full in ten seconds, packets stay up to ${sensible(numbers.longest_ms)} ms`;
    return {
      filling: full,
      pings: `pings take up to ${sensible(numbers.longest_ping_ms)} ms`,
      tail: `no packet stays longer than ${sensible(series?.tail.ms.at(-1) ?? NaN)} ms`,
    };
  },
  betPlace: () => BET_PLACE,
};
