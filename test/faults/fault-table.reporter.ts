import { type CatalogueRow, rows as allRows } from './catalogue.ts';

/** The fields of a test's result that the reporter reads; Jest's own types are no dependency of the project. */
export interface TitledResult {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: string;
}

interface FaultTable {
  readonly text: string;
  /** The reasons why the run fails; empty when tests and catalogue agree. */
  readonly gaps: readonly string[];
}

/** The first letters of ids. */
const ROW_ID = new RegExp(`^([${[...new Set(allRows.map(({ id }) => id[0]))].join('')}]\\d+)\\b`);

/** The rows of the catalogue with their tests, and where the two disagree. */
export function faultTable(
  results: readonly TitledResult[],
  rows: readonly CatalogueRow[] = allRows,
): FaultTable {
  const byRow = Map.groupBy(
    results.flatMap((result) => idsOf(result).map((id) => ({ id, passed: result.status === 'passed' }))),
    ({ id }) => id,
  );
  const known = new Set(rows.map(({ id }) => id));
  const countsOf = (id: string) => {
    const tests = byRow.get(id) ?? [];
    return { tests: tests.length, passed: tests.filter(({ passed }) => passed).length };
  };
  const here = rows.filter(({ notHere }) => notHere === undefined);
  const absent = rows.filter(({ notHere }) => notHere !== undefined);
  return {
    text: [
      'Faults: tests and how many of them passed, by row of docs/faults.md',
      ...here.map((row) => {
        const { tests, passed } = countsOf(row.id);
        const mark = tests === 0 ? 'MISSING' : passed < tests ? 'FAILED' : 'ok';
        return `  ${row.id.padEnd(4)}${mark.padEnd(8)}${`${passed}/${tests}`.padStart(7)}  ${row.fault}`;
      }),
      'Not tested here:',
      ...absent.map((row) => `  ${row.id.padEnd(4)}${row.fault}: ${row.notHere}`),
    ].join('\n'),
    gaps: [
      ...here
        .filter(({ id }) => !byRow.has(id))
        .map(({ id }) => `${id} has neither a test nor a reason why not`),
      ...absent.filter(({ id }) => byRow.has(id)).map(({ id }) => `${id} is said not to be tested, but is`),
      ...[...byRow.keys()].filter((id) => !known.has(id)).map((id) => `${id} is no row of the catalogue`),
    ],
  };
}

/** A row counts once for a test, by the test's own title or by a describe block around it. */
function idsOf({ ancestorTitles, title }: TitledResult): string[] {
  const ids = [...ancestorTitles, title].map((each) => ROW_ID.exec(each)?.[1]);
  return [...new Set(ids)].filter((id) => id !== undefined);
}

/** Jest's settings that leave tests out of a run. */
interface RunSettings {
  readonly nonFlagArgs?: readonly string[];
  readonly testNamePattern?: string;
  readonly testPathPatterns?: { readonly patterns: readonly string[] };
  readonly onlyChanged?: boolean;
  readonly onlyFailures?: boolean;
  readonly findRelatedTests?: boolean;
  readonly shard?: object;
}

/** A project of jest.config.js. */
interface Project {
  readonly config: { readonly displayName?: { readonly name: string } };
}
/** The table lacks tests of rows without these projects. */
const NEEDED = ['unit', 'service'];

interface RunResults {
  readonly wasInterrupted: boolean;
  readonly testResults: readonly { readonly testResults: readonly TitledResult[] }[];
}

/** Prints the table after a run of all tests, and makes that run fail where tests and catalogue disagree. */
export default class FaultTableReporter {
  readonly #settings: RunSettings;
  #error: Error | undefined;

  constructor(settings: RunSettings) {
    this.#settings = settings;
  }

  onRunComplete(contexts: Iterable<Project>, results: RunResults): void {
    const names = new Set(Array.from(contexts, ({ config }) => config.displayName?.name));
    // A project that has no name is the only one.
    const isWhole = names.has(undefined) || NEEDED.every((name) => names.has(name));
    if (results.wasInterrupted || !isWhole || !isFullRun(this.#settings)) return;
    const { text, gaps } = faultTable(results.testResults.flatMap((file) => file.testResults));
    process.stderr.write(`\n${text}\n`);
    if (gaps.length === 0) return;
    process.stderr.write(`\n${gaps.join('\n')}\n`);
    this.#error = new Error(`the fault catalogue and the tests disagree: ${gaps.join('; ')}`);
  }

  /** Jest then fails the run. */
  getLastError(): Error | undefined {
    return this.#error;
  }
}

function isFullRun(settings: RunSettings): boolean {
  const { nonFlagArgs, testNamePattern, testPathPatterns, shard } = settings;
  const filters = [...(nonFlagArgs ?? []), ...(testPathPatterns?.patterns ?? [])];
  const { onlyChanged, onlyFailures, findRelatedTests } = settings;
  return (
    filters.length === 0 && !testNamePattern && !shard && !onlyChanged && !onlyFailures && !findRelatedTests
  );
}
