// Form `bucket`: the level of tokens above the segments in flight, on one time axis, and the operating
// point. Options: begin_s, length of the first picture; cliff_s, time in which the losses of the cliff are
// counted; base_rtt_ms, packet_bytes, queue_pkts of the path. Controls: burst (kB), rate (Mbit/s).
import { sensible } from "../page/words.js";
import { Chart } from "./chart.js";
import { intervalOf } from "./replications.js";
import { activitiesInWords, strip, stripHeight } from "./strip.js";
import { GHOST, keepBetFree } from "./views.js";

/** @type {import("./views.js").BetPlace} */
const BET_PLACE = { moves: "x", share: 0.3 };

/** Top of the axis relative to the bucket's rim: losses are drawn above the rim. */
const HEADROOM = 1.32;
/** Distance between rows of losses, px. */
const ROW = 18;
/** Maximum of the window's axis, relative to the capacity of line and queue. */
const TIMES_HELD = 6;
/** Height of names in the plane, as a share of the named object's height, to avoid the level. */
const BELOW = 0.78;
const BEGIN = "tokens", WHOLE = "whole", WINDOW = "window", STATES = "states", PLANE = "plane";

/** @typedef {import("./views.js").State} State */

/** The path's capacity, in packets: the bandwidth-delay product, and with the queue.
 * @param {State} state */
function held({ options: { base_rtt_ms, packet_bytes, queue_pkts }, values }) {
  const line = (1e3 * values.rate * base_rtt_ms) / 8 / packet_bytes;
  return { line, all: line + queue_pkts };
}

/** A row of ticks for each arm.
 * @param {Chart} chart @param {State} state
 * @param {"dropped_s" | "begin_dropped_s"} series */
function losses(chart, { arms }, series) {
  arms.forEach(({ now, ink }, i) => {
    if (now) chart.ticks(now.series[series], chart.y.value(row(chart, i)), ink);
  });
}

/** Vertical position of an arm's losses, px.
 * @param {Chart} chart @param {number} place of the arm */
function row(chart, place) {
  return chart.top + 10 + ROW * place;
}

/** Number of losses, drawn after the last one.
 * @param {Chart} chart @param {State} state */
function countLosses(chart, { arms }) {
  arms.forEach(({ now, ink, label }, i) => {
    const { begin_dropped_s: times, begin_dropped_pkts: pkts } = now?.series ?? { begin_dropped_s: [] };
    if (times.length) chart.text(`${label}: ${pkts} lost`, chart.x.at(times.at(-1)), row(chart, i) - 2, ink);
  });
}

/** The value of a line at an instant: that of the previous vertex.
 * @param {{x: number[], y: number[]}} line
 * @param {number} at */
function valueAt({ x, y }, at) {
  const after = x.findIndex((each) => each > at);
  return y[after < 0 ? y.length - 1 : Math.max(0, after - 1)] ?? NaN;
}

/** @param {Chart} chart @param {State} state @param {string} series @param {string} unit */
function read(chart, { arms, cursor_s }, series, unit) {
  if (cursor_s === null || cursor_s > chart.axes.x.most) return;
  chart.cursor(cursor_s);
  for (const { now, ink } of arms) {
    if (!now) continue;
    const value = valueAt(now.series[series], cursor_s);
    chart.name(cursor_s, value, `${sensible(value)} ${unit}`, ink);
  }
}

/** @param {HTMLCanvasElement} canvas @param {State} state @param {"begin" | "whole"} series */
function tokens(canvas, state, series) {
  const { arms, curves, options, values, isBetOpen } = state;
  const until_s = series === "begin" ? options.begin_s : (arms[0].now?.series.whole_s ?? 1);
  const chart = new Chart(canvas, {
    x: { title: "seconds since the flow began", least: 0, most: until_s },
    y: { title: "kB", least: 0, most: values.burst * (series === "begin" ? HEADROOM : 1.08) },
  });
  if (series === "begin") keepBetFree(chart, state, BET_PLACE);
  chart.level(values.burst, { ink: "--axis", dash: [2, 4] });
  for (const { before } of arms) {
    if (before) chart.line(before.series[series].x, before.series[series].y, { ink: GHOST, width: 1.2 });
  }
  for (const { now, ink, dash } of arms) {
    if (now) chart.line(now.series[series].x, now.series[series].y, { ink, dash: series === "begin" ? dash : [], width: series === "begin" ? 2 : 1.2 });
  }
  if (series === "begin") {
    for (const { x, y, label } of isBetOpen ? [] : curves.filter((each) => each.picture === BEGIN)) {
      chart.line(x, y, { ink: "--ink", width: 1.3, dash: [2, 3] });
      chart.name(x[x.length - 1], values.burst * 0.62, label, "--soft");
    }
    losses(chart, state, "begin_dropped_s");
    countLosses(chart, state);
  }
  read(chart, state, series, "kB");
  return chart;
}

