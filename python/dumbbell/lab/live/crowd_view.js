// Form `crowd`: the share of flows for which the last arm is better than the first, against users, above
// the distributions of throughput. Options: least_kbps and most_kbps, the ends of its axis. The control
// `users` moves along the axis of the first picture.
import { sensible } from "../page/words.js";
import { Chart } from "./chart.js";
import { compared, won } from "./crossing.js";
import { intervalOf } from "./replications.js";
import { GHOST, keepBetFree } from "./views.js";

/** Maximum points of a distribution's line. */
const MOST_STEPS = 400;
/** Share at which the better arm changes, %. */
const EVEN = 50;
/** Distance between a line and its name, %. */
const BESIDE = 5;
/** Levels at which the arms' lines are labelled, in their order. */
const NAMED_AT = [0.9, 0.35];
const SIZES = Object.freeze({
  large: { words: "large flows", ink: "--ink", dash: /** @type {number[]} */ ([]), shape: /** @type {const} */ ("dot") },
  small: { words: "small flows", ink: "--purple", dash: [3, 3], shape: /** @type {const} */ ("ring") },
});
/** @typedef {keyof typeof SIZES} Size */
/** The first picture; the other pictures are named after the sizes. */
const WINNER = "winner";
const NAMES = /** @type {Size[]} */ (Object.keys(SIZES));

/** Results of finished runs by setting; results with the same `family` are drawn together.
 * @type {Map<string, {users: number, family: string, large: number, small: number}>} */
const seen = new Map();

/** @param {import("./views.js").Arm[]} arms @param {Size} size */
function comparison(arms, size) {
  const [first, last] = [arms[0], arms[arms.length - 1]].map((arm) => arm.now?.series[size] ?? []);
  return compared(last, first);
}

/** Whether all runs have finished: parts of runs of different lengths are not comparable.
 * @param {import("./views.js").Arm[]} arms */
function areDone(arms) {
  return arms.every((arm) => arm.isDone);
}

/** Key common to runs of different users and random numbers.
 * @param {Record<string, number>} values */
function familyOf({ users: _users, run: _run, ...others }) {
  return JSON.stringify(others);
}

/** Stores the results of the sizes when all arms' runs have finished.
 * @param {import("./views.js").State} state */
function keep({ arms, values }) {
  if (!areDone(arms)) return;
  const { large_more: large, small_more: small } = arms[arms.length - 1].now?.numbers ?? {};
  seen.set(JSON.stringify(values), { users: values.users, family: familyOf(values), large, small });
}

/** Every run seen so far, and the means over random numbers, by users.
 * @param {Record<string, number>} values */
function trail(values) {
  const points = [...seen.values()].filter((each) => each.family === familyOf(values));
  const users = [...new Set(points.map((each) => each.users))].sort((one, other) => one - other);
  const mean = (/** @type {Size} */ size, /** @type {number} */ at) => {
    const own = points.filter((each) => each.users === at);
    return own.reduce((sum, each) => sum + each[size] / own.length, 0);
  };
  return { points, users, mean };
}

/** @param {HTMLCanvasElement} canvas @param {import("./views.js").State} state */
function winner(canvas, state) {
  const { hero, arms, values, curves, isBetOpen } = state;
  const users = hero.controls.find((/** @type {any} */ each) => each.id === "users").stops.map((/** @type {any} */ stop) => stop.value);
  const chart = new Chart(canvas, {
    x: { title: "users on each node", least: users[0] * 0.88, most: users[users.length - 1] * 1.14, log: true, ticks: users },
    y: { title: "%", least: 0, most: 100 },
  });
  keepBetFree(chart, state, betPlace(hero));
  chart.level(EVEN, { ink: "--ink" });
  const [first, last] = [arms[0], arms[arms.length - 1]];
  const printed = isBetOpen ? [] : curves.filter((each) => each.is_published);
  for (const { y } of printed) chart.line(users, users.map(() => y[0]), { ink: "--axis", dash: [2, 4], width: 1.4 });
  const past = trail(values);
  for (const size of NAMES) {
    const { ink, dash, shape } = SIZES[size];
    for (const each of past.points) chart.mark(each.users, each[size], { ink: GHOST, shape });
    chart.line(past.users, past.users.map((each) => past.mean(size, each)), { ink, dash, width: 1.6 });
  }
  if (areDone(arms)) name(chart, values.users, last.now?.numbers ?? {});
  for (const size of NAMES) {
    chart.cross({ mean: values.users, half: 0 }, intervalOf(last.drawn, `${size}_more`), SIZES[size].ink);
  }
  printed.sort((one, other) => one.y[0] - other.y[0]);
  printed.forEach(({ y, label }, i) => {
    const isHighest = i === printed.length - 1;
    chart.name(users[users.length - 1], y[0] + (isHighest ? BESIDE : -BESIDE), label, "--soft");
  });
  chart.text(`${last.label} win`, chart.right - 1, chart.top + 12, last.ink);
  chart.text(`${first.label} win`, chart.left, chart.bottom - 12, first.ink);
  return chart;
}

/** @param {any} hero @returns {import("./views.js").BetPlace} */
function betPlace({ bet: { settings }, controls }) {
  const users = controls.find((/** @type {any} */ each) => each.id === "users");
  return { moves: "y", at: users.stops[settings.users].value };
}

