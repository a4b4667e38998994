/**
 * JSON with exact integers. The platform's ids exceed 2^53, and its interface sends some of them as bare numbers (section 2.1), which
 * `JSON.parse` would change.
 */

const engine = JSON as unknown as {
  parse(
    text: string,
    reviver?: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

/** A number of 16 digits or more in value position. Most strings of digits do not match, and take the fast path. */
const LONG_NUMBER = /(?:^|[:[,])\s*-?\d{16}/;

/**
 * Parses JSON. Integers that a double cannot hold become `bigint`, every other number becomes `number`.
 * @throws SyntaxError if the text is not JSON
 */
export function parseJson(text: string): unknown {
  return LONG_NUMBER.test(text) ? engine.parse(text, keepExact) : engine.parse(text);
}

function keepExact(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return context.source !== undefined && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}

/** Writes JSON. A `bigint` becomes a bare integer with all its digits. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // JSON.stringify refuses a bigint. That is rare, and a replacer on every response would cost several times the write.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, (_key, item: unknown) =>
      typeof item === 'bigint' ? engine.rawJSON(item.toString()) : item,
    );
  }
}

/** Returns a value that is written as the bare integer of these digits. */
export function exactNumber(digits: string): object {
  return engine.rawJSON(digits);
}

/** Returns a value that is written as this text, whatever form the profile gives to other texts. */
export function exactText(text: string): object {
  return engine.rawJSON(JSON.stringify(text));
}

/** True if the value is an object with members, and not an array, null or an exact value. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !engine.isRawJSON(value);
}

/** Applies an RFC 7396 JSON merge patch without changing its arguments. Null removes a member. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

/** True if every member of `part` is in `whole` with an equal value. Arrays match item by item from the start. */
export function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(whole) && part.every((item, place) => contains(whole[place], item));
  }
  if (!isObject(part)) return whole === part;
  return isObject(whole) && Object.entries(part).every(([name, value]) => contains(whole[name], value));
}

/** True if a value is nested deeper than `levels`. Such a value can be parsed, but writing it may overflow the stack. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}
