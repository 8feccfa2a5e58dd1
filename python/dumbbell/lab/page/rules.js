// Example rules, written as a user may write them.

/** @typedef {{id: string, title: string, text: string}} Example */

/** @type {Example[]} */
export const EXAMPLES = [
  {
    id: "reno",
    title: "Reno",
    text: `// Reno (RFC 5681): a packet more each round trip, half of the window at a loss.
function on_ack(w, ack) {
  if (w.cwnd_pkts < w.ssthresh_pkts) w.cwnd_pkts += ack.newly_delivered_pkts; // slow start
  else w.cwnd_pkts += ack.newly_delivered_pkts / w.cwnd_pkts;
}
function on_loss(w, now) { w.ssthresh_pkts = Math.max(2, w.cwnd_pkts / 2); }
function on_rto(w, now) { w.ssthresh_pkts = Math.max(2, w.cwnd_pkts / 2); }
`,
  },
  {
    id: "aimd",
    title: "AIMD with other numbers",
    text: `// Additive increase, multiplicative decrease (Chiu and Jain, 1989).
const increase_pkts = 0.5; // each round trip
const kept = 0.8;          // of the window at a loss

function on_ack(w, ack) {
  if (w.cwnd_pkts < w.ssthresh_pkts) w.cwnd_pkts += ack.newly_delivered_pkts;
  else w.cwnd_pkts += increase_pkts * ack.newly_delivered_pkts / w.cwnd_pkts;
}
function on_loss(w, now) { w.ssthresh_pkts = Math.max(2, kept * w.cwnd_pkts); }
`,
  },
  {
    id: "delay",
    title: "By delay, as Vegas",
    text: `// Keeps 2 to 4 packets in the queue, reckoned from the delay (Brakmo and Peterson, 1995).
const state = { min_ns: Infinity, until_pkts: 0 };

function on_rtt(w, sample) { state.min_ns = Math.min(state.min_ns, sample.rtt_ns); }

function on_ack(w, ack) {
  if (ack.una_pkts < state.until_pkts) return; // once each round trip
  state.until_pkts = ack.next_pkts;
  const queued_pkts = w.cwnd_pkts * (1 - state.min_ns / ack.srtt_ns);
  if (queued_pkts > 4) {
    w.cwnd_pkts -= 1;
    w.ssthresh_pkts = Math.min(w.ssthresh_pkts, w.cwnd_pkts);
  } else if (queued_pkts < 2) {
    w.cwnd_pkts = w.cwnd_pkts < w.ssthresh_pkts ? 1.5 * w.cwnd_pkts : w.cwnd_pkts + 1;
  }
}
function on_loss(w, now) { w.ssthresh_pkts = Math.max(2, w.cwnd_pkts / 2); }
`,
  },
];
