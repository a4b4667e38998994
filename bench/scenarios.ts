import type { ContenderName } from './contenders.ts';
import type { Metric } from './measure.ts';
import { hasContainers } from '../test/support/container.ts';
import type { Extent } from './extent.ts';
import { hasNginx } from './nginx.ts';
import type { Task } from './tasks.ts';

/** One contender in a scenario. */
export interface Run {
  readonly label: string;
  readonly contender: ContenderName;
  readonly task: Task;
  readonly connections: number;
  readonly rate?: number;
  /** The load of other callers at the same time, at a fixed rate. */
  readonly beside?: { readonly task: Task; readonly rate: number };
}

/** A limit that the gateway must meet, for the figure of one run in relation to that of another, round by round. */
export interface Line {
  readonly of: string;
  readonly beside: string;
  /** A metric that differs from the scenario's. */
  readonly metric?: Metric;
  /** True if the limit concerns the difference, not the quotient. */
  readonly added?: true;
  /** The numbers of items by which figures are divided. */
  readonly per?: readonly [of: number, beside: number];
  readonly limit: number;
  /** A run whose doubled addition is allowed, if that is more than the limit: the machine may be too slow for the limit. */
  readonly orTwice?: string;
  /** True if the limit is a minimum, not a maximum. */
  readonly atLeast?: true;
  /** The least number of cores with which the gateway, not the machine, decides the figure. */
  readonly cores?: number;
}

export interface Scenario {
  readonly name: string;
  /** The metric that the scenario compares. */
  readonly metric: Metric;
  /** A sentence for the report, next to its figures. */
  readonly note?: string;
  /** The runs, measured in turns and compared with the first one. Without runs, the scenario measures starts. */
  readonly runs: readonly Run[];
  /** True if the processes must have done no other work, and no other processes may run. */
  readonly fresh?: true;
  /** The extent, if it differs from the usual one. */
  readonly extent?: Partial<Extent>;
  readonly lines: readonly Line[];
}

const KB = 1_024;
const CONNECTIONS = 64;
const order = (items: number): Task => ({ kind: 'order', items });
type How = 'fresh' | 'miss' | 'cached';
type More = { readonly changing?: boolean; readonly what?: 'assets' | 'members' };
const read = (kilobytes: number, how: How, { changing = false, what = 'assets' }: More = {}): Task => ({
  kind: 'read',
  what,
  bytes: kilobytes * KB,
  how,
  changing,
});
const MEMBERS: More = { what: 'members' };
const CHANGING = { changing: true };
const run = (contender: ContenderName, task: Task, more: Partial<Run> = {}): Run => ({
  ...{ label: contender, contender, task, connections: CONNECTIONS },
  ...more,
});
const runs = (task: Task, ...names: ContenderName[]) => names.map((name) => run(name, task));
const line = (limit: number, beside: string, of = 'gateway'): Line => ({ of, beside, limit });
const naive = (limit: number): Line => ({ ...line(limit, 'gateway', 'naive Nest, all'), atLeast: true });

const PEERS = ['naive Nest', 'naive Nest, all'] as const;
const NGINX: readonly ContenderName[] = hasNginx ? ['nginx + njs'] : [];
/** The cores for two gateways, load, platform and servers, one for each. */
const CORES_FOR_TWO = 5;

