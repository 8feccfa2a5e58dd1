// The figures of a run, each with the previous run in grey.
import { Chart } from "../live/chart.js";
import { activitiesInWords, strip } from "../live/strip.js";
import { DASHES, colour } from "./plot.js";
import { OTHERS } from "./stack.js";
import { sensible } from "./words.js";

/**
 * Data of a run to draw: its series, its length, and the packets in the queue by group once they are known.
 * @typedef {{series: any, duration_s: number, stacked?: import("./stack.js").Stacked | null}} Shown
 *
 * An ink is the name of a colour of the style sheet.
 * @typedef {{ink: string, dash: number[]}} Look
 *
 * Capacity of the path, packets: the queue's limit, the bandwidth-delay product, and their sum; NaN if
 * undefined.
 * @typedef {{limit: number, line: number, all: number}} Held
 *
 * @typedef {{now: Shown, before: Shown | null, cursor_s: number, held: Held, isTail: boolean,
 *   lookOf: (name: string) => Look}} What
 */

/** Inks of six groups. */
const INKS = 6;
/** Margin above the highest value. */
const TOP = 1.06;
/** A limit is drawn if the queue comes within this factor of it. */
const NEAR = 0.4;
/** Maximum ticks of losses: more are not distinguishable. */
const MOST_TICKS = 300;
/** Maximum groups described in text. */
const MOST_NAMED = 12;
/** Smallest share of packets shown in the tail. */
const LEAST_SHARE = 1e-4;
/** Opacity of what a link's trace lets pass. */
const BEHIND = 0.28;
const GHOST = { ink: "--ghost", width: 1.4 };
const BLACK = { ink: "--text", width: 1.6 };

/** Colour and dash of a group by its index.
 * @param {number} place */
export function look(place) {
  const ink = `--flow-${(place % INKS) + 1}`;
  return { ink, colour: colour(ink), dash: DASHES[place % DASHES.length] };
}

/** @param {ArrayLike<number>[]} all */
function highest(all) {
  let most = 0;
  for (const values of all) for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  return most;
}

/** A plot over time, with what the link's trace lets pass as a grey area behind its lines.
 * @param {HTMLCanvasElement} canvas @param {What} what @param {number} most of its axis
 * @param {boolean} isMbps whether the axis is in Mbit/s; otherwise the area is as high as the axis where the
 *   link is fastest */
function overTime(canvas, { now }, most, isMbps = false) {
  const { trace } = now.series;
  const fastest = trace ? highest([trace.rate_mbps]) : 0;
  const chart = new Chart(canvas, {
    x: { title: "s", least: 0, most: now.duration_s },
    y: { title: "", least: 0, most: Math.max(most, isMbps ? fastest : 0) * TOP || 1 },
  });
  if (fastest > 0) {
    const factor = isMbps ? 1 : chart.axes.y.most / TOP / fastest;
    const { x, y } = steps(trace.t_s, trace.rate_mbps, now.duration_s);
    chart.area(x, new Float64Array(x.length), y.map((each) => each * factor), "--ghost", BEHIND);
  }
  return chart;
}

/** Corners of a curve that is constant from each time to the next.
 * @param {Float64Array} t_s @param {Float64Array} values @param {number} until_s */
function steps(t_s, values, until_s) {
  const [x, y] = [new Float64Array(2 * t_s.length), new Float64Array(2 * t_s.length)];
  for (let i = 0; i < t_s.length; i++) {
    x[2 * i] = t_s[i];
    x[2 * i + 1] = t_s[i + 1] ?? until_s;
    y[2 * i] = y[2 * i + 1] = values[i];
  }
  return { x, y };
}

/** Times of samples with losses since the previous sample.
 * @param {any} queue */
function lossTimes({ t_s, dropped_pkts }) {
  const found = [...t_s.keys()].filter((i) => dropped_pkts[i] > (i ? dropped_pkts[i - 1] : 0));
  const step = Math.ceil(found.length / MOST_TICKS);
  return found.filter((_, i) => i % step === 0).map((i) => t_s[i]);
}

/** Packets of each group, stacked.
 * @param {Chart} chart @param {import("./stack.js").Stacked} stacked @param {What} what */
function layers(chart, { t_s, groups }, { lookOf }) {
  let low = new Float64Array(t_s.length);
  for (const { name, pkts } of groups) {
    const high = low.map((each, i) => each + pkts[i]);
    chart.area(t_s, low, high, name === OTHERS ? "--quiet" : lookOf(name).ink, 0.6);
    low = high;
  }
}

/** The queue: packets by group, its limit as a line, losses as ticks at the limit.
 * @param {HTMLCanvasElement} canvas @param {What} what */
