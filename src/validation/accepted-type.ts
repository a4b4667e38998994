/**
 * Returns the first of `types` that an `Accept` header (RFC 9110 12.5.1) prefers. Undefined if it allows none. Without a header it is the
 * first type.
 */
export function acceptedType(accept: string | undefined, types: readonly string[]): string | undefined {
  if (!accept) return types[0];
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.map((parameter) => /^q=(\d(?:\.\d*)?)$/.exec(parameter)?.[1]).find(Boolean);
    return { type, weight: Number(weight ?? 1) };
  });
  const weightOf = (type: string): number => {
    const group = `${type.split('/')[0]}/*`;
    // The most specific range decides.
    for (const range of [type, group, '*/*']) {
      const found = ranges.find((each) => each.type === range);
      if (found) return found.weight;
    }
    return 0;
  };
  const best = Math.max(...types.map(weightOf));
  return best > 0 ? types.find((type) => weightOf(type) === best) : undefined;
}
