/** The most parts of a path that are compared. Longer paths and longer parts are ignored, so that the work for a request stays small. */
const MAX_PARTS = 12;
const MAX_PART = 40;

/**
 * Returns the template (`/v1/jobs/:jobId`) that was probably meant by a path without a route. It ignores slashes at the end and double
 * slashes, a missing `/v1`, a prefix that a proxy left, and a few wrong letters. Undefined if no template is near.
 */
export function nearestPath(path: string, templates: readonly string[]): string | undefined {
  const parts = path.split('/').filter((part) => part !== '');
  if (parts.length > MAX_PARTS || parts.some((part) => part.length > MAX_PART)) return undefined;
  const spellings = [parts, ['v1', ...parts], parts.slice(1)];
  let nearest: string | undefined;
  let least = Infinity;
  for (const spelling of spellings)
    for (const template of templates) {
      const distance = distanceOf(spelling, template.slice(1).split('/'));
      if (distance >= least) continue;
      least = distance;
      nearest = template;
    }
  return nearest;
}

/** Returns the number of different letters. It is infinite if a part has hardly a letter in common with the template's part. */
function distanceOf(parts: readonly string[], template: readonly string[]): number {
  if (parts.length !== template.length) return Infinity;
  return template.reduce((sum, wanted, index) => {
    if (wanted.startsWith(':')) return sum;
    const letters = lettersBetween(parts[index] as string, wanted);
    return sum + (letters <= wanted.length / 2 ? letters : Infinity);
  }, 0);
}

/** Returns the edit distance of Levenshtein. */
function lettersBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let at = 0; at < one.length; at++) {
    const next = [at + 1];
    for (let to = 0; to < other.length; to++) {
      const same = (row[to] as number) + (one[at] === other[to] ? 0 : 1);
      next.push(Math.min(same, (row[to + 1] as number) + 1, (next[to] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
