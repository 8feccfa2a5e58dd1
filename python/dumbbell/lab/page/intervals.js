// Means of replications with 95 % intervals (Student's t, two-sided).
import { sensible } from "./words.js";

/** t(0.975) for 1 to 30 degrees of freedom. */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048,
  2.045, 2.042,
];

/** Significant digits of a mean. */
const MOST_DIGITS = 5;
/** Relative width below which an interval is not shown: identical runs differ only by rounding. */
const LEAST_SHARE = 1e-9;

/** @param {number} freedom degrees of freedom, at least 1 */
export function studentT(freedom) {
  // Beyond the table: first terms of the Cornish-Fisher expansion, accurate to three digits.
  return T[freedom - 1] ?? 1.96 + 2.3724 / freedom + 2.8225 / freedom ** 2;
}

/** @param {number[]} values
 * @returns {{mean: number, half: number}} half is NaN with fewer than two */
export function interval(values) {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  if (n < 2) return { mean, half: NaN };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, half: studentT(n - 1) * Math.sqrt(squares / (n - 1) / n) };
}

/** Formats a mean with its interval; a dash with fewer than two values.
 * @param {number[]} values @param {number} factor @param {string} unit */
export function intervalText(values, factor, unit) {
  const { mean, half } = interval(values);
  if (!Number.isFinite(half)) return "–";
  if (half <= LEAST_SHARE * Math.abs(mean)) return `${sensible(mean * factor)} ± 0 ${unit}`.trim();
  // As many decimals of the mean as the interval has, limited to a useful precision.
  const width = sensible(half * factor, 2);
  const most = sensible(mean * factor, MOST_DIGITS);
  const decimals = Math.min(...[width, most].map((each) => each.split(".")[1]?.length ?? 0));
  return `${(mean * factor).toFixed(decimals)} ± ${width} ${unit}`.trim();
}
