import { availableParallelism } from 'node:os';
import { spread } from './figures.ts';
import type { Measured, Metric } from './measure.ts';
import type { Scenario } from './scenarios.ts';

/** Measurements: for each run of a scenario, the values of each round. */
export interface Result {
  readonly scenario: Scenario;
  readonly runs: readonly { readonly label: string; readonly rounds: readonly Partial<Measured>[] }[];
}

/** Returns a metric of every round. NaN if it was not measured. */
export function values(rounds: readonly Partial<Measured>[], metric: Metric): number[] {
  return rounds.map((round) => round[metric] ?? Number.NaN);
}

export interface Judged {
  readonly scenario: string;
  readonly what: string;
  readonly limit: string;
  readonly measured: number;
  /** The number of rounds in which the limit holds. */
  readonly rounds: string;
  readonly verdict: 'met' | 'missed' | 'not judged';
}

const WORDS: Record<Metric, string> = {
  cpuMicros: 'CPU',
  serverMicros: 'CPU of PostgreSQL and Redis',
  perSecond: 'requests/s',
  p50Ms: 'p50',
  p99Ms: 'p99',
  megabytes: 'resident memory',
  startMs: 'time',
  refused: 'refused',
};

/** Compares the measurements of a scenario with its limits. */
export function judge({ scenario, runs }: Result): Judged[] {
  const roundsOf = (label: string | undefined) => runs.find((run) => run.label === label)?.rounds;
  return scenario.lines.flatMap((line) => {
    const { metric = scenario.metric, per: [perOf, perBeside] = [1, 1] } = line;
    const [of, beside, third] = [line.of, line.beside, line.orTwice].map(roundsOf);
    if (!of || !beside) return [];
    const own = values(of, metric).map((value) => value / perOf);
    const other = values(beside, metric).map((value) => value / perBeside);
    const compared = own.map((value, round) => {
      const besideIt = other[round] ?? Number.NaN;
      return line.added ? value - besideIt : value / besideIt;
    });
    const twice = third && 2 * (spread(values(third, metric)).median - spread(other).median);
    const limit = Math.max(line.limit, twice ?? 0);
    const isWithin = (value: number) => (line.atLeast ? value >= limit : value <= limit);
    const measured = spread(compared).median;
    const isJudged = availableParallelism() >= (line.cores ?? 1);
    return [
      {
        scenario: scenario.name,
        what: `${WORDS[metric]}${line.per ? ' per item' : ''}, ${line.of} ${line.added ? '−' : '÷'} ${line.beside}`,
        limit: `${line.atLeast ? '≥' : '≤'} ${Number(limit.toFixed(2))}${line.added ? ' ms' : ''}`,
        measured,
        rounds: `${compared.filter(isWithin).length} of ${compared.length}`,
        verdict: isJudged ? (isWithin(measured) ? 'met' : 'missed') : 'not judged',
      },
    ];
  });
}
