/** Longer paths, and segments with more letters, are not compared: a wrong path must cost little. */
const MAX_SEGMENTS = 8;
const MAX_LETTERS = 32;
/** An id in the place of a parameter fits, but says less than a word that fits. */
const PARAMETER = 0.1;
/** A segment too few or too many. */
const OTHER_LENGTH = 0.9;
/** The part of the segments that may differ. */
const MOST = 0.4;

/** Finds the template of a path that a caller probably meant. */
export class NearestPath {
  readonly #templates = new Map<string, readonly string[]>();

  add(template: string): void {
    this.#templates.set(template, template.split('/').slice(1));
  }

  of(path: string): string | undefined {
    const segments = path.split('/', MAX_SEGMENTS + 2).slice(1);
    if (segments.length > MAX_SEGMENTS || segments.some(({ length }) => length > 2 * MAX_LETTERS))
      return undefined;
    const known = new Map<string, number>();
    const unlike = (segment: string, word: string): number => {
      if (word.startsWith(':')) return segment === '' ? 1 : PARAMETER;
      const key = `${segment}/${word}`;
      const cost = known.get(key) ?? difference(segment.toLowerCase(), word);
      known.set(key, cost);
      return cost;
    };
    let best: string | undefined;
    let least = MOST * Math.max(segments.length, 2);
    for (const [template, words] of this.#templates) {
      if (Math.abs(words.length - segments.length) > 1) continue;
      const cost = distance(segments, words, unlike, OTHER_LENGTH);
      if (cost < least) [best, least] = [template, cost];
    }
    return best?.replaceAll(/:(\w+)/g, '{$1}');
  }
}

/** 0 for the same word, 1 for one that has little in common with it. */
function difference(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.max(one.length, other.length);
  if (length > MAX_LETTERS || Math.abs(one.length - other.length) > length / 2) return 1;
  return Math.min(1, (2 * distance([...one], [...other], (a, b) => (a === b ? 0 : 1), 1)) / length);
}

/** The edit distance (Wagner and Fischer), where leaving out and adding cost `gap`. */
function distance(
  from: readonly string[],
  to: readonly string[],
  change: (one: string, other: string) => number,
  gap: number,
): number {
  let row = Array.from({ length: to.length + 1 }, (_, place) => place * gap);
  for (const [line, one] of from.entries()) {
    const next = [(line + 1) * gap];
    for (const [place, other] of to.entries()) {
      const least = Math.min(row[place + 1] ?? 0, next[place] ?? 0) + gap;
      next.push(Math.min(least, (row[place] ?? 0) + change(one, other)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
