/** Not `instanceof`: under Jest, errors and results of `fetch` are of another realm. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
