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
 * `values` is control to the value of its stop; `curves` are those that are shown at these values;
 * while `isBetOpen` nothing may be drawn that tells the answer, and `isBetShown` while its mark is seen;
 * `cursor_s` is null without one.
 * @typedef {{hero: any, options: Record<string, any>, values: Record<string, number>, arms: Arm[],
 *   curves: Curve[], isBetOpen: boolean, isBetShown: boolean, bet: number, cursor_s: number | null}} State
 *
 * Where the bet's mark stands in the first picture, and which way it is moved; see `View`.
 * @typedef {{moves: "x" | "y", at?: number, share?: number}} BetPlace
 *
 * `pictures`: the first is the largest. `clocks`: those that have time across and share the cursor,
 * or a function that says which. `instants`: those of them, if any, whose axis is the run's own time; a
 * form that says so has a lens on the first queue of each arm. A form with `beside` has one on all queues of
 * all arms, one below the other; its pictures' time begins when counting does (`options.window_s` long), and
 * each flow has an ink. `numbers`: what the table says, in this order. `draw` draws
 * one of them and gives its chart. `words` says in words what each picture shows. `betPlace`: where the mark of the
 * bet stands in the first picture, and whether it is moved up and down or from side to side; the
 * other coordinate is a value or a share of the picture. `compared` gives, for each arm in its place,
 * numbers that take the whole runs of all of them.
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
