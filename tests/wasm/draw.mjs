// node draw.mjs MODULE.wasm SEED REPLICATION COMPONENT LAW COUNT
// Writes the bits of COUNT draws to standard output, eight bytes each, little-endian.
import { readFileSync, writeSync } from "node:fs";

const [path, seed, replication, component, law, count] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(path), {});
const { put, start, draw } = instance.exports;

const name = Buffer.from(component, "utf8");
for (const byte of [...name, ...Buffer.from(law, "utf8")]) put(byte);
// 64-bit parameters are signed in JavaScript's view of them.
const word = (text) => BigInt.asIntN(64, BigInt(text));
if (start(word(seed), word(replication), name.length) !== 1) {
  console.error(`the engine does not take the law ${law}`);
  process.exit(1);
}
const bits = Buffer.alloc(8 * Number(count));
for (let i = 0; i < bits.length; i += 8) bits.writeBigUInt64LE(BigInt.asUintN(64, draw()), i);
for (let written = 0; written < bits.length; ) written += writeSync(1, bits, written);
