// Grouping for figures: an experiment may have more groups of equal flows than a figure has line styles.

/** Lines of a figure that are distinguishable by colour and dash. */
const MOST_LINES = 12;
/** Flows of further families than a figure has lines for. */
const OTHER_FLOWS = "other flows";

/** What tells families apart: how a flow sends, not between which hosts, when, or under which name.
 * @param {any} flow a resolved one @returns {string} */
const sendingOf = ({ transport, tcp, source }) => JSON.stringify([transport, tcp, source]);

/** How a flow sends, in two words.
 * @param {any} flow a resolved one @returns {string} */
const sendingWords = ({ transport, tcp, source }) => `${source.kind}, ${tcp?.congestion_control ?? transport}`;

/** The words with which the names of all groups of a family begin, such as `long` for `long-h1-1` and
 * `long-h2-1`.
 * @param {string[]} names @returns {string} empty without such words */
function commonWords(names) {
  const [first, ...others] = names.map((name) => name.split("-"));
  const end = first.findIndex((word, i) => others.some((words) => words[i] !== word));
  return (end < 0 ? first : first.slice(0, end)).join("-");
}

/** The family of each group: the group itself if there are few, otherwise groups that send alike
 * (`sendingOf`).
 * @param {{groups: string[], resolved: {flows: any[], probes: unknown[]}}} described
 * @returns {Map<string, string>} from the group's name */
export function familiesOf({ groups, resolved: { flows, probes } }) {
  const most = Math.max(2, MOST_LINES - probes.length);
  const own = [...new Set(groups)];
  if (own.length <= most) return new Map(own.map((group) => [group, group]));
  /** @type {Map<string, {names: string[], flow: any}>} */
  const families = new Map();
  for (const group of own) {
    const flow = flows[groups.indexOf(group)];
    const found = families.get(sendingOf(flow));
    if (found) found.names.push(group);
    else families.set(sendingOf(flow), { names: [group], flow });
  }
  const shown = families.size > most ? most - 1 : most;
  const bases = [...families.values()].map(({ names }) => commonWords(names));
  /** @type {Map<string, string>} */
  const named = new Map();
  const given = new Set([OTHER_FLOWS]);
  [...families.values()].forEach(({ names, flow }, i) => {
    const isAlone = bases[i] && bases.filter((base) => base === bases[i]).length === 1;
    const words = isAlone ? bases[i] : [bases[i], sendingWords(flow)].filter(Boolean).join(", ");
    let name = i < shown ? words : OTHER_FLOWS;
    for (let number = 2; i < shown && given.has(name); number++) name = `${words} (${number})`;
    given.add(name);
    names.forEach((group) => named.set(group, name));
  });
  return named;
}

/** The same for each flow.
 * @param {{groups: string[], resolved: {flows: any[], probes: unknown[]}}} described */
export function drawnAs(described) {
  const families = familiesOf(described);
  return described.groups.map((group) => /** @type {string} */ (families.get(group)));
}

/** Every line of the figures: its name and its legend text; probes first, because the first figure shows
 * them.
 * @param {{groups: string[], resolved: {flows: any[], probes: {name: string}[]}}} described */
export function legendOf(described) {
  const drawn = drawnAs(described);
  const own = [...new Set(drawn)].map((name) => {
    const groups = described.groups.filter((_, flow) => drawn[flow] === name);
    return { name, words: new Set(groups).size === 1 ? name : `${name}: ${groups.length} flows` };
  });
  return [...described.resolved.probes.map(({ name }) => ({ name, words: name })), ...own];
}
