/**
 * Whether two results give the same JSON because their fields, and the items of their lists, are the same objects. Results are made of cached
 * values that are never changed, so no item has to be looked into. False where that would be necessary.
 */
export function hasSameParts(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other)) return hasSameItems(one, other);
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    Object.keys(other).every((name, index) => name === names[index]) &&
    Object.keys(other).length === names.length &&
    names.every((name) => one[name] === other[name] || hasSameItems(one[name], other[name]))
  );
}

function hasSameItems(one: unknown, other: unknown): boolean {
  return (
    Array.isArray(one) &&
    Array.isArray(other) &&
    one.length === other.length &&
    one.every((item, index) => item === other[index])
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
