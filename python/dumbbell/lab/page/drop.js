// Files of a measured line that are dropped onto the page, or chosen. Nothing leaves the machine: the
// page's content security policy allows no request.
import { choices } from "./fields.js";
import { UnreadFile } from "./line_files.js";
import { GROUP, linesOf } from "./own_line.js";

/** @param {{experiments: any, open: (id: string) => void}} page */
export function takeFiles(page) {
  const message = /** @type {HTMLElement} */ (document.getElementById("message"));
  const chooser = /** @type {HTMLInputElement} */ (document.getElementById("line-files"));
  const list = /** @type {HTMLSelectElement} */ (document.getElementById("preset"));
  const take = async (/** @type {File[]} */ files) => {
    if (!files.length) return;
    try {
      const { line, controllers, experiments } = page.experiments;
      const lines = await linesOf(files, { resolved: line, controllers });
      const others = experiments.filter((/** @type {any} */ { group }) => group !== GROUP);
      page.experiments.experiments = [...others, ...lines];
      list.querySelector(`optgroup[label="${GROUP}"]`)?.remove();
      list.append(...choices(lines));
      page.open(lines[0].id);
    } catch (error) {
      if (!(error instanceof UnreadFile)) throw error;
      message.textContent = error.message;
      message.hidden = false;
    }
  };
  chooser.addEventListener("change", async () => {
    await take([...(chooser.files ?? [])]);
    chooser.value = "";
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    take([...(event.dataTransfer?.files ?? [])]);
  });
}
