import { chunksOf } from '../../shared/chunks-of.ts';
import type { WaitingRow } from '../store/job-record.ts';

/** The most rows of a call that is divided no further, unless that has helped. */
const FEW = 25;

/** Divides rows into the parts that are sent in one call each. Rows of a refused call are in smaller parts. */
export function partsOf(rows: readonly WaitingRow[]): (readonly WaitingRow[])[] {
  const bySize = Map.groupBy(rows, ({ refused }) => refused?.next ?? rows.length);
  return [...bySize].flatMap(([size, all]) => chunksOf(all, size));
}

/**
 * Returns what counts for a row after the platform refused a call of `rows` rows by a code that the gateway does not know. The code may
 * concern a single row, so the call is sent by halves. `hasHelped` is true if the platform accepted other rows meanwhile.
 */
export function afterRefusal(
  { refused, unreadable = 0 }: WaitingRow,
  rows: number,
  by: string,
  hasHelped: boolean,
): Pick<WaitingRow, 'refused' | 'unreadable'> {
  const isDivided = rows > 1 && (refused === undefined || hasHelped || rows > FEW);
  return isDivided
    ? { refused: { by, next: Math.ceil(rows / 2) } }
    : { refused: { by, next: rows }, unreadable: unreadable + 1 };
}
