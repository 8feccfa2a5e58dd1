// Paths in a resolved description.

/** @param {number} queue */
export function endPath(queue) {
  return `links[${queue >> 1}].${queue & 1 ? "reverse" : "forward"}`;
}

/** @param {any} described @param {number} queue */
export function endOf(described, queue) {
  return described.resolved.links[queue >> 1][queue & 1 ? "reverse" : "forward"];
}

/** Rate of a link or of its shaping discipline, whichever is less; 0 if unlimited.
 * @param {any} described @param {number} queue */
export function slowestBps(described, queue) {
  const { rate_bps, qdisc } = endOf(described, queue);
  const limits = [rate_bps, qdisc.rate_bps].filter((each) => each > 0);
  return limits.length ? Math.min(...limits) : 0;
}

/** @param {any} described @param {string} name of a group */
export function members(described, name) {
  return described.resolved.flows.filter((/** @type {any} */ _, /** @type {number} */ i) =>
    described.groups[i] === name || described.resolved.flows[i].name.replace(/-\d+$/, "") === name);
}
