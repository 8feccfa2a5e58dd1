// The exercise of a class, beside the sliders.
import { element } from "./fields.js";

/** Width below which it is folded: queue and sliders have priority. */
const WIDE = "(min-width: 761px)";

/** Markdown's `code` and *emphasis*; everything else is text.
 * @param {string} text */
function inline(text) {
  return text.split(/(`[^`]+`|\*[^*]+\*)/).map((piece) => {
    if (piece.length < 3) return piece;
    if (piece.startsWith("`")) return element("code", {}, piece.slice(1, -1));
    return piece.startsWith("*") ? element("em", {}, piece.slice(1, -1)) : piece;
  });
}

/** @param {import("./state.js").TaskPart} part */
function shown({ heading, paragraphs, steps }) {
  const items = steps.map((each) => element("li", {}, ...inline(each)));
  return [
    element("h2", {}, ...inline(heading)),
    ...paragraphs.map((each) => element("p", {}, ...inline(each))),
    ...(items.length ? [element("ol", {}, ...items)] : []),
  ];
}

/** @param {import("./state.js").Task | null | undefined} task of the experiment that is opened */
export function showTask(task) {
  const place = /** @type {HTMLElement} */ (document.getElementById("task"));
  place.hidden = !task;
  place.parentElement?.classList.toggle("has-task", Boolean(task));
  if (!task) return place.replaceChildren();
  const folds = element("details", {}, element("summary", {}, ...inline(task.title)), ...task.parts.flatMap(shown));
  /** @type {HTMLDetailsElement} */ (folds).open = matchMedia(WIDE).matches;
  place.replaceChildren(folds);
}
