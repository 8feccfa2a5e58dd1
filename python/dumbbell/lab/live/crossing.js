// Two unpaired samples: levels at which one is higher.

/** Minimum difference between wins and losses, as a share of the flows, on both sides of a crossing level. */
const LEAST_SIDE = 0.05;

/** Compares the flows of two runs quantile by quantile (`dumbbell.stats.cdf_crossings`).
 * @param {ArrayLike<number>} first throughputs of one run, the lowest first
 * @param {ArrayLike<number>} second throughputs of the other run
 * @returns {{share: number, crossing: number}} share of the levels at which those of the first are
 *   higher, ties counted by half; and the level that best separates levels where the first is higher
 *   from those where the second is, NaN if one is higher at nearly all levels */
export function compared(first, second) {
  const all = first.length * second.length;
  if (!all) return { share: NaN, crossing: NaN };
  // Levels are integers over `all`, so equal levels are exactly equal.
  const gains = [];
  let [level, i, j, gained] = [0, 0, 0, 0];
  while (level < all) {
    const [ends, otherEnds] = [(i + 1) * second.length, (j + 1) * first.length];
    const next = Math.min(ends, otherEnds);
    gained += (next - level) * Math.sign(first[i] - second[j]);
    gains.push({ level: next, gained });
    if (ends === next) i += 1;
    if (otherEnds === next) j += 1;
    level = next;
  }
  // Won below the level and lost above it, or vice versa.
  const parted = (/** @type {{gained: number}} */ at) => Math.abs(2 * at.gained - gained);
  const best = gains.reduce((one, other) => (parted(other) > parted(one) ? other : one));
  const isParted = parted(best) > Math.abs(gained) + 2 * LEAST_SIDE * all;
  return { share: (1 + gained / all) / 2, crossing: isParted ? best.level / all : NaN };
}

/** For each arm the share of the large and of the small flows with higher throughput there, %: the last arm
 * compared with the first, and vice versa.
 * @param {Record<string, any>[]} series throughputs of an arm's flows by size, the lowest first
 * @returns {Record<string, number>[]} */
export function won(series) {
  const [first, last] = [series[0], series[series.length - 1]];
  const [large, small] = ["large", "small"].map((size) => compared(last[size] ?? [], first[size] ?? []).share);
  return series.map((each) =>
    each === last
      ? { large_more: 100 * large, small_more: 100 * small }
      : { large_more: 100 * (1 - large), small_more: 100 * (1 - small) },
  );
}