/** Current results of the sizes.
 * @param {Chart} chart @param {number} users
 * @param {Record<string, number>} numbers of the last arm */
function name(chart, users, numbers) {
  for (const size of NAMES) {
    const share = numbers[`${size}_more`];
    const { ink, shape, words } = SIZES[size];
    chart.mark(users, share, { ink, shape });
    chart.name(users, share, `${words}: ${sensible(share, 2)} %`, ink);
  }
}

/** A distribution as steps.
 * @param {ArrayLike<number>} sorted */
function steps(sorted) {
  const every = Math.max(1, Math.ceil(sorted.length / MOST_STEPS));
  const [x, y] = [/** @type {number[]} */ ([]), /** @type {number[]} */ ([])];
  for (let i = 0; i < sorted.length; i += every) {
    x.push(sorted[i], sorted[i]);
    y.push((100 * i) / sorted.length, (100 * Math.min(sorted.length, i + every)) / sorted.length);
  }
  return { x, y };
}

/** Share of values up to a limit, %.
 * @param {ArrayLike<number>} sorted @param {number} value */
function below(sorted, value) {
  const at = Array.prototype.findIndex.call(sorted, (each) => each > value);
  return (100 * (at < 0 ? sorted.length : at)) / sorted.length;
}

/** @param {HTMLCanvasElement} canvas @param {Size} size @param {import("./views.js").State} state */
function distribution(canvas, size, { arms, options, cursor_s }) {
  const chart = new Chart(canvas, {
    x: { title: "throughput of a flow, kbit/s", least: options.least_kbps, most: options.most_kbps, log: true },
    y: { title: "%", least: 0, most: 100 },
  });
  for (const arm of arms) {
    const before = steps(arm.before?.series[size] ?? []);
    chart.line(before.x, before.y, { ink: GHOST, width: 1.2, dash: arm.dash });
  }
  for (const { now, ink, dash } of arms) {
    const { x, y } = steps(now?.series[size] ?? []);
    chart.line(x, y, { ink, dash });
  }
  if (cursor_s !== null) return read(chart, size, arms, cursor_s);
  arms.forEach(({ now, ink, label }, i) => {
    const sorted = now?.series[size] ?? [];
    const level = NAMED_AT[i % NAMED_AT.length];
    if (sorted.length) chart.name(sorted[Math.floor(level * sorted.length)], 100 * level, label, ink);
  });
  if (areDone(arms)) cross(chart, size, arms);
  return chart;
}

/** The level at which the lines cross.
 * @param {Chart} chart @param {Size} size
 * @param {import("./views.js").Arm[]} arms */
function cross(chart, size, arms) {
  const { crossing } = comparison(arms, size);
  const sorted = arms[0].now?.series[size] ?? [];
  if (!Number.isFinite(crossing) || !sorted.length) return;
  const x = sorted[Math.min(sorted.length - 1, Math.floor(crossing * sorted.length))];
  chart.mark(x, 100 * crossing, { ink: "--ink", shape: "ring" });
  chart.name(x, 100 * crossing, `they cross at ${sensible(100 * crossing, 2)} %`, "--ink");
}

/** Values of the lines at one throughput.
 * @param {Chart} chart @param {Size} size
 * @param {import("./views.js").Arm[]} arms @param {number} kbps */
function read(chart, size, arms, kbps) {
  chart.cursor(kbps);
  for (const { now, ink, label } of arms) {
    const share = below(now?.series[size] ?? [], kbps);
    chart.name(kbps, share, `${label}: ${sensible(share, 2)} % get at most ${sensible(kbps, 2)}`, ink);
  }
  return chart;
}

/** @type {import("./views.js").View} */
export const crowd = {
  pictures: ({ arms }) => [
    { id: WINNER, label: `Flows that get more with ${arms[arms.length - 1].label}, %`, height: 300 },
    { id: "large", label: "Large flows: share that get at most so much, %", height: 240 },
    { id: "small", label: "Small flows: share that get at most so much, %", height: 190 },
  ],
  clocks: ["large", "small"],
  instants: [],
  numbers: [
    { id: "large_more", label: "large flows that get more here", unit: "%" },
    { id: "small_more", label: "small flows that do", unit: "%" },
    { id: "mean_wait_ms", label: "mean wait", unit: "ms" },
    { id: "utilization", label: "link busy", unit: "%", factor: 100 },
    { id: "lost", label: "packets dropped", unit: "%", factor: 100 },
  ],
  compared: (arms) => won(arms.map(({ now }) => now?.series ?? {})),
  draw(id, canvas, state) {
    if (id !== WINNER) return distribution(canvas, id === "large" ? "large" : "small", state);
    keep(state);
    return winner(canvas, state);
  },
  words({ arms, values }) {
    const last = arms[arms.length - 1];
    const numbers = areDone(arms) ? last.now?.numbers : null;
    const of = (/** @type {Size} */ size) =>
      numbers
        ? `${sensible(numbers[`${size}_more`], 2)} % of the ${SIZES[size].words} get more with ${last.label} than with ${arms[0].label}`
        : "not run yet";
    return { winner: `${values.users} users on each node: ${of("large")}; ${of("small")}`, large: of("large"), small: of("small") };
  },
  betPlace,
};
