// The winner: the largest power among players whose goodput is near the best.

/** Minimum share of the largest goodput needed to win. Power alone would favour a very small window: a link
 * that is a third idle has no queue. */
const LEAST_OF_BEST = 0.9;

/** @typedef {{share: number, power: number}} Score */

/** Whether a player has enough goodput to win.
 * @param {Score} score @param {Iterable<Score>} all */
export function fills(score, all) {
  const best = Math.max(...[...all].map(({ share }) => share).filter(Number.isFinite));
  return score.share >= LEAST_OF_BEST * best;
}

/** Names of players with the largest power; several if equal, none if nobody has any.
 * @param {Map<string, Score>} scores @returns {string[]} */
export function winners(scores) {
  const all = [...scores.values()];
  const able = [...scores].filter(([, score]) => Number.isFinite(score.power) && fills(score, all));
  const most = Math.max(...able.map(([, { power }]) => power));
  return able.filter(([, { power }]) => power === most).map(([name]) => name);
}
