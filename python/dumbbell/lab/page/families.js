// Grouping for figures: an experiment may have more groups of equal flows than a figure has line styles.

/** Lines of a figure that are distinguishable by colour and dash. */
const MOST_LINES = 12;
/** Flows without a common name prefix. */
const OTHER_FLOWS = "other flows";

/** The family of each group: the group itself if there are few, otherwise groups with a common prefix, such
 * as `long` of `long-h1-1` and `long-h2-1`.
 * @param {string[]} groups of each flow
 * @param {number} beside other lines, such as those of probes
 * @returns {Map<string, string>} from the group's name */
export function familiesOf(groups, beside = 0) {
  const most = Math.max(2, MOST_LINES - beside);
  const own = [...new Set(groups)];
  let names = own;
  while (new Set(names).size > most) {
    const shorter = names.map((name) => name.replace(/(.)-[^-]*$/, "$1"));
    if (shorter.every((name, i) => name === names[i])) break;
    names = shorter;
  }
  const all = [...new Set(names)];
  const left = new Set(all.length > most ? all.slice(most - 1) : []);
  return new Map(own.map((group, i) => [group, left.has(names[i]) ? OTHER_FLOWS : names[i]]));
}

/** The same for each flow.
 * @param {{groups: string[], resolved: {probes: unknown[]}}} described @returns {string[]} */
export function drawnAs({ groups, resolved }) {
  const families = familiesOf(groups, resolved.probes.length);
  return groups.map((group) => /** @type {string} */ (families.get(group)));
}

/** Every line of the figures: its name and its legend text; probes first, because the first figure shows
 * them.
 * @param {{groups: string[], resolved: {probes: {name: string}[]}}} described */
export function legendOf(described) {
  const drawn = drawnAs(described);
  const flows = (/** @type {string} */ name) => drawn.filter((each) => each === name).length;
  const own = [...new Set(drawn)].map((name) => {
    const isOne = described.groups.includes(name);
    return { name, words: isOne ? name : `${name}: ${flows(name)} flows` };
  });
  return [...described.resolved.probes.map(({ name }) => ({ name, words: name })), ...own];
}
