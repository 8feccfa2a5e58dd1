// Definition of a form: the pictures of a live figure, and how a state is drawn in them.
/** Half the length of the bet's mark, and half its width, px. */
const MARK_LONG = 22, MARK_SHORT = 4;
/** Height of a text line, px. */
const ROW = 15;

/**
 * Results of an arm's run so far (see the form's `*_run.js`).
 * @typedef {{numbers: Record<string, number>, series: Record<string, any>}} Found
 *
 * @typedef {{id: string, label: string, ink: string, dash: number[], now: Found | null,
 *   before: Found | null, isPreview: boolean, isDone: boolean,
 *   drawn: import("./replications.js").Drawn}} Arm
 *
 * @typedef {{label: string, x: number[], y: number[], arm: string, when: Record<string, number>,
 *   is_published: boolean, picture: string}} Curve
 *
 * `values` are the values of the stops by control; `curves` are the curves shown at these values;
 * while `isBetOpen` the answer must not be drawn; `isBetShown` while the bet's mark is visible;
 * `cursor_s` is null without one.
 * @typedef {{hero: any, options: Record<string, any>, values: Record<string, number>, arms: Arm[],
 *   curves: Curve[], isBetOpen: boolean, isBetShown: boolean, bet: number, cursor_s: number | null}} State
 *
 * Position of the bet's mark in the first picture, and its direction of motion; see `View`.
 * @typedef {{moves: "x" | "y", at?: number, share?: number}} BetPlace
 *
 * `pictures`: the first is the largest. `clocks`: pictures with a horizontal time axis and a common cursor,
 * or a function that returns them. `instants`: those of them, if any, whose axis is simulated time; a
 * form with `instants` has a lens on the first queue of each arm. A form with `beside` has a lens on all queues of
 * all arms, one below the other; its pictures' time begins after the warm-up (`options.window_s` long), and
 * each flow has an ink. `numbers`: rows of the table, in this order. `draw` draws
 * a picture and returns its chart. `words` returns a text description of each picture. `betPlace`: position of the
 * bet's mark in the first picture, and whether it moves vertically or horizontally; the
 * other coordinate is a value or a share of the picture. `compared` returns, for each arm in order,
 * numbers computed from the complete runs of all arms.
 * @typedef {{pictures: (hero: any) => {id: string, label: string, height: number}[],
 *   clocks: string[] | ((hero: any) => string[]),
 *   instants?: string[],
 *   beside?: {inkOf: (flow: number) => string},
 *   numbers: {id: string, label: string, unit: string, factor?: number}[],
 *   draw: (id: string, canvas: HTMLCanvasElement, state: State) => import("./chart.js").Chart,
 *   words: (state: State) => Record<string, string>,
 *   compared?: (arms: Arm[]) => Record<string, number>[],
 *   betPlace: (hero: any) => BetPlace}} View
 */

/** Ink and dash of the arms, in their order: neighbours also differ in lightness. */
const LOOKS = [
  { ink: "--blue", dash: [] },
  { ink: "--vermillion", dash: [7, 4] },
  { ink: "--green", dash: [2, 3] },
  { ink: "--purple", dash: [9, 3, 2, 3] },
];
export const GHOST = "--rule";

/** @param {number} place of an arm */
export function lookOf(place) {
  return LOOKS[place % LOOKS.length];
}

/** Whether a curve is shown at the current settings.
 * @param {Curve} curve @param {Record<string, number>} values */
export function isShown({ when }, values) {
  return Object.entries(when).every(([control, value]) => values[control] === value);
}

/** Position of the bet's mark, px.
 * @param {import("./chart.js").Chart} chart @param {BetPlace} place @param {number} value of the bet */
export function betAt({ x, y, left, right, top, bottom }, { moves, at = 0, share }, value) {
  const [own, other] = moves === "y" ? [y, x] : [x, y];
  const across = moves === "y" ? left + (share ?? 0) * (right - left) : bottom - (share ?? 0) * (bottom - top);
  const [moved, still] = [own.at(value), share === undefined ? other.at(at) : across];
  return {
    x: Math.min(right, Math.max(left, moves === "y" ? still : moved)),
    y: Math.min(bottom, Math.max(top, moves === "y" ? moved : still)),
  };
}

/** Keeps text of the first picture off the bet's mark.
 * @param {import("./chart.js").Chart} chart @param {State} state @param {BetPlace} place */
export function keepBetFree(chart, { isBetShown, bet }, place) {
  if (!isBetShown) return;
  const { x, y } = betAt(chart, place, bet);
  const [half, rows] = place.moves === "y" ? [MARK_LONG, [0]] : [MARK_SHORT, [-ROW, 0, ROW]];
  for (const row of rows) chart.written.push({ from: x - half, until: x + half, y: y + row });
}
