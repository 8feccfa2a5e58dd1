// Positions of packets in a queue that narrows towards its exit, so that few packets are visible too.
// lab/story_pictures.py has the same layout.

/** Packets of the largest buffer. */
export const FULL_PKTS = 1000;

/** A queue of columns; the one at the exit has the fewest rows. */
export class Funnel {
  /** The layout with the largest squares that holds the largest buffer.
   * @param {number} width px @param {number} height px */
  constructor(width, height) {
    this.size = Math.sqrt((2 * width * height) / FULL_PKTS);
    /** @type {number[]} */ this.rows = [];
    do {
      const [columns, most] = [Math.floor(width / this.size), Math.floor(height / this.size)];
      this.rows = Array.from({ length: columns }, (_, place) => Math.max(1, Math.round((most * (place + 0.5)) / columns)));
      this.size -= 0.05;
    } while (this.rows.reduce((sum, each) => sum + each, 0) < FULL_PKTS && this.size > 1);
    this.size += 0.05;
    /** Column of each place, and offset from the middle, in squares.
     * @type {[number, number][]} */
    this.places = this.rows.flatMap((rows, column) =>
      Array.from({ length: rows }, (_, row) => /** @type {[number, number]} */ ([column, row - rows / 2])));
  }

  /** The number of columns that this number of packets fills.
   * @param {number} packets */
  columns(packets) {
    let left = packets;
    for (const [column, rows] of this.rows.entries()) {
      if (left <= rows) return column + left / rows;
      left -= rows;
    }
    return this.rows.length;
  }
}
