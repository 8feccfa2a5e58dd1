// The page inside another one: a line of HTML, and no more on it than a small frame holds.

/** Of a frame that shows controls and figures, CSS pixels; they scroll in a smaller one. */
const HEIGHT = 560;

/** Whether the address asks for it: `laboratory.html?embed#...` */
export function isEmbedded() {
  return new URLSearchParams(location.search).has("embed");
}

/** The address of the page outside a frame, without what stands behind its #. */
export function wholeAddress() {
  return location.href.split(/[?#]/)[0];
}

/** What leads to the page elsewhere, too: from disk its name alone, as a folder of this computer is on no other. */
export function sharedAddress() {
  return isFromDisk() ? wholeAddress().split("/").at(-1) ?? "" : wholeAddress();
}

export function isFromDisk() {
  return location.protocol === "file:";
}

/** @param {string} address of the page @param {string} hash that carries an experiment */
export function frameLine(address, hash) {
  // A browser writes quotes and angle brackets of an address as %22, %3C, %3E.
  const source = `${address}?embed${hash}`.replaceAll("&", "&amp;");
  return `<iframe src="${source}" title="dumbbell laboratory" width="100%" height="${HEIGHT}" loading="lazy"></iframe>`;
}
