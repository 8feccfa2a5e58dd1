// Isolates a worker before a user's rule is loaded: globals that give access to the outside or make two
// runs differ are removed, and the rest is frozen.

/** Globals that are kept: those of the language, except clocks, random numbers, and locale. */
const LEFT = new Set([
  "globalThis", "undefined", "NaN", "Infinity", "isFinite", "isNaN", "parseFloat", "parseInt",
  "Object", "Array", "Number", "Boolean", "String", "Symbol", "BigInt", "Math", "JSON", "Reflect", "Proxy",
  "Map", "Set", "RegExp", "Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError",
  "URIError", "ArrayBuffer", "DataView", "Float64Array", "Float32Array", "Int32Array", "Uint32Array",
  "Int16Array", "Uint16Array", "Int8Array", "Uint8Array",
]);

/** Objects reachable by syntax, without a name. */
function unnamed() {
  return [
    function* () {}, async () => {}, async function* () {}, [].values(), "".matchAll(/x/g), new Map().keys(), new Set().keys(),
    ""[Symbol.iterator](),
  ];
}

/** Freezes everything reachable from these roots.
 * @param {unknown[]} roots */
function freeze(roots) {
  const seen = new Set(/** @type {unknown[]} */ ([globalThis]));
  const waiting = [...roots];
  while (waiting.length) {
    const value = /** @type {any} */ (waiting.pop());
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
    seen.add(value);
    Object.freeze(value);
    waiting.push(Object.getPrototypeOf(value));
    for (const key of Reflect.ownKeys(value)) {
      const { value: held, get, set } = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(value, key));
      waiting.push(held, get, set);
    }
  }
}

/** Removes a name from an object, or its value.
 * @param {object} from @param {string | symbol} key */
function take(from, key) {
  if (Reflect.deleteProperty(from, key)) return;
  Reflect.defineProperty(from, key, { value: undefined, writable: false });
}

/**
 * @param {Record<string, Function>} given functions provided to a rule
 * @throws {Error} if something remains reachable
 */
export function closeOff(given) {
  take(Math, "random");
  for (const kind of [Number, String, Array, BigInt, Object.getPrototypeOf(Uint8Array)]) {
    for (const key of ["toLocaleString", "toLocaleLowerCase", "toLocaleUpperCase", "localeCompare"]) take(kind.prototype, key);
  }
  Object.assign(globalThis, given);
  const left = new Set([...LEFT, ...Object.keys(given)]);
  const stays = (/** @type {string | symbol} */ key) => left.has(/** @type {string} */ (key));
  for (let at = /** @type {any} */ (globalThis); at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const key of Reflect.ownKeys(at)) if (!stays(key)) take(at, key);
  }
  for (let at = /** @type {any} */ (globalThis); at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    // Numeric properties, such as TEMPORARY of file systems, give access to nothing.
    const open = Reflect.ownKeys(at).find((key) => !stays(key) && ["object", "function"].includes(typeof Reflect.get(globalThis, key)));
    if (open !== undefined) throw new Error(`${String(open)} stays within reach of the rule`);
  }
  freeze([...[...left].map((name) => Reflect.get(globalThis, name)), ...unnamed()]);
  for (const name of left) {
    Reflect.defineProperty(globalThis, name, { value: Reflect.get(globalThis, name), writable: false, configurable: false });
  }
}
