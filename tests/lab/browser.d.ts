// What browsers have and the library of TypeScript 4.8 has not yet.
declare class DecompressionStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(format: "gzip" | "deflate");
}
