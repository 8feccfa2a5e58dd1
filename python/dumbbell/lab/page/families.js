// What figures draw as one: an experiment may have more groups of equal flows than a figure has looks.

/** Lines of a figure that colours and dashes tell apart. */
const MOST_LINES = 12;
/** Flows whose names have nothing in common with others. */
const OTHER_FLOWS = "other flows";

/** With what each group is drawn: itself where there are few, else all whose names begin alike, such as `long` of
 * `long-h1-1` and `long-h2-1`.
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

/** Every line of the figures: its name, and what the legend says; probes first, which the first figure shows.
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
