import { type CasesReport, runCases } from './cases.ts';
import { runSequences, type SequencesReport } from './sequences.ts';
import { Stage } from './stage.ts';

/** Everything on one gateway: requests and sequences. */

export interface FuzzOptions {
  readonly seed: number;
  readonly cases: number;
  readonly sequences: number;
  /** Only these `operation/kind`. */
  readonly only?: string | undefined;
  readonly progress?: (line: string) => void;
}

/** Of the long form. */
export const LONG = { cases: 20_000, sequences: 2_000 };
/** What a long search for leaks may find kept by each round of requests. */
export const MAX_BYTES_A_ROUND = 10_000;

export interface FuzzReport {
  readonly seed: number;
  readonly cases: CasesReport;
  readonly sequences: SequencesReport;
  readonly seconds: number;
  /** The findings, each with its smallest example, and the command that repeats the run. */
  readonly violations: readonly string[];
}

export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { seed, progress = () => undefined } = options;
  const stage = await Stage.set();
  const started = performance.now();
  try {
    const cases = await runCases(stage, {
      seed,
      cases: options.cases,
      only: options.only,
      progress: (done) => progress(`${done} cases`),
    });
    const sequences = await runSequences(stage, {
      seed,
      sequences: options.sequences,
      progress: (done) => progress(`${done} sequences`),
    });
    const violations: string[] = [
      ...cases.violations.map(
        ({ operation, kind, what, example }) => `${operation}/${kind}: ${what}\n    ${example}`,
      ),
      ...sequences.violations.map(({ what, example }) => `${what}\n    ${example}`),
      ...failuresIn(stage.gateway.output()),
    ];
    const seconds = (performance.now() - started) / 1_000;
    const sizes = (['seed', 'cases', 'sequences'] as const).map((name) => `--${name} ${options[name]}`);
    if (violations.length > 0) violations.push(`to repeat: npm run fuzz -- ${sizes.join(' ')}`);
    return { seed, cases, sequences, seconds, violations };
  } finally {
    await stage.clear();
  }
}

/** Failures in the gateway's own log. */
function failuresIn(output: string): string[] {
  const lines = output
    .split('\n')
    .filter((line) => /"event":"(?:internal-error|uncaught|unhandled)/.test(line));
  return lines.length > 0 ? [`${lines.length} internal errors in the log\n    ${lines[0]}`] : [];
}

/** A line each. */
export function figuresOf({ seed, cases, sequences, seconds, violations }: FuzzReport): string {
  const counts = (map: ReadonlyMap<unknown, number>) =>
    [...map]
      .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1))
      .map(([what, count]) => `${String(what)} ${count}`)
      .join(', ');
  const idle = [...sequences.acted].filter(([, count]) => count === 0).map(([name]) => name);
  const rows: [string, string | number][] = [
    ['seed', seed],
    ['requests made of the document', cases.cases],
    ['  answers', counts(cases.statuses)],
    ['  valid, and carried out', `${cases.valid.succeeded} of ${cases.valid.all}`],
    ['sequences', `${sequences.sequences} of ${sequences.requests} requests`],
    ['  acts never taken', idle.join(', ') || 'none'],
    ['violations', violations.length],
    ['seconds', seconds.toFixed(1)],
  ];
  const figures = rows.map(([name, value]) => `${name.padEnd(30)} ${value}`);
  return [...figures, ...violations.slice(0, 20).map((each) => `- ${each}`)].join('\n');
}
