/** True for an object. It does not use `instanceof`, because under Jest errors and results of `fetch` belong to another realm. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
