// The four figures of a run, each with the run before as a grey ghost.
import { DASHES, colour, draw } from "./plot.js";
import { sensible } from "./words.js";

/** @typedef {{series: any, duration_s: number}} Shown */

/** Colour and dash of a group by its place.
 * @param {number} place */
export function look(place) {
  return { colour: colour(`--flow-${(place % 6) + 1}`), dash: DASHES[place % DASHES.length] };
}

const GHOST = { dash: [], width: 1.4 };

/** @param {number[] | Float64Array} values @param {number} factor */
function scaled(values, factor) {
  return Float64Array.from(values, (value) => value * factor);
}

/** What each figure draws of a run.
 * @type {Record<string, (series: any) => any[]>} */
const LINES = {
  queue: ({ queue }) => [{ x: queue.t_s, y: queue.system_pkts, name: "queue" }],
  goodput: ({ flows }) =>
    flows.groups.map((/** @type {any} */ group) => ({
      x: flows.t_s, y: scaled(group.goodput_bps, 1e-6), name: group.name,
    })),
  cwnd: ({ flows }) =>
    flows.groups.map((/** @type {any} */ group) => ({ x: flows.t_s, y: group.cwnd_pkts, name: group.name })),
  cdf: ({ cdf }) => [{ x: scaled(cdf.delay_s, 1e3), y: cdf.share, name: "time in the system" }],
};

/** @param {ArrayLike<number>} y */
function inWords(y) {
  const known = Array.from(y).filter(Number.isFinite);
  if (!known.length) return "nothing";
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  return `mean ${sensible(mean)}, most ${sensible(Math.max(...known))}`;
}

/** Draws all; each canvas says in words what it shows.
 * @param {Record<string, HTMLCanvasElement>} canvases
 * @param {{now: Shown, before: Shown | null, cursor_s: number,
 *   lookOf: (name: string) => {colour: string, dash: number[]}}} what
 * @returns {(pixel: number) => number} seconds under a pixel of a figure over time */
export function drawAll(canvases, { now, before, cursor_s, lookOf }) {
  let toSeconds = (/** @type {number} */ pixel) => pixel;
  for (const [id, canvas] of Object.entries(canvases)) {
    const isCdf = id === "cdf";
    const lines = LINES[id](now.series);
    const earlier = before ? LINES[id](before.series) : [];
    const ghost = colour("--ghost");
    const ends = [...lines, ...earlier].map(({ x }) => (x.length ? x[x.length - 1] : 0));
    const found = draw(canvas, {
      lines: lines.map((line) => ({
        ...line,
        ...(isCdf || id === "queue" ? { colour: colour("--text"), dash: [] } : lookOf(line.name)),
        steps: isCdf,
      })),
      ghosts: earlier.map((line) => ({ ...line, ...GHOST, colour: ghost, steps: isCdf })),
      xMost: isCdf ? Math.max(...ends, 1e-6) : now.duration_s,
      xTitle: isCdf ? "ms" : "s",
      yMost: isCdf ? 1 : undefined,
      cursor: isCdf ? null : cursor_s,
    });
    if (!isCdf) toSeconds = found;
    const words = isCdf
      ? `half below ${sensible(lines[0].x[lines[0].y.findIndex((/** @type {number} */ y) => y >= 0.5)] ?? NaN)} ms`
      : lines.map((line) => `${line.name} ${inWords(line.y)}`).join("; ");
    canvas.setAttribute("aria-label", `${canvas.dataset.title}: ${words}`);
  }
  return toSeconds;
}
