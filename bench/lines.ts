import { availableParallelism } from 'node:os';
import { ratio, spread } from './figures.ts';
import type { Measured, Metric } from './measure.ts';

/** Measurements: for each run of a scenario, the values of each round. */
export interface Result {
  readonly name: string;
  readonly note?: string | undefined;
  readonly metric: Metric;
  readonly runs: readonly { readonly label: string; readonly rounds: readonly Partial<Measured>[] }[];
}

/** A metric of every round; NaN where it was not measured. */
export function values(rounds: readonly Partial<Measured>[], metric: Metric): number[] {
  return rounds.map((round) => round[metric] ?? Number.NaN);
}

interface Line {
  readonly scenario: string;
  /** The runs that are compared, round by round. */
  readonly of: string;
  readonly beside: string;
  readonly metric: Metric;
  /** The quotient, or the difference. */
  readonly as: 'times' | 'added';
  /** Figures are per item, of this many items. */
  readonly per?: readonly [of: number, beside: number];
  readonly limit: number;
  /** Or twice of what this run adds, where that is more: the machine may be too slow for the limit. */
  readonly orTwice?: string;
  /** The limit is a minimum, not a maximum. */
  readonly atLeast?: true;
  /** The least number of cores with which the gateway, not the machine, decides the figure. */
  readonly cores?: number;
}

const bare = (scenario: string, limit: number, of = 'gateway'): Line => ({
  scenario,
  of,
  beside: 'bare',
  metric: 'cpuMicros',
  as: 'times',
  limit,
});
const naive = (scenario: string, limit: number): Line => ({
  scenario,
  of: 'naive Nest, all',
  beside: 'gateway',
  metric: 'cpuMicros',
  as: 'times',
  limit,
  atLeast: true,
});

/** Two gateways, load, platform and Redis, each on a core of its own. */
const CORES_FOR_TWO = 5;

/** The limits that the gateway must meet. */
const lines: readonly Line[] = [
  bare('read 1 KB, past the cache', 2),
  bare('read 1 KB, past the cache, changing', 2.3),
  bare('read 20 KB, past the cache', 1),
  bare('read 20 KB, past the cache, changing', 2),
  bare('read 1 KB, not in the cache', 3.8),
  bare('batch order of 10', 4.5, 'gateway, embedded'),
  bare('batch order of 10', 5),
  bare('cached read 1 KB', 0.9),
  bare('cached read 20 KB', 0.33),
  { ...bare('read 1 KB, past the cache', 1.2), beside: 'nginx + njs' },
  { ...bare('read 20 KB, past the cache', 0.8), beside: 'nginx + njs' },
  naive('read 1 KB, past the cache', 5),
  naive('read 20 KB, past the cache', 5),
  naive('batch order of 10', 4),
  naive('cached read 1 KB', 12),
  naive('cached read 20 KB', 12),
  {
    scenario: 'items of an order',
    of: '1000',
    beside: '10',
    metric: 'cpuMicros',
    as: 'times',
    per: [1_000, 10],
    limit: 0.3,
  },
  { scenario: 'connections', of: '1000', beside: '64', metric: 'cpuMicros', as: 'times', limit: 1.2 },
  {
    scenario: 'two processes, one Redis',
    of: 'two gateways',
    beside: 'gateway',
    metric: 'cpuMicros',
    as: 'times',
    limit: 1.1,
  },
  {
    scenario: 'two processes, one Redis',
    of: 'two gateways',
    beside: 'gateway',
    metric: 'perSecond',
    as: 'times',
    limit: 1.7,
    atLeast: true,
    cores: CORES_FOR_TWO,
  },
  {
    scenario: '500 requests/s',
    of: 'gateway',
    beside: 'direct',
    metric: 'p50Ms',
    as: 'added',
    limit: 0.5,
    orTwice: 'bare',
  },
  {
    scenario: 'memory',
    of: 'gateway',
    beside: 'naive Nest, all',
    metric: 'megabytes',
    as: 'times',
    limit: 0.85,
  },
  { scenario: 'start', of: 'gateway', beside: 'bare Nest', metric: 'startMs', as: 'times', limit: 1.2 },
];

export interface Judged {
  readonly scenario: string;
  readonly what: string;
  readonly limit: string;
  readonly measured: number;
  /** In how many of the rounds the limit holds. */
  readonly rounds: string;
  readonly verdict: 'met' | 'missed' | 'not judged';
}

const WORDS: Record<Metric, string> = {
  cpuMicros: 'CPU',
  redisMicros: 'CPU of Redis',
  perSecond: 'requests/s',
  p50Ms: 'p50',
  p99Ms: 'p99',
  megabytes: 'resident memory',
  startMs: 'time',
  refused: 'refused',
};

/** Compares the measurements with the limits of their scenarios. */
export function judge(results: readonly Result[]): Judged[] {
  return lines.flatMap((line) => {
    const result = results.find(({ name }) => name === line.scenario);
    const [of, beside] = [line.of, line.beside].map(
      (label) => result?.runs.find((run) => run.label === label)?.rounds,
    );
    if (!of || !beside) return [];
    const [perOf, perBeside] = line.per ?? [1, 1];
    const own = values(of, line.metric).map((value) => value / perOf);
    const other = values(beside, line.metric).map((value) => value / perBeside);
    const added = own.map((value, round) => value - (other[round] ?? Number.NaN));
    const each =
      line.as === 'times' ? own.map((value, round) => value / (other[round] ?? Number.NaN)) : added;
    const measured = (line.as === 'times' ? ratio(own, other) : spread(added)).median;
    const third = result?.runs.find(({ label }) => label === line.orTwice)?.rounds;
    const twice = third && 2 * (spread(values(third, line.metric)).median - spread(other).median);
    const limit = Math.max(line.limit, twice ?? 0);
    const isWithin = (value: number) => (line.atLeast ? value >= limit : value <= limit);
    const holds = isWithin(measured);
    const judged = availableParallelism() >= (line.cores ?? 1);
    return [
      {
        scenario: line.scenario,
        what: `${WORDS[line.metric]}${line.per ? ' per item' : ''}, ${line.of} ${line.as === 'times' ? '÷' : '−'} ${line.beside}`,
        limit: `${line.atLeast ? '≥' : '≤'} ${Number(limit.toFixed(2))}${line.as === 'added' ? ' ms' : ''}`,
        measured,
        rounds: `${each.filter(isWithin).length} of ${each.length}`,
        verdict: judged ? (holds ? 'met' : 'missed') : 'not judged',
      },
    ];
  });
}
