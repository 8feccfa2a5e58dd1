// Who has won: the largest power among those that fill the link about as well as the best.

/** Of the largest goodput in the table: who has less cannot win. Power alone would give the first place to
 * a window that is hardly there: a link that is a third idle has no queue. */
const LEAST_OF_BEST = 0.9;

/** @typedef {{share: number, power: number}} Score */

/** Whether a player has goodput enough to win.
 * @param {Score} score @param {Iterable<Score>} all */
export function fills(score, all) {
  const best = Math.max(...[...all].map(({ share }) => share).filter(Number.isFinite));
  return score.share >= LEAST_OF_BEST * best;
}

/** Names of those with the largest power; more than one where they are equal, none where nobody has any.
 * @param {Map<string, Score>} scores @returns {string[]} */
export function winners(scores) {
  const all = [...scores.values()];
  const able = [...scores].filter(([, score]) => Number.isFinite(score.power) && fills(score, all));
  const most = Math.max(...able.map(([, { power }]) => power));
  return able.filter(([, { power }]) => power === most).map(([name]) => name);
}
