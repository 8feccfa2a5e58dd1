// Measurements of a line in files: read on this machine, within bounds.

/** Most bytes of a file, packed and unpacked. */
const MOST_PACKED = 16 << 20;
const MOST_UNPACKED = 64 << 20;
/** Largest number that is exact, as in the formats' readers in Python. */
const MOST = 2 ** 53;
const LEAST_LENGTH_S = 5;
/** Interval of a ping without timestamps, s: the default. */
const PING_INTERVAL_S = 1;
const LEAST_ANSWERS = 5;
const MOST_FLOWS = 1000;
/** Names of series that Flent computes from others, and of pings with a DSCP. */
const COMPUTED = ["AverageRunner", "SumRunner", "FairnessRunner", "ComputingRunner"];
const COMPUTED_ENDS = [" avg", " sum", " totals", " fairness"];
const MARKED = [" EF", " BK", " CS", " AF"];
const REPLY = /^(?:\[(\d{1,12}\.\d{1,9})\] )?\d{1,6} bytes from .{1,320}(?:icmp_[rs]eq|seq)=(\d{1,9}).{0,60} time[=<](\d{1,12}(?:\.\d{1,9})?) ?ms\s*$/;

/**
 * @typedef {"up" | "down"} Way direction, seen from the home
 * @typedef {{way: Way, t_s: number[], bytes: number[]}} Moved payload of a TCP flow: ends of intervals, and
 *   the bytes delivered until then
 * @typedef {{source: string, begin_s: number, end_s: number, flows: Moved[], sent_s: number[],
 *   rtt_ms: number[], controller?: string, isOfSegments?: boolean}} Scene a line under one load, or idle; without
 *   pings the round trips may be those of the flows' own segments
 * @typedef {{source: string, twin: any}} TwinFile
 */

/** A file that is not read, with the reason in a sentence. */
export class UnreadFile extends Error {}

/** @param {unknown} value @returns {value is number} */
const isNumber = (value) => typeof value === "number" && Math.abs(value) <= MOST;
/** @param {unknown} value @returns {any[]} */
const listOf = (value) => (Array.isArray(value) ? value.filter((each) => each !== null && typeof each === "object") : []);
/** @param {unknown} value @returns {Record<string, any>} */
const tableOf = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? value : {});

/** The text of a file, unpacked if gzip packed it.
 * @param {File} file */
export async function textOf(file) {
  if (file.size > MOST_PACKED) throw new UnreadFile(`more than ${MOST_PACKED >> 20} MiB`);
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isPacked = start[0] === 0x1f && start[1] === 0x8b;
  const stream = isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "", bytes = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      bytes += part.value.length;
      if (bytes > MOST_UNPACKED) throw new UnreadFile(`more than ${MOST_UNPACKED >> 20} MiB unpacked`);
      text += decoder.decode(part.value, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    reader.cancel().catch(() => {});
    if (error instanceof UnreadFile) throw error;
    throw new UnreadFile(isPacked ? "damaged, or not text packed by gzip" : "not text");
  }
}

/** What a file holds.
 * @param {string} source name of the file @param {string} text
 * @returns {Scene | TwinFile}
 * @throws {UnreadFile} */
