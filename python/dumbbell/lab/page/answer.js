// Answer to the question above it, in a line: transfer time, goodput, loss.
import { sensible, shownAs } from "./words.js";

/** With more groups, goodputs do not fit into one line. */
const MOST_GOODPUTS = 2;

/** @typedef {{path: string, value: number | null}} Known a number of a run */

/** @param {Known[]} numbers @returns {Known[]} those of the answer, in its order */
function chosen(numbers) {
  const ending = (/** @type {string[]} */ ...ends) =>
    numbers.filter(({ path, value }) => value !== null && ends.some((end) => path.endsWith(`.${end}`)));
  const times = [...ending("mean_rtt_ms"), ...ending("mean_sojourn_s")];
  const goodputs = ending("total_goodput_bps", "goodput_bps");
  const through = goodputs.length > MOST_GOODPUTS ? ending("throughput_bps") : goodputs;
  return [...times.slice(0, 1), ...through, ...ending("loss_ratio").slice(0, 1)];
}

/**
 * @param {Known[]} numbers of the run
 * @param {Map<string, number | null>} before those of the run before, by their paths
 */
export function answerOf(numbers, before) {
  const parts = chosen(numbers).map(({ path, value }) => {
    const { words, factor, unit } = shownAs(path);
    const shown = (/** @type {number} */ each) => `${sensible(each * factor)}\u00a0${unit}`;
    const old = before.get(path);
    const was = old === undefined || old === null || old === value ? "" : ` (before: ${shown(old)})`;
    return `${words} ${shown(Number(value))}${was}`;
  });
  return parts.length ? `This run: ${parts.join("; ")}.` : "";
}