const scenarios: readonly Scenario[] = [
  {
    name: 'read 1 KB, past the cache, changing',
    metric: 'cpuMicros',
    note: 'Cache-Control: no-cache, so every request goes to the platform and refreshes the cache; each connection has a key of its own, and each item of each answer is new',
    runs: runs(read(1, 'fresh', CHANGING), 'bare', 'gateway', 'floor', ...PEERS, ...NGINX),
    lines: [line(1.5, 'floor'), naive(3.5)],
  },
  {
    name: 'read 1 KB, past the cache, unchanged',
    metric: 'cpuMicros',
    note: 'the platform gives the same answer each time: judges nothing against peers',
    runs: runs(read(1, 'fresh'), 'bare', 'gateway', 'floor', ...PEERS),
    lines: [line(1.5, 'floor')],
  },
  {
    name: 'read 20 KB, past the cache, changing',
    metric: 'cpuMicros',
    runs: runs(read(20, 'fresh', CHANGING), 'bare', 'gateway', 'floor', ...PEERS),
    lines: [line(1.3, 'floor'), naive(3.5)],
  },
  {
    name: 'read 20 KB, past the cache, unchanged',
    metric: 'cpuMicros',
    runs: runs(read(20, 'fresh'), 'bare', 'gateway', 'floor', ...PEERS),
    lines: [],
  },
  {
    name: 'read 1 KB, not in the cache',
    metric: 'cpuMicros',
    note: 'another query every time: looked for in both levels of the cache, asked for, kept; each item of each answer is new',
    runs: runs(read(1, 'miss', CHANGING), 'bare', 'gateway', 'floor'),
    lines: [line(1.5, 'floor')],
  },
  {
    name: 'cached read 1 KB',
    metric: 'cpuMicros',
    note: 'bare and naive Nest have no cache',
    runs: runs(read(1, 'cached'), 'bare', 'gateway', 'floor', 'naive Nest, all'),
    lines: [line(1.5, 'floor'), naive(14)],
  },
  {
    name: 'cached read 20 KB',
    metric: 'cpuMicros',
    runs: runs(read(20, 'cached'), 'bare', 'gateway', 'floor', 'naive Nest, all'),
    lines: [line(1.5, 'floor'), naive(14)],
  },
  {
    name: 'cached read of members 1 KB',
    metric: 'cpuMicros',
    note: 'a user of the platform reads',
    runs: runs(read(1, 'cached', MEMBERS), 'bare', 'gateway'),
    lines: [],
  },
  {
    name: 'cached read of members 20 KB',
    metric: 'cpuMicros',
    runs: runs(read(20, 'cached', MEMBERS), 'bare', 'gateway'),
    lines: [],
  },
  {
    name: 'batch order of 10',
    metric: 'cpuMicros',
    note: 'about 8 KB; with PostgreSQL and Redis, with a file of SQLite, and in memory; files are on a disk',
    runs: runs(order(10), 'bare', 'gateway', 'floor', 'gateway, file', 'gateway, in memory', ...PEERS),
    lines: [
      line(1.4, 'floor'),
      naive(4),
      line(4.2, 'bare'),
      line(4.2, 'bare', 'gateway, file'),
      line(4, 'bare', 'gateway, in memory'),
    ],
  },
  {
    name: 'cached reads beside 200 orders/s',
    metric: 'p99Ms',
    note: 'reads 1 KB of other callers, 500/s; each order drops what is cached, so the first run has the orders too',
    runs: (['gateway, in memory', 'gateway, file'] as const).map((name) =>
      run(name, read(1, 'cached'), { rate: 500, beside: { task: order(1), rate: 200 } }),
    ),
    lines: [line(1.3, 'gateway, in memory', 'gateway, file')],
  },
  // This scenario follows the batches of 10: a database in memory keeps its orders, and orders of 1,000 items fill it.
  {
    name: 'items of an order',
    metric: 'cpuMicros',
    note: 'in memory, since a commit would favour the large ones; one at a time, since 64 of 1,000 items would be 50 MB under way',
    runs: [10, 100, 1_000].map((items) =>
      run('gateway, in memory', order(items), { label: `${items}`, connections: 1 }),
    ),
    lines: [{ ...line(0.3, '10', '1000'), per: [1_000, 10] }],
  },
  {
    name: 'watched orders',
    metric: 'cpuMicros',
    note: 'batches of 10, where 20 webhooks and 5 streams wait for other events',
    runs: runs(order(10), 'gateway', 'gateway, watched'),
    lines: [line(1.05, 'gateway', 'gateway, watched')],
  },
  {
    name: 'connections',
    metric: 'cpuMicros',
    note: 'cached reads: what a request costs where many connections are open',
    runs: [
      ...[1, 10, 64, 1_000, 2_400].map((connections) =>
        run('gateway', read(1, 'cached'), { label: `${connections}`, connections }),
      ),
      ...[64, 1_000, 2_400].map((connections) =>
        run('floor', read(1, 'cached'), { label: `floor, ${connections}`, connections }),
      ),
    ],
    lines: [line(1.2, '64', '1000'), line(1.5, '64', '2400')],
  },
  {
    name: 'two processes, one PostgreSQL and Redis',
    metric: 'cpuMicros',
    fresh: true,
    note: 'as many connections in all; requests/s count where load, platform and servers have cores of their own',
    runs: (['gateway', 'two gateways'] as const).map((name) =>
      run(name, read(1, 'miss', CHANGING), { connections: 2 * CONNECTIONS }),
    ),
    lines: [
      line(1.1, 'gateway', 'two gateways'),
      {
        ...line(1.7, 'gateway', 'two gateways'),
        metric: 'perSecond',
        atLeast: true,
        cores: CORES_FOR_TWO,
      },
    ],
  },
  ...([500, 20] as const).map((rate): Scenario => ({
    name: `${rate} requests/s`,
    metric: 'p50Ms',
    note: 'read 1 KB, past the cache, at a fixed rate',
    // Enough requests for a median.
    ...(rate === 20 && { extent: { seconds: 5 } }),
    runs: (['direct', 'gateway', 'bare', 'naive Nest, all'] as const).map((name) =>
      run(name, read(1, 'fresh', CHANGING), { rate }),
    ),
    lines: [{ ...line(rate === 20 ? 1.2 : 0.5, 'direct'), added: true, orTwice: 'bare' }],
  })),
  {
    name: 'memory',
    metric: 'megabytes',
    fresh: true,
    note: 'resident under reads of 20 KB past the cache, in processes that have done nothing else, with the same space for young objects',
    runs: runs(read(20, 'fresh', CHANGING), 'naive Nest, young 16', 'gateway, young 16'),
    lines: [line(1, 'naive Nest, young 16', 'gateway, young 16')],
  },
  ...(hasContainers ? (['512 MiB', '2 GiB'] as const) : []).map((memory): Scenario => ({
    name: `a container of ${memory}`,
    metric: 'megabytes',
    fresh: true,
    extent: { rounds: 1, seconds: 60, processes: 1 },
    note: 'resident after one and two minutes of full load, reads of 20 KB past the cache; a process that ends is a wrong answer',
    runs: ['one minute', 'two minutes'].map((label) =>
      run(`gateway, ${memory}`, read(20, 'fresh', CHANGING), { label }),
    ),
    lines: [line(1.1, 'one minute', 'two minutes')],
  })),
  {
    name: 'start',
    metric: 'startMs',
    note: 'to the first 200: of a read, token included; of a route without a platform',
    runs: [],
    lines: [line(2, 'bare Nest')],
  },
];

/** Returns the scenarios whose names have all of these words. */
export function named(words: string): Scenario[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return scenarios.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)));
}

/** Returns the work of a scenario for this gateway and for that of another commit. Undefined if the scenario compares something else. */
export function besideBefore(scenario: Scenario, limit: number): Scenario | undefined {
  const own = scenario.runs.filter(({ contender }) => contender === 'gateway');
  const [only, second] = own;
  if (scenario.runs.length > 0 && (!only || second || only.rate !== undefined)) return undefined;
  const rivals = only ? runs(only.task, 'gateway, before', 'gateway') : [];
  const servers: Line = { ...line(1, 'gateway, before'), metric: 'serverMicros' };
  const lines = [line(limit, 'gateway, before'), ...(only?.task.kind === 'order' ? [servers] : [])];
  return { ...scenario, runs: rivals, lines };
}