function queue(canvas, what) {
  const { now, before, held } = what;
  const { queue: own } = now.series;
  const pkts = [own.system_pkts, ...(before ? [before.series.queue.system_pkts] : [])];
  const most = highest(pkts);
  const rim = most > NEAR * held.limit ? held.limit : NaN;
  const chart = overTime(canvas, what, Math.max(most, rim || 0) * 1.08);
  if (now.stacked) layers(chart, now.stacked, what);
  if (before) chart.line(before.series.queue.t_s, before.series.queue.system_pkts, GHOST);
  chart.line(own.t_s, own.system_pkts, now.stacked ? { ...BLACK, width: 1 } : BLACK);
  if (Number.isFinite(rim)) chart.level(rim, { ink: "--text", dash: [6, 4] });
  chart.ticks(lossTimes(own), Number.isFinite(rim) ? rim : chart.axes.y.most, "--bad");
  return chart;
}

/** Round-trip times of probes, if there are any; losses as ticks at the top.
 * @param {HTMLCanvasElement} canvas @param {What} what */
function probes(canvas, what) {
  const { now, before, lookOf } = what;
  const all = now.series.probes;
  /** @type {HTMLElement} */ (canvas.parentElement).hidden = all.length === 0;
  if (!all.length) return null;
  const ghosts = before?.series.probes ?? [];
  const most = highest([...all, ...ghosts].map(({ rtt_ms }) => rtt_ms));
  const chart = overTime(canvas, what, most * 1.08);
  for (const { t_s, rtt_ms } of ghosts) chart.line(t_s, rtt_ms, GHOST);
  for (const { name, t_s, rtt_ms } of all) {
    const own = lookOf(name);
    chart.line(t_s, rtt_ms, { ...own, width: 1.4 });
    // A single answer between two losses has no line.
    const isGap = (/** @type {number} */ i) => !Number.isFinite(rtt_ms[i]);
    chart.dots(t_s, rtt_ms.map((/** @type {number} */ each, /** @type {number} */ i) => (isGap(i - 1) && isGap(i + 1) ? each : NaN)), own.ink, 0.9);
  }
  const lost = all.flatMap((/** @type {any} */ each) => [...each.lost_s]);
  const step = Math.ceil(lost.length / MOST_TICKS);
  chart.ticks(lost.filter((/** @type {number} */ _, /** @type {number} */ i) => i % step === 0), chart.axes.y.most, "--bad");
  return chart;
}

/** @param {HTMLCanvasElement} canvas @param {What} what */
function goodput(canvas, what) {
  const lines = (/** @type {Shown | null} */ run) =>
    (run?.series.flows.groups ?? []).map((/** @type {any} */ group) => ({
      name: group.name, x: run?.series.flows.t_s, y: Float64Array.from(group.goodput_bps, (each) => each / 1e6),
    }));
  return groups(canvas, what, lines, [], true);
}

/** The congestion window, with the path's capacity.
 * @param {HTMLCanvasElement} canvas @param {What} what */
function cwnd(canvas, what) {
  const lines = (/** @type {Shown | null} */ run) =>
    (run?.series.flows.groups ?? []).map((/** @type {any} */ group) => ({
      name: group.name, x: run?.series.flows.t_s, y: group.cwnd_pkts,
    }));
  const isTcp = lines(what.now).some((/** @type {any} */ each) => each.y.some(Number.isFinite));
  return groups(canvas, what, lines, isTcp ? [what.held.line, what.held.all] : []);
}

/** A line for each group, with bands up to given levels.
 * @param {HTMLCanvasElement} canvas @param {What} what
 * @param {(run: Shown | null) => {name: string, x: ArrayLike<number>, y: ArrayLike<number>}[]} lines
 * @param {number[]} levels @param {boolean} isMbps whether values are in Mbit/s */
function groups(canvas, what, lines, levels, isMbps = false) {
  const [now, before] = [lines(what.now), lines(what.before)];
  const own = highest([...now, ...before].map(({ y }) => y));
  // If the path's capacity is far above the values, it is not drawn.
  const bands = levels.filter((each) => Number.isFinite(each) && each < 4 * own);
  const chart = overTime(canvas, what, Math.max(own, ...bands), isMbps);
  let low = 0;
  for (const high of bands) {
    const ends = [0, what.now.duration_s];
    chart.area(ends, [low, low], [high, high], "--ghost", low ? 0.16 : 0.3);
    low = high;
  }
  for (const { x, y } of before) chart.line(x, y, GHOST);
  for (const { name, x, y } of now) chart.line(x, y, { ...what.lookOf(name), width: 1.8 });
  return chart;
}

