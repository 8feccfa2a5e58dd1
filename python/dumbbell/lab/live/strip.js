// A strip of what senders do over time: a bar for each arm, whose height and colour are what it does.
import { Chart } from "./chart.js";
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
/** Heights of a bar, of its name above it, and of a line of the key, px. */
const BAR = 18, NAME = 17, KEY = 19;
/** Of a sample of the key, and between it and its words, px. */
const SAMPLE = 14, GAP = 5;

/**
 * Stretches in which a sender does the same.
 * @typedef {{from_s: number[], until_s: number[], activity: number[]}} Stretches
 */

/** So high is a strip of so many arms, with two lines of key and the axis, px.
 * @param {number} arms */
export function stripHeight(arms) {
  return 2 * KEY + arms * (BAR + NAME + 4) + 50;
}

/** What there is in any of them, by its number.
 * @param {Stretches[]} all */
function present(all) {
  return [...new Set(all.flatMap(({ activity }) => activity))].sort((one, other) => one - other);
}

/** Samples with words, as many a line as there is room for.
 * @param {Chart} chart @param {number[]} activities */
function key(chart, activities) {
  const { pen } = chart;
  let [x, y] = [chart.left, chart.top];
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const each of activities) {
    const { words, ink, height } = ACTIVITIES[each];
    const wide = SAMPLE + GAP + pen.measureText(words).width;
    if (x > chart.left && x + wide > chart.right) [x, y] = [chart.left, y + KEY];
    pen.fillStyle = colour(ink);
    pen.fillRect(x, y + SAMPLE * (1 - height), SAMPLE, SAMPLE * height);
    pen.fillStyle = colour("--ink");
    pen.fillText(words, x + SAMPLE + GAP, y + SAMPLE / 2);
    x += wide + 3 * GAP;
  }
}

/** @param {Chart} chart @param {Stretches} stretches @param {number} bottom px */
function bar(chart, { from_s, until_s, activity }, bottom) {
  for (let i = 0; i < activity.length; i++) {
    const { ink, height } = ACTIVITIES[activity[i]];
    const [from, until] = [chart.x.at(from_s[i]), chart.x.at(until_s[i])];
    chart.pen.fillStyle = colour(ink);
    // What is shorter than a pixel is seen.
    chart.pen.fillRect(from, bottom - BAR * height, Math.max(1, until - from), BAR * height);
  }
}

/** What it does at an instant; -1 where there is no connection.
 * @param {Stretches} stretches @param {number} at_s */
function activityAt({ from_s, until_s, activity }, at_s) {
  return activity[from_s.findIndex((each, i) => each <= at_s && at_s < until_s[i])] ?? -1;
}

/** @param {HTMLCanvasElement} canvas @param {import("./views.js").State} state @param {number} until_s */
export function strip(canvas, { arms, cursor_s }, until_s) {
  const chart = new Chart(canvas, {
    x: { title: "seconds since the flow began", least: 0, most: until_s },
    y: { title: "", least: 0, most: 1, ticks: [] },
  });
  const known = arms.flatMap(({ label, ink, now }) => (now ? [{ label, ink, stretches: now.series.activities }] : []));
  key(chart, present(known.map(({ stretches }) => stretches)));
  known.forEach(({ label, ink, stretches }, i) => {
    const bottom = chart.bottom - 2 - (known.length - 1 - i) * (BAR + NAME + 4);
    bar(chart, stretches, bottom);
    const at = cursor_s === null ? -1 : activityAt(stretches, cursor_s);
    chart.text(label, chart.left - 11, bottom - BAR - NAME / 2, ink);
    if (cursor_s !== null && at >= 0) chart.text(ACTIVITIES[at].words, chart.x.at(cursor_s), bottom - BAR - NAME / 2, "--ink");
  });
  if (cursor_s !== null) chart.cursor(cursor_s);
  return chart;
}

/** Of the time, how much for what: the most first.
 * @param {Stretches} stretches */
export function activitiesInWords({ from_s, until_s, activity }) {
  /** @type {Map<number, number>} */
  const times = new Map();
  activity.forEach((each, i) => times.set(each, (times.get(each) ?? 0) + until_s[i] - from_s[i]));
  const all = [...times.values()].reduce((sum, each) => sum + each, 0);
  const longestFirst = [...times].sort(([, one], [, other]) => other - one);
  return longestFirst.map(([each, time]) => `${ACTIVITIES[each].words} ${Math.round((100 * time) / all)} %`).join(", ");
}
