// Buttons that copy what one takes along, and the address, which follows what is changed.
import { element } from "./fields.js";
import { isEmbedded } from "./embedded.js";

/** For so long a button says that it has copied, ms. */
const SAID_MS = 2000;
/** Fields that are copied, and what each is called. */
const COPIED = { toml: "file", command: "command", tc: "lines of tc", link: "link", frame: "line of HTML" };

/** @param {HTMLInputElement | HTMLTextAreaElement} field */
async function copied(field) {
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // In a frame, or where nothing may be written without being asked.
    field.select();
    return document.execCommand("copy");
  }
  return true;
}

/** A button behind the label of each field. */
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

/** The address that the page has read or written last. */
let known = location.hash;

/** The page has read the address. */
export function addressRead() {
  known = location.hash;
}

/** The address carries what the page shows, and each change is one that Back takes back. One that was typed or followed
 * meanwhile stays: the page hears of it in a moment.
 * @param {string | null} hash null where that is too long @param {boolean} isFirst whether it was opened so */
export function showInAddress(hash, isFirst) {
  if (hash === null || hash === location.hash || location.hash !== known) return;
  // The history of a page around a frame is that page's.
  if (isFirst || isEmbedded()) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  known = location.hash;
}
