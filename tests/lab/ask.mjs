// node ask.mjs MODULE.wasm < REQUESTS > ANSWERS
// Both are lines of JSON. A request of the laboratory's is answered by what the module says, or
// {"problem": ...}; besides there are {"run": QUEUE, "replication": N, "pieces": EVENTS}, which
// begins, goes to the end in pieces of this number of events and finishes, {"advance": EVENTS},
// {"columns": [NAME, ...]}, and {"memory": true}, answered by the bytes that the module has.
import { readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Engine, Problem } from "../../python/dumbbell/lab/page/engine.js";

const engine = await Engine.from(readFileSync(process.argv[2]));

function answered(request) {
  if ("run" in request) {
    engine.ask({ do: "begin", replication: request.replication });
    while (engine.advance(request.pieces));
    return engine.ask({ do: "finish", queue: request.run });
  }
  if ("advance" in request) return { isGoing: engine.advance(request.advance) };
  if ("memory" in request) return { bytes: engine.exports.memory.buffer.byteLength };
  if ("columns" in request) {
    return { columns: request.columns.map((name) => [...engine.column(name)]) };
  }
  return engine.ask(request);
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = answered(JSON.parse(line));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    answer = { problem: error.parts };
  }
  const bytes = Buffer.from(`${JSON.stringify(answer)}\n`);
  for (let written = 0; written < bytes.length; ) written += writeSync(1, bytes, written);
}
