// The level of the token bucket below the slow motion, on the same clock as the packets.
import { Chart } from "../live/chart.js";
import { exactText, sensible, timeText } from "./words.js";

const NS_PER_S = 1e9;
/** Height above the bucket's rim at which ticks of drops are drawn, as a share of the rim. */
const TOP = 1.3;
/** A shaper sends a packet when there are enough tokens for it, so the level returns to that value
 * repeatedly. */
const ABOUT = 1.01;
/** Maximum ticks of drops: more are not distinguishable. */
const MOST_TICKS = 300;

/** @typedef {import("./tokens_seen.js").Seen} Seen */

/** The level at an instant, bytes.
 * @param {Seen} seen @param {number} now_s */
export function levelAt({ t_s, bytes }, now_s) {
  const after = t_s.findIndex((each) => each > now_s);
  if (after === 0) return bytes[0];
  if (after < 0) return bytes[bytes.length - 1] ?? NaN;
  const share = (now_s - t_s[after - 1]) / (t_s[after] - t_s[after - 1]);
  return bytes[after - 1] + share * (bytes[after] - bytes[after - 1]);
}

/** A canvas with the level of a bucket, hidden without a bucket. */
export class BucketView {
  /** @param {HTMLCanvasElement} canvas in a figure of its own */
  constructor(canvas) {
    this.canvas = canvas;
    this.figure = /** @type {HTMLElement} */ (canvas.parentElement);
    /** @type {Seen | null} */
    this.seen = null;
    this.from_ns = 0;
    this.until_ns = 1;
  }

  /** @param {Seen | null} seen @param {{from_ns: number, until_ns: number}} window */
  show(seen, { from_ns, until_ns }) {
    Object.assign(this, { seen, from_ns, until_ns });
    this.figure.hidden = seen === null;
    if (seen) this.canvas.setAttribute("aria-label", this.words());
  }

  /** @param {number} now_ns of the slow motion */
  draw(now_ns) {
    const { seen } = this;
    if (!seen) return;
    const [from_s, until_s] = [this.from_ns / NS_PER_S, this.until_ns / NS_PER_S];
    const chart = new Chart(this.canvas, {
      x: { title: "s", least: from_s, most: until_s },
      y: { title: "", least: 0, most: (TOP * seen.burst_bytes) / 1e3 },
    });
    const level = Float64Array.from(seen.bytes, (each) => each / 1e3);
    chart.area(seen.t_s, new Float64Array(level.length), level, "--sky", 0.4);
    chart.line(seen.t_s, level, { ink: "--accent", width: 1.6 });
    const dry = level.map((each) => (1e3 * each <= ABOUT * seen.packet_bytes ? each : NaN));
    chart.line(seen.t_s, dry, { ink: "--bad", width: 2.4 });
    chart.level(seen.burst_bytes / 1e3, { ink: "--text" });
    const rim = chart.y.at(seen.burst_bytes / 1e3);
    chart.text(`burst ${exactText(seen.burst_bytes, "bytes")}`, chart.right, rim - 12, "--soft");
    const step = Math.ceil(seen.dropped_s.length / MOST_TICKS);
    chart.ticks([...seen.dropped_s].filter((_, i) => i % step === 0), (1.12 * seen.burst_bytes) / 1e3, "--bad");
    const now_s = Math.max(from_s, Math.min(until_s, now_ns / NS_PER_S));
    chart.cursor(now_s);
    const now_bytes = levelAt(seen, now_s);
    chart.mark(now_s, now_bytes / 1e3, { ink: now_bytes <= ABOUT * seen.packet_bytes ? "--bad" : "--accent", label: `${sensible(now_bytes / 1e3)} kB` });
  }

  /** Text description of the picture. */
  words() {
    const { seen } = this;
    if (!seen) return "no token bucket";
    const { bytes, burst_bytes, packet_bytes, dropped_s } = seen;
    const window_s = (this.until_ns - this.from_ns) / NS_PER_S;
    const least = bytes.reduce((one, other) => Math.min(one, other), Infinity);
    const most = bytes.reduce((one, other) => Math.max(one, other), 0);
    const isDry = least < packet_bytes ? "; at times too few for a packet" : "";
    const drops = seen.isPolicer ? `; ${dropped_s.length} packets dropped for want of tokens` : "";
    return `Tokens in ${timeText(window_s)}: from ${sensible(least / 1e3)} to ${sensible(most / 1e3)} kB of ${exactText(burst_bytes, "bytes")}${isDry}${drops}`;
  }
}