export function readLine(source, text) {
  if (!/^\s*\{/.test(text)) return ofPing(source, text);
  let found;
  try {
    found = JSON.parse(text);
  } catch {
    throw new UnreadFile("its JSON is damaged or cut off");
  }
  if (found.format === "dumbbell twin 1") return { source, twin: found };
  if ("results" in found && ("x_values" in found || "metadata" in found)) return ofFlent(source, found);
  if ("irtt" in tableOf(found.version)) return ofIrtt(source, found);
  if ("start" in found && "intervals" in found) return ofIperf3(source, found);
  throw new UnreadFile("no data file of Flent, no JSON of iperf3 or irtt, and no twin.json");
}

// --- Flent --------------------------------------------------------------------------------

/** @param {string} source @param {any} file */
function ofFlent(source, file) {
  const [results, raw, meta] = [file.results, file.raw_values, file.metadata].map(tableOf);
  const hosts = new Set((Array.isArray(meta.HOSTS) ? meta.HOSTS : []).filter((each) => typeof each === "string"));
  if (hosts.size > 1) throw new UnreadFile(`a test with ${hosts.size} hosts; a line has one round trip`);
  const seriesMeta = tableOf(meta.SERIES_META);
  const names = [...new Set([...Object.keys(results), ...Object.keys(raw)])].filter((name) => {
    const { RUNNER: runner } = tableOf(seriesMeta[name]);
    const isColumn = name.includes("::") && !/^\d+$/.test(name.slice(name.lastIndexOf("::") + 2));
    if (isColumn) return false;
    return typeof runner === "string" ? !COMPUTED.includes(runner) : !COMPUTED_ENDS.some((end) => name.endsWith(end));
  });
  const from_s = startOf(meta, raw);
  const step_s = isNumber(meta.STEP_SIZE) && meta.STEP_SIZE > 0 ? meta.STEP_SIZE : 0.2;
  const samples = (/** @type {string} */ name) => samplesOf(file, name, from_s);
  const flows = names.flatMap((name) => {
    const way = name.startsWith("TCP upload") ? "up" : name.startsWith("TCP download") ? "down" : null;
    return way ? moved(way, flentReadings(samples(name), step_s)) : [];
  });
  const pings = names.filter((name) => name.startsWith("Ping (ms)"));
  const unmarked = pings.filter((name) => !MARKED.some((mark) => name.includes(mark)));
  const answers = (unmarked.length ? unmarked : pings).flatMap((name) =>
    samples(name).filter(({ val }) => isNumber(val) && val >= 0).map(({ t, val }) => ({ sent_s: t - val / 1e3, rtt_ms: val })));
  const senders = names.map((name) => tableOf(seriesMeta[name]).CONG_CONTROL).find((each) => typeof each === "string" && each);
  return scene(source, flows, answers, senders);
}

/** Samples of a series in the order of time, s from `T0`.
 * @param {any} file @param {string} name @param {number} from_s */
function samplesOf(file, name, from_s) {
  const raw = listOf(tableOf(file.raw_values)[name]);
  if (raw.length) {
    const timed = raw.filter(({ t }) => isNumber(t)).map((each) => ({ ...each, t: each.t - from_s }));
    return timed.sort((one, other) => one.t - other.t);
  }
  const values = tableOf(file.results)[name];
  const times = Array.isArray(file.x_values) ? file.x_values : [];
  return (Array.isArray(values) ? values : [])
    .map((val, place) => ({ t: times[place], val, dur: undefined }))
    .filter(({ t, val }) => isNumber(t) && val !== null);
}

/** Unix time of `T0`; a time without a zone is local, as of the first sample within whole hours.
 * @param {Record<string, any>} meta @param {Record<string, any>} raw */
function startOf(meta, raw) {
  const times = Object.values(raw).flatMap((each) => listOf(each).map(({ t }) => t).filter(isNumber));
  const first = times.reduce((least, t) => Math.min(least, t), Infinity);
  const said = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)?$/.exec(String(meta.T0 ?? meta.TIME ?? ""));
  if (!said) return Number.isFinite(first) ? first : 0;
  const [, day, time, part = "0", zone] = said;
  const at = Date.parse(`${day}T${time}${zone ?? "Z"}`) / 1000 + Number(part);
  return zone || !Number.isFinite(first) ? at : at + 3600 * Math.round((first - at) / 3600);
}

/** Bytes delivered: a rate in Mbit/s holds over the time to the sample before it.
 * @param {any[]} samples @param {number} step_s @returns {[number, number][]} */
function flentReadings(samples, step_s) {
  let bytes = 0;
  return samples.map(({ t, val, dur }) => {
    if (isNumber(val)) bytes += (Math.max(0, val) * 1e6 / 8) * (isNumber(dur) && dur ? dur : step_s);
    return [t, bytes];
  });
}

// --- iperf3, irtt, ping -------------------------------------------------------------------

