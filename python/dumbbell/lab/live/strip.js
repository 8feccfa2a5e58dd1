// A strip of sender states over time: a bar per sender, whose height and colour show the state.
import { Chart, FONT, MARGIN } from "./chart.js";
import { colour } from "../page/plot.js";

/** By their numbers in the table `flow_activities` (engine/src/observe/activity.rs). What is usual is
 * low and pale, what follows a loss is high and dark: the height alone tells them apart.
 * @type {{words: string, ink: string, height: number}[]} */
const ACTIVITIES = [
  { words: "slow start", ink: "--green", height: 0.6 },
  { words: "congestion avoidance", ink: "--rule", height: 0.25 },
  { words: "window reduction after ECN", ink: "--orange", height: 0.8 },
  { words: "recovery", ink: "--purple", height: 0.8 },
  { words: "after a timeout", ink: "--ink", height: 1 },
  { words: "startup", ink: "--green", height: 0.6 },
  { words: "drain", ink: "--orange", height: 0.45 },
  { words: "probe bandwidth", ink: "--rule", height: 0.25 },
  { words: "probe round trip", ink: "--sky", height: 0.45 },
  { words: "by hand", ink: "--rule", height: 0.25 },
];
/** Height of a bar, of its name above it, and of a line of the key, px. */
const BAR = 18, NAME = 17, KEY = 19;
/** Width of a sample of the key, and its distance from its text, px. */
const SAMPLE = 14, GAP = 5;

/**
 * @typedef {import("../page/activities.js").Stretches} Stretches
 *
 * A sender, with its name in an ink.
 * @typedef {{label: string, ink: string, stretches: Stretches}} Row
 */

/** Height of a strip with this number of senders, with lines of key and the axis, px.
 * @param {number} senders @param {number} lines */
export function stripHeight(senders, lines = 2) {
  return lines * KEY + senders * (BAR + NAME + 4) + 50;
}

/** States that occur in any of them, by code.
 * @param {Stretches[]} all */
function present(all) {
  return [...new Set(all.flatMap(({ activity }) => activity))].sort((one, other) => one - other);
}

/** Positions of samples with text, wrapped into lines: px from the left, and line numbers.
 * @param {CanvasRenderingContext2D} pen @param {number[]} activities @param {number} room px
 * @returns {{activity: number, x: number, line: number}[]} */
function keyPlaces(pen, activities, room) {
  let [x, line] = [0, 0];
  return activities.map((activity) => {
    const wide = SAMPLE + GAP + pen.measureText(ACTIVITIES[activity].words).width;
    if (x > 0 && x + wide > room) [x, line] = [0, line + 1];
    const place = { activity, x, line };
    x += wide + 3 * GAP;
    return place;
  });
}

/** @param {Chart} chart @param {ReturnType<typeof keyPlaces>} places */
function key({ pen, left, top }, places) {
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const { activity, x, line } of places) {
    const { words, ink, height } = ACTIVITIES[activity];
    const [from, down] = [left + x, top + line * KEY];
    pen.fillStyle = colour(ink);
    pen.fillRect(from, down + SAMPLE * (1 - height), SAMPLE, SAMPLE * height);
    pen.fillStyle = colour("--ink");
    pen.fillText(words, from + SAMPLE + GAP, down + SAMPLE / 2);
  }
}

/** @param {Chart} chart @param {Stretches} stretches @param {number} bottom px */
function bar(chart, { from_s, until_s, activity }, bottom) {
  for (let i = 0; i < activity.length; i++) {
    const { ink, height } = ACTIVITIES[activity[i]];
    const [from, until] = [chart.x.at(from_s[i]), chart.x.at(until_s[i])];
    chart.pen.fillStyle = colour(ink);
    // An interval shorter than a pixel stays visible.
    chart.pen.fillRect(from, bottom - BAR * height, Math.max(1, until - from), BAR * height);
  }
}

/** The state at an instant; -1 without a connection.
 * @param {Stretches} stretches @param {number} at_s */
function activityAt({ from_s, until_s, activity }, at_s) {
  return activity[from_s.findIndex((each, i) => each <= at_s && at_s < until_s[i])] ?? -1;
}

/** Sets the height of the canvas to that of key and senders.
 * @param {HTMLCanvasElement} canvas @param {Row[]} rows
 * @param {{title: string, until_s: number, cursor_s: number | null}} axis */
export function strip(canvas, rows, { title, until_s, cursor_s }) {
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.font = FONT;
  const room = canvas.clientWidth - MARGIN.left - MARGIN.right;
  const places = keyPlaces(pen, present(rows.map(({ stretches }) => stretches)), room);
  canvas.style.height = `${stripHeight(rows.length, 1 + (places.at(-1)?.line ?? 0))}px`;
  const chart = new Chart(canvas, {
    x: { title, least: 0, most: until_s },
    y: { title: "", least: 0, most: 1, ticks: [] },
  });
  key(chart, places);
  rows.forEach(({ label, ink, stretches }, i) => {
    const bottom = chart.bottom - 2 - (rows.length - 1 - i) * (BAR + NAME + 4);
    bar(chart, stretches, bottom);
    const at = cursor_s === null ? -1 : activityAt(stretches, cursor_s);
    chart.text(label, chart.left - 11, bottom - BAR - NAME / 2, ink);
    if (cursor_s !== null && at >= 0) chart.text(ACTIVITIES[at].words, chart.x.at(cursor_s), bottom - BAR - NAME / 2, "--ink");
  });
  if (cursor_s !== null) chart.cursor(cursor_s);
  return chart;
}

/** Time in each state, the longest first.
 * @param {Stretches} stretches */
export function activitiesInWords({ from_s, until_s, activity }) {
  /** @type {Map<number, number>} */
  const times = new Map();
  activity.forEach((each, i) => times.set(each, (times.get(each) ?? 0) + until_s[i] - from_s[i]));
  const all = [...times.values()].reduce((sum, each) => sum + each, 0);
  const longestFirst = [...times].sort(([, one], [, other]) => other - one);
  return longestFirst.map(([each, time]) => `${ACTIVITIES[each].words} ${Math.round((100 * time) / all)} %`).join(", ");
}
