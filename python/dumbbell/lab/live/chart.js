// A chart on a canvas: axes, lines, areas, points. Colours are the page's CSS variables.
import { sensible } from "../page/words.js";
import { colour, prepared } from "../page/plot.js";

export const MARGIN = { left: 46, right: 12, top: 10, bottom: 38 };
export const FONT = "13px system-ui, sans-serif";
/** Labels of powers of ten.
 * @type {Record<string, string>} */
const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
/** Half the width of a mark, px. */
const MARK = 6;
/** Maximum points of a line with rounded joins. */
const MOST_ROUNDED = 200;
/** Height of a text line, px. */
const LINE = 16;
/** Positions tried for text, in lines from the preferred one. */
const LINES = [0, -1, -2, -3, -4, -5, -6, 1, 2, 3, 4];

/**
 * @typedef {{title: string, least: number, most: number, log?: boolean, ticks?: number[]}} Axis
 * @typedef {{ink: string, width?: number, dash?: number[], fill?: boolean}} Look
 */

/** Hues that have a darker or lighter variant for text. */
export const HUES = ["--blue", "--vermillion", "--green", "--purple", "--orange", "--sky"];

/** Text needs more contrast than lines.
 * @param {string} ink */
function written(ink) {
  return colour(HUES.includes(ink) ? `${ink}-text` : ink);
}

/** @param {number} value */
export function tickText(value) {
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-3) return `10${[...String(Math.round(Math.log10(value)))].map((each) => SUPERSCRIPTS[each] ?? each).join("")}`;
  return sensible(value, 3).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/** Approximately `count` rounded numbers between two values.
 * @param {Axis} axis @param {number} count */
export function rounds({ least, most }, count) {
  const rough = (most - least) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.99) ?? rough;
  const first = Math.ceil(least / step - 1e-9);
  const many = Math.floor(most / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, many) }, (_, i) => (first + i) * step);
}

/** Powers of ten between two numbers.
 * @param {Axis} axis */
export function powers({ least, most }) {
  const found = [];
  for (let power = Math.ceil(Math.log10(least) - 1e-9); 10 ** power <= most * 1.000001; power++) {
    found.push(10 ** power);
  }
  return found;
}

/** @param {Axis} axis @param {number} begin px @param {number} end px
 * @returns {{at: (value: number) => number, value: (pixel: number) => number}} */
export function scale({ least, most, log = false }, begin, end) {
  const f = log ? Math.log10 : (/** @type {number} */ each) => each;
  const back = log ? (/** @type {number} */ each) => 10 ** each : (/** @type {number} */ each) => each;
  const [from, to] = [f(least), f(most)];
  return {
    at: (value) => begin + ((f(log ? Math.max(value, least / 10) : value) - from) / (to - from)) * (end - begin),
    value: (pixel) => back(from + ((pixel - begin) / (end - begin)) * (to - from)),
  };
}

/** A chart being drawn; afterwards it converts pixels to values. */
export class Chart {
  /** @param {HTMLCanvasElement} canvas @param {{x: Axis, y: Axis}} axes */
  constructor(canvas, { x, y }) {
    const { pen, width, height } = prepared(canvas);
    this.pen = pen;
    this.left = MARGIN.left;
    this.right = width - MARGIN.right;
    this.top = MARGIN.top;
    this.bottom = height - MARGIN.bottom;
    this.axes = { x, y };
    /** @type {{from: number, until: number, y: number, words?: string}[]} words and marks that are there */
    this.written = [];
    this.x = scale(x, this.left, this.right);
    this.y = scale(y, this.bottom, this.top);
    pen.font = FONT;
    this.#drawAxes();
  }