/** @param {string} source @param {any} found */
function ofIperf3(source, found) {
  const start = tableOf(tableOf(found.start).test_start);
  const protocol = String(start.protocol ?? "TCP").toUpperCase();
  if (protocol !== "TCP") throw new UnreadFile(`iperf3 over ${protocol}; TCP fills a line, and UDP at a rate of its own does not`);
  /** @type {Map<string, {way: Way, first_s: number, readings: [number, number][]}>} */
  const streams = new Map();
  const segments = [];
  for (const each of listOf(found.intervals).flatMap(({ streams: of }) => listOf(of))) {
    // After --omit iperf3's clock starts again at 0.
    if (!isNumber(each.end) || !isNumber(each.bytes) || each.bytes < 0 || each.omitted) continue;
    if (isNumber(each.rtt) && each.rtt > 0) segments.push({ sent_s: each.end, rtt_ms: each.rtt / 1e3 });
    // The client is at home: what it sends goes up.
    const isUp = "sender" in each ? Boolean(each.sender) : !start.reverse;
    const key = `${each.socket} ${isUp}`;
    if (!streams.has(key)) {
      const first_s = Math.min(isNumber(each.start) ? each.start : 0, each.end);
      streams.set(key, { way: isUp ? "up" : "down", first_s, readings: [] });
    }
    streams.get(key)?.readings.push([each.end, each.bytes]);
  }
  const flows = [...streams.values()].flatMap(({ way, first_s, readings }) => {
    if (readings.length < 3) return [];
    readings.sort(([one], [other]) => one - other);
    let bytes = 0;
    return moved(way, [[first_s, 0], ...readings.map(([t, more]) => /** @type {[number, number]} */ ([t, (bytes += more)]))]);
  });
  if (!flows.length) throw new UnreadFile("iperf3 moved nothing");
  const ends = tableOf(found.end);
  const whole = { ...scene(source, flows, segments, ends.sender_tcp_congestion), isOfSegments: true };
  if (whole.begin_s < 1.5) whole.begin_s = Math.min(whole.begin_s, 0);
  if (!segments.length) return whole;
  // The least of each stream stands before the load, which begins before the first reading.
  const least_ms = listOf(ends.streams).map((each) => tableOf(each.sender).min_rtt / 1e3).filter((each) => isNumber(each) && each > 0);
  const before_s = least_ms.map(() => whole.begin_s - 1e-3);
  return { ...whole, sent_s: [...before_s, ...whole.sent_s], rtt_ms: [...least_ms, ...whole.rtt_ms] };
}

/** @param {string} source @param {any} found */
function ofIrtt(source, found) {
  const answers = listOf(found.round_trips).filter(({ lost }) => lost === "false").map((each) => ({
    sent_s: tableOf(tableOf(tableOf(each.timestamps).client).send).wall / 1e9,
    rtt_ms: tableOf(each.delay).rtt / 1e6,
  }));
  return scene(source, [], answers.filter(({ rtt_ms }) => isNumber(rtt_ms) && rtt_ms >= 0));
}

/** @param {string} source @param {string} text */
function ofPing(source, text) {
  const answers = text.split(/\r?\n/).flatMap((line) => {
    const reply = line.length < 500 ? REPLY.exec(line) : null;
    if (!reply) return [];
    const [, stamp, seq, ms] = reply;
    const rtt_ms = Number(ms);
    return [{ sent_s: stamp ? Number(stamp) - rtt_ms / 1e3 : Number(seq) * PING_INTERVAL_S, rtt_ms }];
  });
  if (!answers.length) throw new UnreadFile("no answers of ping, and no JSON");
  return scene(source, [], answers);
}

// --- scenes -------------------------------------------------------------------------------

/** @param {Way} way @param {[number, number][]} readings @returns {Moved[]} none if nothing moved */
function moved(way, readings) {
  if (readings.length < 2 || readings[readings.length - 1][1] <= 0) return [];
  return [{ way, t_s: readings.map(([t]) => t), bytes: readings.map(([, bytes]) => bytes) }];
}

/** @param {string} source @param {Moved[]} flows @param {{sent_s: number, rtt_ms: number}[]} answers
 * @param {unknown} [controller] @returns {Scene} */
function scene(source, flows, answers, controller) {
  if (flows.length > MOST_FLOWS) throw new UnreadFile(`more than ${MOST_FLOWS} flows`);
  const timed = answers.map((each, place) => ({ ...each, sent_s: isNumber(each.sent_s) ? each.sent_s : place }));
  timed.sort((one, other) => one.sent_s - other.sent_s);
  if (!flows.length && timed.length < LEAST_ANSWERS) {
    throw new UnreadFile(`neither TCP flows nor ${LEAST_ANSWERS} round trips`);
  }
  const spans = flows.length ? flows.map(spanOf) : [[timed[0].sent_s, timed[timed.length - 1].sent_s]];
  const begin_s = Math.min(...spans.map(([begin]) => begin));
  const end_s = Math.max(...spans.map(([, end]) => end));
  if (flows.length && end_s - begin_s < LEAST_LENGTH_S) {
    throw new UnreadFile(`${Math.max(0, end_s - begin_s).toFixed(1)} s of load; ${LEAST_LENGTH_S} s and more are needed`);
  }
  return {
    source, begin_s, end_s, flows, sent_s: timed.map(({ sent_s }) => sent_s), rtt_ms: timed.map(({ rtt_ms }) => rtt_ms),
    ...(typeof controller === "string" ? { controller } : {}),
  };
}

/** From the reading before the first progress to that of the last.
 * @param {Moved} flow @returns {[number, number]} */
function spanOf({ t_s, bytes }) {
  const moves = bytes.flatMap((each, place) => (each > (place ? bytes[place - 1] : 0) ? [place] : []));
  return [t_s[Math.max(moves[0] - 1, 0)], t_s[moves[moves.length - 1]]];
}