/** Distribution of packets by delay: cumulative, or the complementary distribution on a logarithmic axis.
 * @param {HTMLCanvasElement} canvas @param {What} what */
function cdf(canvas, { now, before, isTail }) {
  const line = (/** @type {Shown} */ run) => {
    const { delay_s, share } = run.series.cdf;
    const x = Float64Array.from(delay_s, (each) => 1e3 * each);
    return { x, y: isTail ? share.map((/** @type {number} */ each) => 1 - each) : share };
  };
  const lines = [...(before ? [{ ...line(before), look: GHOST }] : []), { ...line(now), look: BLACK }];
  const chart = new Chart(canvas, {
    x: { title: "ms", least: 0, most: highest(lines.map(({ x }) => x)) || 1 },
    y: { title: "", least: isTail ? LEAST_SHARE : 0, most: 1, log: isTail },
  });
  for (const { x, y, look: own } of lines) chart.steps(x, y, own);
  return chart;
}

/** States of senders, if there are any.
 * @param {HTMLCanvasElement} canvas @param {What} what */
function states(canvas, { now, cursor_s, lookOf }) {
  const rows = now.series.senders.map((/** @type {any} */ { name, flows, stretches }) => ({
    label: flows > 1 ? `${name}, the first of ${flows}` : name, ink: lookOf(name).ink, stretches,
  }));
  const place = /** @type {HTMLElement} */ (canvas.parentElement);
  place.hidden = rows.length === 0;
  if (!rows.length) return null;
  strip(canvas, rows, { title: "s", until_s: now.duration_s, cursor_s });
  return null;
}

const DRAW = { probes, queue, goodput, cwnd, cdf, states };

/** @param {ArrayLike<number>} y */
function inWords(y) {
  const known = Array.from(y).filter(Number.isFinite);
  if (!known.length) return "nothing";
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  return `mean ${sensible(mean)}, most ${sensible(Math.max(...known))}`;
}

/** Text for the lines of groups: as many as the legend names.
 * @param {{name: string}[]} all @param {(group: any) => ArrayLike<number>} valuesOf
 * @param {(group: any) => string} moreOf additional text for each */
function groupsInWords(all, valuesOf, moreOf = () => "") {
  const named = all.slice(0, MOST_NAMED).map((each) => `${each.name} ${inWords(valuesOf(each))}${moreOf(each)}`);
  const more = all.length - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** Text description of each figure.
 * @type {Record<keyof typeof DRAW, (series: any) => string>} */
const WORDS = {
  probes: ({ probes: all }) =>
    groupsInWords(all, (each) => each.rtt_ms, ({ lost, requests }) => `, ${lost} of ${requests} lost`),
  queue: ({ queue: own }) => `queue ${inWords(own.system_pkts)}; ${own.dropped_pkts.at(-1) ?? 0} dropped`,
  goodput: ({ flows, trace }) =>
    groupsInWords(flows.groups, (each) => Float64Array.from(each.goodput_bps, (bps) => bps / 1e6)) +
    (trace ? `; the link's trace: ${inWords(trace.rate_mbps)}` : ""),
  cwnd: ({ flows }) => groupsInWords(flows.groups, (each) => each.cwnd_pkts),
  cdf: ({ cdf: own }) => {
    const half = own.share.findIndex((/** @type {number} */ each) => each >= 0.5);
    return `half below ${sensible(1e3 * (own.delay_s[half] ?? NaN))} ms`;
  },
  states: ({ senders }) =>
    senders.map((/** @type {any} */ each) => `${each.name}: ${activitiesInWords(each.stretches)}`).join("; "),
};

/** What is drawn in grey.
 * @param {any} series @param {string} queue its name */
export function greysInWords({ trace }, queue) {
  const line = "grey line: the run before";
  if (!trace) return line;
  const top = sensible(highest([trace.rate_mbps]));
  return `${line}; grey area: what ${queue} can send by its trace, ${top} Mbit/s at the top`;
}

/** Draws all figures; each canvas gets a text description.
 * @param {Record<string, HTMLCanvasElement>} canvases @param {What} what
 * @returns {(pixel: number) => number} seconds under a pixel of a figure over time */
export function drawAll(canvases, what) {
  let toSeconds = (/** @type {number} */ pixel) => pixel;
  for (const [name, canvas] of Object.entries(canvases)) {
    const id = /** @type {keyof typeof DRAW} */ (name);
    const chart = DRAW[id](canvas, what);
    if (chart && id !== "cdf") {
      chart.cursor(what.cursor_s);
      toSeconds = (pixel) => chart.x.value(pixel);
    }
    canvas.setAttribute("aria-label", `${canvas.dataset.title}: ${WORDS[id](what.now.series)}`);
  }
  return toSeconds;
}
