import { type CatalogueRow, laterOf, reasonOf, sections } from './catalogue.ts';

/** Of a test's result only what is read here; Jest's own types are no dependency of the project. */
export interface TitledResult {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: string;
}

interface FaultTable {
  readonly text: string;
  /** What makes the run fail; empty where the tests and the catalogue agree. */
  readonly gaps: readonly string[];
}

const ROW_ID = /^([UCTRPKO]\d+)\b/;

/** The rows of the catalogue with their tests, and where the two disagree. */
export function faultTable(
  results: readonly TitledResult[],
  rows: readonly CatalogueRow[] = sections.flatMap((section) => section.rows),
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
  const here = rows.filter((row) => reasonOf(row) === undefined);
  const absent = rows.filter((row) => reasonOf(row) !== undefined);
  return {
    text: [
      'Faults: tests and how many of them passed, by row of docs/faults.md',
      ...here.map((row) => {
        const { tests, passed } = countsOf(row.id);
        const mark = tests === 0 ? 'MISSING' : passed < tests ? 'FAILED' : 'ok';
        const later = laterOf(row);
        return `  ${row.id.padEnd(4)}${mark.padEnd(8)}${`${passed}/${tests}`.padStart(7)}  ${row.fault}${later ? ` [not yet: ${later}]` : ''}`;
      }),
      'Not tested here:',
      ...absent.map((row) => `  ${row.id.padEnd(4)}${row.fault}: ${reasonOf(row)}`),
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

/** A row counts once for a test, whether the test's own title names it or a describe block around it. */
function idsOf({ ancestorTitles, title }: TitledResult): string[] {
  const ids = [...ancestorTitles, title].map((each) => ROW_ID.exec(each)?.[1]);
  return [...new Set(ids)].filter((id) => id !== undefined);
}

/** Of Jest's settings for a run, those that leave tests out. */
interface RunSettings {
  readonly nonFlagArgs?: readonly string[];
  readonly testNamePattern?: string;
  readonly testPathPatterns?: { readonly patterns: readonly string[] };
  readonly onlyChanged?: boolean;
  readonly onlyFailures?: boolean;
  readonly findRelatedTests?: boolean;
  readonly shard?: object;
}

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

  onRunComplete(_contexts: unknown, results: RunResults): void {
    if (results.wasInterrupted || !isFullRun(this.#settings)) return;
    const { text, gaps } = faultTable(results.testResults.flatMap((file) => file.testResults));
    process.stderr.write(`\n${text}\n`);
    if (gaps.length === 0) return;
    process.stderr.write(`\n${gaps.join('\n')}\n`);
    this.#error = new Error(`the fault catalogue and the tests disagree: ${gaps.join('; ')}`);
  }

  /** Jest fails the run on it. */
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
