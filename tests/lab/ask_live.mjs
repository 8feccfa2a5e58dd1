// node ask_live.mjs < REQUESTS > ANSWERS
// Both are lines of JSON: {"of": MODULE, "call": FUNCTION, "with": [ARGUMENT, ...]} of the modules of
// live figures. Of a scale it is asked where values are and which value is where:
// {"of": "chart", "call": "scale", "with": [AXIS, BEGIN, END], "at": [...], "value": [...]}.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { of, call, with: given, at, value } = JSON.parse(line);
  const module = await import(`../../python/dumbbell/lab/live/${of}.js`);
  const found = module[call](...given);
  const answer = at ? { at: at.map(found.at), value: value.map(found.value) } : found;
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
