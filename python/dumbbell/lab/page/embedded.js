// The page embedded in another one: a line of HTML, and a reduced layout for a small frame.

/** Size of a frame for controls and figures, CSS pixels; they scroll in a smaller one. */
const HEIGHT = 560;

/** Whether the address requests embedding: `laboratory.html?embed#...` */
export function isEmbedded() {
  return new URLSearchParams(location.search).has("embed");
}

/** The address of the page outside a frame, without its fragment. */
export function wholeAddress() {
  return location.href.split(/[?#]/)[0];
}

/** A link to the page that works elsewhere: from disk only the file name, as local folders exist only on
 * this computer. */
export function sharedAddress() {
  return isFromDisk() ? wholeAddress().split("/").at(-1) ?? "" : wholeAddress();
}

export function isFromDisk() {
  return location.protocol === "file:";
}

/** @param {string} address of the page @param {string} hash that carries an experiment */
export function frameLine(address, hash) {
  // A browser encodes quotes and angle brackets of an address as %22, %3C, %3E.
  const source = `${address}?embed${hash}`.replaceAll("&", "&amp;");
  return `<iframe src="${source}" title="dumbbell laboratory" width="100%" height="${HEIGHT}" loading="lazy"></iframe>`;
}
