/** Makes a value when it is first needed, and only once, because the start should be short. */
export function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