/** @param {HTMLCanvasElement} canvas @param {State} state */
function window_(canvas, state) {
  const { arms, curves, isBetOpen } = state;
  const { line, all } = held(state);
  const highest = Math.max(1, ...arms.flatMap(({ now }) => now?.series.inflight.y.filter(Number.isFinite) ?? []));
  const most = Math.min(1.25 * Math.max(highest, all), TIMES_HELD * all);
  const until_s = arms[0].now?.series.whole_s ?? 1;
  const chart = new Chart(canvas, {
    x: { title: "seconds since the flow began", least: 0, most: until_s },
    y: { title: "segments", least: 0, most },
  });
  chart.area([0, until_s], [0, 0], [line, line], "--rule", 0.6);
  chart.area([0, until_s], [line, line], [all, all], "--rule", 0.3);
  for (const { before } of arms) {
    if (before) chart.line(before.series.inflight.x, before.series.inflight.y, { ink: GHOST, width: 1.2 });
  }
  for (const { now, ink } of arms) {
    if (now) chart.line(now.series.inflight.x, now.series.inflight.y, { ink, width: 1.3 });
  }
  for (const { x, y, label } of isBetOpen ? [] : curves.filter((each) => each.picture === WINDOW)) {
    chart.line(x, y, { ink: "--ink", width: 1.5, dash: [8, 4] });
    chart.name(until_s * 0.55, y[0] + most / 9, label, "--ink");
  }
  losses(chart, state, "dropped_s");
  read(chart, state, "inflight", "segments");
  return chart;
}

/** @param {HTMLCanvasElement} canvas @param {State} state */
function plane(canvas, state) {
  const { arms, curves, options, values, isBetOpen } = state;
  const emptying_ms = (8 * options.queue_pkts * options.packet_bytes) / (1e3 * values.rate);
  const chart = new Chart(canvas, {
    x: { title: "mean smoothed round trip, ms", least: 0, most: 1.25 * (options.base_rtt_ms + emptying_ms) },
    y: { title: "Mbit/s", least: 0, most: 1.4 * values.rate },
  });
  chart.level(values.rate, { ink: "--axis", label: "policing rate" });
  for (const { before } of arms) {
    if (before) chart.mark(before.numbers.srtt_ms, before.numbers.goodput_mbps, { ink: GHOST, shape: "ring" });
  }
  const now = arms.flatMap(({ ink, label, now: found }) => (found ? [{ ink, label, numbers: found.numbers }] : []));
  for (const { ink, numbers: { srtt_ms, goodput_mbps } } of now) chart.mark(srtt_ms, goodput_mbps, { ink });
  for (const { drawn } of arms) chart.cross(intervalOf(drawn, "srtt_ms"), intervalOf(drawn, "goodput_mbps"), "--ink");
  for (const { ink, label, numbers: { srtt_ms, goodput_mbps } } of now) chart.name(srtt_ms, goodput_mbps * BELOW, label, ink);
  // Drawn over the dots, which are close together.
  for (const { x, y, label } of isBetOpen ? [] : curves.filter((each) => each.picture === PLANE)) {
    chart.mark(x[0], y[0], { ink: "--ink", shape: "diamond" });
    chart.name(x[0], y[0] * BELOW * BELOW, label, "--ink");
  }
  return chart;
}

/** @param {HTMLCanvasElement} canvas @param {State} state */
function states(canvas, { arms, cursor_s }) {
  const rows = arms.flatMap(({ label, ink, now }) => (now ? [{ label, ink, stretches: now.series.activities }] : []));
  const until_s = arms[0].now?.series.whole_s ?? 1;
  return strip(canvas, rows, { title: "seconds since the flow began", until_s, cursor_s });
}

/** @type {import("./views.js").View} */
export const bucket = {
  pictures: ({ options, arms }) => [
    { id: BEGIN, label: `Tokens in the bucket, kB: the first ${options.begin_s} s; ticks are lost packets`, height: 300 },
    { id: WHOLE, label: "Tokens in the bucket, kB: the whole run", height: 130 },
    { id: WINDOW, label: "Segments in flight; bands: what the line holds, and with the shaper's queue; ticks are lost packets", height: 190 },
    { id: STATES, label: "What the sender does", height: stripHeight(arms.length) },
    { id: PLANE, label: "Where each works: payload that arrived, Mbit/s, and the round trip it took", height: 190 },
  ],
  clocks: [BEGIN, WHOLE, WINDOW, STATES],
  instants: [BEGIN, WHOLE, WINDOW, STATES],
  numbers: [
    { id: "dry_s", label: "bucket first empty after", unit: "s" },
    { id: "cliff_pkts", label: "packets lost in the first second, which is longer than the first picture", unit: "" },
    { id: "dropped_pkts", label: "packets lost in all", unit: "" },
    { id: "used", label: "tokens used", unit: "%", factor: 100 },
    { id: "goodput_mbps", label: "payload that arrived", unit: "Mbit/s" },
    { id: "srtt_ms", label: "mean smoothed round trip", unit: "ms" },
  ],
  draw(id, canvas, state) {
    if (id === PLANE) return plane(canvas, state);
    if (id === STATES) return states(canvas, state);
    return id === WINDOW ? window_(canvas, state) : tokens(canvas, state, id === BEGIN ? "begin" : "whole");
  },
  words({ arms }) {
    const each = (/** @type {(numbers: any, series: any) => string} */ say) =>
      arms.map(({ label, now }) => `${label}: ${now ? say(now.numbers, now.series) : "not run yet"}`).join("; ");
    return {
      [BEGIN]: each((found) => Number.isFinite(found.dry_s) ? `empty after ${sensible(found.dry_s)} s` : "never empty"),
      [WHOLE]: each((found) => `${sensible(100 * found.used)} % of the tokens used`),
      [WINDOW]: each((found) => `${found.dropped_pkts} packets lost`),
      [STATES]: each((_, series) => activitiesInWords(series.activities)),
      [PLANE]: each((found) => `${sensible(found.goodput_mbps)} Mbit/s at ${sensible(found.srtt_ms)} ms`),
    };
  },
  betPlace: () => BET_PLACE,
};
