// Lines over an axis of time or of another quantity, on a canvas.
import { sensible } from "./words.js";

const MARGIN = { left: 46, right: 10, top: 8, bottom: 30 };
const FONT = "12px system-ui, sans-serif";
/** Of series in their order, so that colour is never all that tells them apart. */
export const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [12, 5], [4, 4]];

/**
 * @typedef {{x: ArrayLike<number>, y: ArrayLike<number>, colour: string, dash?: number[],
 *   width?: number, steps?: boolean}} Line
 * @typedef {{lines: Line[], ghosts: Line[], xMost: number, xTitle: string, yMost?: number,
 *   cursor?: number | null}} Figure
 */

/** @type {Map<string, string>} */
const colours = new Map();

/** To be asked for again: light has become dark, or dark light. */
export function forgetColours() {
  colours.clear();
}

/** @param {string} name of a custom property of the style sheet @returns {string} */
export function colour(name) {
  let known = colours.get(name);
  if (known === undefined) {
    known = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(name, known);
  }
  return known;
}

/** A canvas as sharp as the screen.
 * @param {HTMLCanvasElement} canvas */
export function prepared(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

/** Round numbers from 0 to a number or a little less.
 * @param {number} most @param {number} count */
export function ticks(most, count = 4) {
  if (!(most > 0) || !Number.isFinite(most)) return [0];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** Ticks are round numbers: no digit of theirs is more than they have.
 * @param {number} value */
function tickText(value) {
  return sensible(value, 3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** @param {Line[]} lines */
function highest(lines) {
  let most = 0;
  for (const { y } of lines) {
    for (let i = 0; i < y.length; i++) if (y[i] > most) most = y[i];
  }
  return most;
}

/** @param {HTMLCanvasElement} canvas @param {Figure} figure
 * @returns {(x: number) => number} from pixels across to the axis */
export function draw(canvas, figure) {
  const { pen, width, height } = prepared(canvas);
  const yMost = figure.yMost ?? (highest([...figure.lines, ...figure.ghosts]) * 1.06 || 1);
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const across = (/** @type {number} */ x) => MARGIN.left + (x / figure.xMost) * (right - MARGIN.left);
  const down = (/** @type {number} */ y) => bottom - (y / yMost) * (bottom - MARGIN.top);
  axes(pen, figure, { yMost, across, down, right, bottom });
  pen.save();
  pen.beginPath();
  pen.rect(MARGIN.left, 0, right - MARGIN.left, bottom + 1);
  pen.clip();
  for (const line of [...figure.ghosts, ...figure.lines]) stroke(pen, line, across, down);
  pen.restore();
  if (figure.cursor !== null && figure.cursor !== undefined) {
    pen.strokeStyle = colour("--text");
    pen.setLineDash([2, 2]);
    pen.lineWidth = 1;
    vertical(pen, across(figure.cursor), MARGIN.top, bottom);
    pen.setLineDash([]);
  }
  return (pixel) => ((pixel - MARGIN.left) / (right - MARGIN.left)) * figure.xMost;
}

/** @param {CanvasRenderingContext2D} pen @param {number} x @param {number} top @param {number} end */
function vertical(pen, x, top, end) {
  pen.beginPath();
  pen.moveTo(x, top);
  pen.lineTo(x, end);
  pen.stroke();
}

/** @param {CanvasRenderingContext2D} pen @param {Figure} figure @param {any} place */
function axes(pen, figure, { yMost, across, down, right, bottom }) {
  pen.font = FONT;
  pen.lineWidth = 1;
  pen.strokeStyle = colour("--grid");
  pen.fillStyle = colour("--quiet");
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const y of ticks(yMost)) {
    pen.beginPath();
    pen.moveTo(MARGIN.left, down(y));
    pen.lineTo(right, down(y));
    pen.stroke();
    pen.fillText(tickText(y), MARGIN.left - 5, down(y));
  }
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const last = ticks(figure.xMost);
  for (const x of last) pen.fillText(tickText(x), across(x), bottom + 4);
  pen.textAlign = "right";
  pen.fillText(figure.xTitle, right, bottom + 17);
}

/** @param {CanvasRenderingContext2D} pen @param {Line} line
 * @param {(x: number) => number} across @param {(y: number) => number} down */
function stroke(pen, { x, y, colour: ink, dash = [], width = 1.8, steps = false }, across, down) {
  pen.strokeStyle = ink;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.lineJoin = "round";
  pen.beginPath();
  let isDown = false;
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(y[i])) {
      isDown = false;
      continue;
    }
    if (isDown && steps) pen.lineTo(across(x[i]), down(y[i - 1]));
    if (isDown) pen.lineTo(across(x[i]), down(y[i]));
    else pen.moveTo(across(x[i]), down(y[i]));
    isDown = true;
  }
  pen.stroke();
  pen.setLineDash([]);
}
