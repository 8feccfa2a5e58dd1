// What a run says to the question above it, in a line: how long it takes, what gets through, what is lost.
import { sensible, shownAs } from "./words.js";

/** Ends of paths; of each row the first that a run has. */
const ROWS = [["mean_rtt_ms", "mean_sojourn_s"], ["total_goodput_bps", "goodput_bps", "utilization"], ["loss_ratio"]];

/**
 * @param {{path: string, value: number | null}[]} numbers of the run
 * @param {Map<string, number | null>} before those of the run before, by their paths
 */
export function answerOf(numbers, before) {
  const found = ROWS.flatMap((ends) => {
    const known = ends.map((end) => numbers.find(({ path, value }) => path.endsWith(`.${end}`) && value !== null));
    return known.find(Boolean) ?? [];
  });
  const parts = found.map(({ path, value }) => {
    const { words, factor, unit } = shownAs(path);
    const shown = (/** @type {number} */ each) => `${sensible(each * factor)} ${unit}`;
    const old = before.get(path);
    const was = old === undefined || old === null || old === value ? "" : ` (before: ${shown(old)})`;
    return `${words} ${shown(Number(value))}${was}`;
  });
  return parts.length ? `This run: ${parts.join("; ")}.` : "";
}
