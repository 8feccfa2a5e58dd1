// States of senders, from the samples of a run.

const NS_PER_S = 1e9;
/** `flow_activities.activity` without a connection. */
const NONE = -1;

/**
 * Intervals in which a sender's state is constant, by the codes of `flow_activities`.
 * @typedef {{from_s: number[], until_s: number[], activity: number[]}} Stretches
 */

/** The state of a flow's sender over time, as intervals of constant state.
 * @param {{column: (name: string) => Float64Array}} engine @param {number} all number of flows @param {number} flow
 * @returns {Stretches} excluding intervals without a connection */
export function activities(engine, all, flow) {
  const times = engine.column("flow_samples.t_ns");
  const numbers = engine.column("flow_activities.activity");
  /** @type {Stretches} */
  const found = { from_s: [], until_s: [], activity: [] };
  let before = NONE;
  for (let i = flow; i < numbers.length; i += all) {
    const from_s = times[i] / NS_PER_S;
    if (before !== NONE) found.until_s[found.until_s.length - 1] = from_s;
    if (numbers[i] !== before && numbers[i] !== NONE) {
      found.from_s.push(from_s);
      found.until_s.push(from_s);
      found.activity.push(numbers[i]);
    }
    before = numbers[i];
  }
  return found;
}
