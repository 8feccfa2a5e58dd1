// Buttons that copy results, and the address, which follows changes.
import { element } from "./fields.js";
import { isEmbedded } from "./embedded.js";

/** Time for which a button confirms the copy, ms. */
const SAID_MS = 2000;
/** Fields to copy, and their names. */
const COPIED = { toml: "file", command: "command", tc: "lines of tc", link: "link", frame: "line of HTML" };

/** @param {HTMLInputElement | HTMLTextAreaElement} field */
async function copied(field) {
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // In a frame, or without permission to write to the clipboard.
    field.select();
    return document.execCommand("copy");
  }
  return true;
}

/** Adds a button after the label of each field. */
export function offerCopies() {
  for (const [id, what] of Object.entries(COPIED)) {
    const field = /** @type {HTMLInputElement} */ (document.getElementById(id));
    const button = element("button", { type: "button", id: `copy-${id}`, "aria-label": `Copy the ${what}` }, "Copy");
    button.addEventListener("click", async () => {
      button.textContent = (await copied(field)) ? "Copied" : "Not copied: select it";
      setTimeout(() => (button.textContent = "Copy"), SAID_MS);
    });
    document.querySelector(`label[for="${id}"]`)?.after(" ", button);
  }
}

/** The address that the page last read or wrote. */
let known = location.hash;

/** The page has read the address. */
export function addressRead() {
  known = location.hash;
}

/** The address contains the page's state, and Back undoes each change. An address that was typed or followed
 * meanwhile is kept: its event is still pending.
 * @param {string | null} hash null if too long @param {boolean} isFirst whether it is the state at opening */
export function showInAddress(hash, isFirst) {
  if (hash === null || hash === location.hash || location.hash !== known) return;
  // The history of an embedding page belongs to that page.
  if (isFirst || isEmbedded()) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  known = location.hash;
}
