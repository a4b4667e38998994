/** Finds what a caller probably meant by a name or a request line that does not exist. */
import { type Operation, OPERATIONS } from './operations.ts';

/** The cost of a wrong method. A wrong segment of the path costs 1. */
const WRONG_METHOD = 0.5;

/** Returns the known word with the fewest letters to change. */
export function nearestWord(wanted: string, known: readonly string[]): string {
  return leastBy(known, (word) => distance(wanted.toLowerCase(), word.toLowerCase(), differ));
}

/** Returns the operation whose path has the fewest segments to change. A parameter matches every segment. */
export function nearestOperation(method: string, path: string): Operation {
  // A longer path cannot be similar to any operation's.
  const segments = path.split('/').slice(0, 32);
  return leastBy(
    OPERATIONS,
    (operation) =>
      distance(segments, operation.path.split('/'), unlike) +
      (operation.method === method ? 0 : WRONG_METHOD),
  );
}

/** Returns 0 for a segment that matches, up to 2 for one that shares no letter, which costs as much as a deletion and an insertion. */
function unlike(segment: string, template: string): number {
  if (template.startsWith('{') && segment !== '') return 0;
  const length = Math.max(segment.length, template.length, 1);
  return (2 * distance(segment.toLowerCase().slice(0, 64), template.toLowerCase(), differ)) / length;
}

function differ(one: string, other: string): number {
  return one === other ? 0 : 1;
}

/** Returns the item with the lowest cost, and of equals the first. */
function leastBy<Item>(items: readonly Item[], cost: (item: Item) => number): Item {
  return items
    .map((item) => ({ item, cost: cost(item) }))
    .reduce((best, one) => (one.cost < best.cost ? one : best)).item;
}

/** Returns the edit distance (Wagner and Fischer). A deletion or insertion costs 1, and a change costs `change`. */
function distance(
  from: string | readonly string[],
  to: string | readonly string[],
  change: (one: string, other: string) => number,
): number {
  let row = Array.from({ length: to.length + 1 }, (_, place) => place);
  for (const [line, one] of [...from].entries()) {
    const next = [line + 1];
    for (const [place, other] of [...to].entries()) {
      const least = Math.min((row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1);
      next.push(Math.min(least, (row[place] ?? 0) + change(one, other)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