  #drawAxes() {
    const { pen, axes } = this;
    pen.lineWidth = 1;
    pen.fillStyle = colour("--soft");
    const on = (/** @type {Axis} */ axis, /** @type {number} */ count) =>
      axis.ticks ?? (axis.log ? powers(axis) : rounds(axis, Math.max(2, count)));
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const each of on(axes.y, (this.bottom - this.top) / 60)) {
      const y = this.y.at(each);
      this.#segment(this.left, y, this.right, y, "--rule", [1, 5]);
      pen.fillText(tickText(each), this.left - 6, y);
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const each of on(axes.x, (this.right - this.left) / 75)) pen.fillText(tickText(each), this.x.at(each), this.bottom + 5);
    this.#segment(this.left, this.bottom, this.right, this.bottom, "--axis", []);
    pen.textAlign = "right";
    pen.fillText(axes.x.title, this.right, this.bottom + 21);
  }

  /** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2
   * @param {string} ink @param {number[]} dash */
  #segment(x1, y1, x2, y2, ink, dash) {
    this.pen.strokeStyle = colour(ink);
    this.pen.setLineDash(dash);
    this.pen.beginPath();
    this.pen.moveTo(x1, y1);
    this.pen.lineTo(x2, y2);
    this.pen.stroke();
    this.pen.setLineDash([]);
  }

  /** Clips drawing to the plot.
   * @param {() => void} draw */
  #inside(draw) {
    const { pen } = this;
    pen.save();
    pen.beginPath();
    pen.rect(this.left, this.top - 1, this.right - this.left, this.bottom - this.top + 2);
    pen.clip();
    draw();
    pen.restore();
  }

  /** Joins points; NaN leaves a gap.
   * @param {ArrayLike<number>} x @param {ArrayLike<number>} y @param {Look} look */
  line(x, y, { ink, width = 2, dash = [] }) {
    const { pen } = this;
    this.#inside(() => {
      pen.strokeStyle = colour(ink);
      pen.lineWidth = width;
      pen.setLineDash(dash);
      // Round joins of a thousand points dominate the drawing time and are not visible.
      pen.lineJoin = x.length > MOST_ROUNDED ? "bevel" : "round";
      pen.beginPath();
      let isDown = false;
      for (let i = 0; i < x.length; i++) {
        const isThere = Number.isFinite(x[i]) && Number.isFinite(y[i]);
        if (isThere && isDown) pen.lineTo(this.x.at(x[i]), this.y.at(y[i]));
        else if (isThere) pen.moveTo(this.x.at(x[i]), this.y.at(y[i]));
        isDown = isThere;
      }
      pen.stroke();
    });
  }

  /** Joins points by steps: each value holds until the next point.
   * @param {ArrayLike<number>} x @param {ArrayLike<number>} y @param {Look} look */
  steps(x, y, look) {
    const all = Array.from(x);
    this.line(all.flatMap((each, i) => (i ? [each, each] : [each])), all.flatMap((_, i) => (i ? [y[i - 1], y[i]] : [y[i]])), look);
  }

  /** The area between two lines.
   * @param {ArrayLike<number>} x @param {ArrayLike<number>} low
   * @param {ArrayLike<number>} high @param {string} ink @param {number} opacity */
  area(x, low, high, ink, opacity = 0.55) {
    if (!x.length) return;
    const { pen } = this;
    this.#inside(() => {
      pen.globalAlpha = opacity;
      pen.fillStyle = colour(ink);
      pen.beginPath();
      pen.moveTo(this.x.at(x[0]), this.y.at(low[0]));
      for (let i = 0; i < x.length; i++) pen.lineTo(this.x.at(x[i]), this.y.at(high[i]));
      for (let i = x.length - 1; i >= 0; i--) pen.lineTo(this.x.at(x[i]), this.y.at(low[i]));
      pen.fill();
    });
  }

  /** A mark; a value beyond an axis is drawn at its end and points outwards.
   * @param {number} x @param {number} y
   * @param {{ink: string, shape?: "dot" | "diamond" | "ring", label?: string}} look */
  mark(x, y, { ink, shape = "dot", label = "" }) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    const { pen } = this;
    const isAbove = y > this.axes.y.most;
    const across = Math.min(this.right, Math.max(this.left, this.x.at(x)));
    const down = isAbove ? this.top + MARK : Math.min(this.bottom, this.y.at(y));
    pen.fillStyle = colour(ink);
    pen.strokeStyle = colour(shape === "ring" ? ink : "--paper");
    pen.lineWidth = shape === "ring" ? 2 : 1.5;
    pen.beginPath();
    const corners = isAbove
      ? [[0, -MARK], [MARK, MARK], [-MARK, MARK]]
      : [[0, -MARK - 1], [MARK + 1, 0], [0, MARK + 1], [-MARK - 1, 0]];
    if (isAbove || shape === "diamond") {
      corners.forEach(([dx, dy], i) => (i ? pen.lineTo(across + dx, down + dy) : pen.moveTo(across + dx, down + dy)));
      pen.closePath();
    } else {
      pen.arc(across, down, shape === "ring" ? MARK - 1 : MARK, 0, 2 * Math.PI);
    }
    if (shape !== "ring" || isAbove) pen.fill();
    pen.stroke();
    // No text is drawn over it.
    this.written.push({ from: across - MARK, until: across + MARK, y: down });
    if (label) this.text(label, across, down, ink);
  }

  /** The interval of a mean, as a cross whose arms cover the intervals.
   * @param {{mean: number, half: number}} across @param {{mean: number, half: number}} up
   * @param {string} ink */
  cross(across, up, ink) {
    if (![across.mean, up.mean, up.half].every(Number.isFinite)) return;
    this.#inside(() => {
      this.pen.lineWidth = 2;
      const [x, y] = [this.x.at(across.mean), this.y.at(up.mean)];
      this.#segment(x, this.y.at(up.mean - up.half), x, this.y.at(up.mean + up.half), ink, []);
      if (!across.half) return;
      this.#segment(this.x.at(across.mean - across.half), y, this.x.at(across.mean + across.half), y, ink, []);
    });
  }

  /** Small dots, for samples.
   * @param {ArrayLike<number>} x @param {ArrayLike<number>} y
   * @param {string} ink @param {number} opacity */
  dots(x, y, ink, opacity = 0.6) {
    const { pen } = this;
    this.#inside(() => {
      pen.globalAlpha = opacity;
      pen.fillStyle = colour(ink);
      for (let i = 0; i < x.length; i++) {
        if (Number.isFinite(x[i]) && Number.isFinite(y[i])) pen.fillRect(this.x.at(x[i]) - 1.5, this.y.at(y[i]) - 1.5, 3, 3);
      }
    });
  }

  /** The name of a mark.
   * @param {number} x @param {number} y @param {string} words @param {string} ink */
  name(x, y, words, ink) {
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    const down = y > this.axes.y.most ? this.top + MARK : this.y.at(y);
    this.text(words, Math.min(this.right, Math.max(this.left, this.x.at(x))), down, ink);
  }

  /** Whether text or marks occupy a place at a given height.
   * @param {number} from px @param {number} until px @param {number} at px */
  isTaken(from, until, at) {
    return this.written.some((each) => from < each.until && each.from < until && Math.abs(each.y - at) < LINE);
  }

  /** Words beside a place, on the side where there is room, with the paper round them; some lines
   * higher, or else lower, where they would lie on others.
   * @param {string} words @param {number} across px @param {number} down px @param {string} ink */
  text(words, across, down, ink) {
    const { pen } = this;
    const wide = pen.measureText(words).width;
    const isLeft = across + 11 + wide > this.right + MARGIN.right;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.strokeStyle = colour("--paper");
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    // If neither side has room, the text overlaps the place.
    const from = Math.max(2, isLeft ? across - 11 - wide : across + 11);
    const wanted = Math.min(this.bottom - 8, Math.max(this.top + 8, down));
    const y = LINES.map((each) => wanted + each * LINE).find(
      (at) => at > this.top && at < this.bottom && !this.isTaken(from, from + wide, at)) ?? wanted;
    this.written.push({ from, until: from + wide, y, words });
    pen.strokeText(words, from, y);
    pen.fillStyle = written(ink);
    pen.fillText(words, from, y);
  }

  /** A horizontal line with its name, for a limit.
   * @param {number} y
   * @param {{ink: string, label?: string, dash?: number[]}} look */
  level(y, { ink, label = "", dash = [6, 4] }) {
    if (y > this.axes.y.most) return;
    this.pen.lineWidth = 1.5;
    this.#segment(this.left, this.y.at(y), this.right, this.y.at(y), ink, dash);
    if (label) this.text(label, this.left, this.y.at(y) - 19, "--soft");
  }

  /** Short strokes across a level.
   * @param {number[]} xs @param {number} y @param {string} ink */
  ticks(xs, y, ink) {
    this.pen.lineWidth = 1;
    const down = this.y.at(y);
    this.pen.strokeStyle = colour(ink);
    this.pen.setLineDash([]);
    this.pen.beginPath();
    for (const x of xs) {
      this.pen.moveTo(this.x.at(x), down - MARK - 2);
      this.pen.lineTo(this.x.at(x), down + 2);
    }
    this.pen.stroke();
  }

  /** The cursor of the other pictures.
   * @param {number} x */
  cursor(x) {
    if (x < this.axes.x.least || x > this.axes.x.most) return;
    this.pen.lineWidth = 1;
    this.#segment(this.x.at(x), this.top, this.x.at(x), this.bottom, "--ink", [2, 2]);
  }
}
