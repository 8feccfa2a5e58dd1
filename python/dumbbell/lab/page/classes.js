// The queues into which a discipline classifies packets by their headers: bands, classes, tins, the two
// queues of DualPI2. Numbers are those of the table `packet_classes`.

/**
 * @typedef {{number: number, name: string, child: any, isOptional: boolean}} Class the child discipline, null for a
 *   FIFO; isOptional: whether it is hidden while it has no packets
 * @typedef {{all: Class[], what: string}} Classes in the order in which they are drawn
 */

/** `packet_classes.class` of other disciplines. */
export const NO_CLASS = -1;
/** As in the output of tc-cake(8), the most urgent first. */
const TINS = /** @type {Record<string, [number, string][]>} */ ({
  besteffort: [[0, "Best Effort"]],
  diffserv3: [[2, "Voice"], [0, "Best Effort"], [1, "Bulk"]],
  diffserv4: [[3, "Voice"], [2, "Video"], [0, "Best Effort"], [1, "Bulk"]],
});
const EIGHT_TINS = /** @type {[number, string][]} */ ([7, 6, 5, 4, 3, 2, 1, 0].map((tin) => [tin, `tin ${tin}`]));
const BANDS_OF_PFIFO_FAST = 3;

/** @param {any[]} children of each band @returns {Classes} */
function bands(children) {
  const all = children.map((child, number) => ({ number, name: `band ${number}`, child, isOptional: false }));
  return { all, what: "band" };
}

/** The leaf classes, and one for unclassified packets.
 * @param {any[]} classes of a tree or a list @param {string} others name of the class of the rest @returns {Classes} */
function leaves(classes, others) {
  const parents = classes.map(({ parent_minor }) => parent_minor);
  const found = classes.filter(({ minor }) => !parents.includes(minor)).sort((one, other) => one.minor - other.minor);
  const all = found.map(({ minor, child }) => ({
    number: minor, name: `class ${minor.toString(16)}`, child, isOptional: false,
  }));
  return { all: [...all, { number: 0, name: others, child: null, isOptional: true }], what: "class" };
}

/** @param {any} qdisc resolved @returns {Classes} none if packets are in one queue, or are classified by flow only */
export function classesOf(qdisc) {
  switch (qdisc?.kind) {
    case "tbf":
      return classesOf(qdisc.child);
    case "prio":
    case "ets":
      return bands(qdisc.children);
    case "pfifo_fast":
      return bands(Array(BANDS_OF_PFIFO_FAST).fill(null));
    case "htb":
      return leaves(qdisc.classes, "unshaped");
    case "hfsc":
    case "drr":
      return leaves(qdisc.classes, "no class");
    case "cake": {
      const tins = TINS[qdisc.tins] ?? EIGHT_TINS;
      return { all: tins.map(([number, name]) => ({ number, name, child: qdisc, isOptional: true })), what: "tin" };
    }
    case "dualpi2": {
      // RFC 9332, section 1.1.
      const all = ["L: L4S", "C: classic"].map((name, number) => ({ number, name, child: null, isOptional: false }));
      return { all, what: "kind of traffic" };
    }
    default:
      return { all: [], what: "" };
  }
}
