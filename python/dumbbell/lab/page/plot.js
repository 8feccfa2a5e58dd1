// Common functions of all pictures on a canvas: colours, dashes, resolution.

/** Dashes of series, so that series are not distinguished by colour alone. */
export const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [12, 5], [4, 4]];

/** @type {Map<string, string>} */
const colours = new Map();

/** Clears the cache after a change between light and dark mode. */
export function forgetColours() {
  colours.clear();
}

/** @param {string} name of a custom property of the style sheet @returns {string} */
export function colour(name) {
  let known = colours.get(name);
  if (known === undefined) {
    known = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(name, known);
  }
  return known;
}

/** A canvas with the resolution of the screen.
 * @param {HTMLCanvasElement} canvas */
export function prepared(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}
