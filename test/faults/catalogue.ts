import { readFileSync } from 'node:fs';

/** A row of docs/faults.md: what can go wrong around the gateway, and what must hold then. */
export interface CatalogueRow {
  readonly id: string;
  readonly fault: string;
  /** Why no test has its id, where none has. */
  readonly notHere?: string | undefined;
}

/**
 * The rows of the page. The title of a row's test (or of its describe block) begins with the row's id; fault-table.reporter.ts compares the
 * tests with this list.
 */
export const rows: readonly CatalogueRow[] = Array.from(
  readFileSync(new URL('../../docs/faults.md', import.meta.url), 'utf8').matchAll(
    /^\| (?<id>[A-Z]\d+) \| (?<fault>[^|]+) \| [^|]+?(?: \*Not tested here: (?<notHere>[^|]+)\.\*)? \|$/gm,
  ),
  ({ groups: { id = '', fault = '', notHere } = {} }) => ({ id, fault, notHere }),
);
