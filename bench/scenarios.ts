import type { ContenderName } from './contenders.ts';
import type { Metric } from './measure.ts';
import { hasNginx } from './nginx.ts';
import type { Task } from './tasks.ts';

/** One contender in a scenario. */
export interface Run {
  readonly label: string;
  readonly contender: ContenderName;
  readonly task: Task;
  readonly connections: number;
  readonly rate?: number;
}

interface ScenarioBase {
  readonly name: string;
  /** What the scenario compares. */
  readonly metric: Metric;
  /** A sentence for the report, beside its figures. */
  readonly note?: string;
}

/** Its runs are measured in turns. */
export interface LoadScenario extends ScenarioBase {
  readonly kind: 'load';
  readonly runs: readonly Run[];
  /** On processes that have done no other work. */
  readonly fresh?: true;
}

export interface StartScenario extends ScenarioBase {
  readonly kind: 'start';
}

export type Scenario = LoadScenario | StartScenario;

const KB = 1_024;
const CONNECTIONS = 64;
const read = (kilobytes: number, how: 'fresh' | 'miss' | 'cached', changing = false): Task => ({
  kind: 'read',
  bytes: kilobytes * KB,
  how,
  changing,
});
const order = (items: number): Task => ({ kind: 'order', items });

function run(contender: ContenderName, task: Task, more: Partial<Run> = {}): Run {
  return { label: contender, contender, task, connections: CONNECTIONS, ...more };
}
const runs = (task: Task, ...names: ContenderName[]) => names.map((name) => run(name, task));

const PEERS = ['naive Nest', 'naive Nest, all', '@fastify/http-proxy'] as const;
const NGINX: readonly ContenderName[] = hasNginx ? ['nginx + njs'] : [];

/** The bench compares the others with the first run of each. */
const scenarios: readonly Scenario[] = [
  {
    name: 'read 1 KB, past the cache',
    kind: 'load',
    metric: 'cpuMicros',
    note: 'Cache-Control: no-cache, so every request goes to the platform and refreshes the cache',
    runs: runs(read(1, 'fresh'), 'bare', 'gateway', ...PEERS, ...NGINX),
  },
  {
    name: 'read 1 KB, past the cache, changing',
    kind: 'load',
    metric: 'cpuMicros',
    note: 'each answer of the platform differs from the last',
    runs: runs(read(1, 'fresh', true), 'bare', 'gateway', ...NGINX),
  },
  {
    name: 'read 20 KB, past the cache',
    kind: 'load',
    metric: 'cpuMicros',
    runs: runs(read(20, 'fresh'), 'bare', 'gateway', ...PEERS, ...NGINX),
  },
  {
    name: 'read 20 KB, past the cache, changing',
    kind: 'load',
    metric: 'cpuMicros',
    runs: runs(read(20, 'fresh', true), 'bare', 'gateway', ...NGINX),
  },
  {
    name: 'read 1 KB, not in the cache',
    kind: 'load',
    metric: 'cpuMicros',
    note: 'another query every time: looked for in both levels of the cache, asked for, kept',
    runs: runs(read(1, 'miss'), 'bare', 'gateway'),
  },
  {
    name: 'cached read 1 KB',
    kind: 'load',
    metric: 'cpuMicros',
    note: 'the others have no cache',
    runs: runs(read(1, 'cached'), 'bare', 'gateway', 'naive Nest, all'),
  },
  {
    name: 'cached read 20 KB',
    kind: 'load',
    metric: 'cpuMicros',
    runs: runs(read(20, 'cached'), 'bare', 'gateway', 'naive Nest, all'),
  },
  {
    name: 'items of an order',
    kind: 'load',
    metric: 'cpuMicros',
    note: 'the order ledger in the process, since Redis would favour the large ones; one at a time, since 64 of 1,000 items would be 50 MB under way',
    runs: [10, 100, 1_000].map((items) =>
      run('gateway, embedded', order(items), { label: `${items}`, connections: 1 }),
    ),
  },
  {
    name: 'batch order of 10',
    kind: 'load',
    metric: 'cpuMicros',
    note: 'about 8 KB; embedded: the order ledger in the process instead of in Redis',
    runs: runs(order(10), 'bare', 'gateway', 'gateway, embedded', ...PEERS),
  },
  {
    name: 'connections',
    kind: 'load',
    metric: 'cpuMicros',
    runs: [1, 10, 64, 1_000].map((connections) =>
      run('gateway', read(1, 'miss'), { label: `${connections}`, connections }),
    ),
  },
  {
    name: 'two processes, one Redis',
    kind: 'load',
    metric: 'cpuMicros',
    fresh: true,
    note: 'as many connections in all; requests/s count where load, platform and Redis have cores of their own',
    runs: (['gateway', 'two gateways'] as const).map((name) =>
      run(name, read(1, 'miss'), { connections: 2 * CONNECTIONS }),
    ),
  },
  {
    name: '500 requests/s',
    kind: 'load',
    metric: 'p50Ms',
    note: 'read 1 KB, past the cache, at a fixed rate',
    runs: (['direct', 'gateway', 'bare', 'naive Nest, all'] as const).map((name) =>
      run(name, read(1, 'fresh'), { rate: 500 }),
    ),
  },
  {
    name: 'memory',
    kind: 'load',
    metric: 'megabytes',
    fresh: true,
    note: 'resident after reads of 20 KB past the cache, in processes that have done nothing else',
    runs: runs(read(20, 'fresh'), 'naive Nest, all', 'gateway'),
  },
  {
    name: 'start',
    kind: 'start',
    metric: 'startMs',
    note: 'to the first 200: of a read, token included; of a route without a platform',
  },
];

/** Those whose names have all of these words. */
export function named(words: string): Scenario[] {
  const wanted = words.toLowerCase().split(/\s+/);
  return scenarios.filter(({ name }) => wanted.every((word) => name.toLowerCase().includes(word)));
}

/** The first run of this contender under load in the scenarios of these words. */
export function loadRun(words: string, contender: string): Run | undefined {
  return named(words)
    .flatMap((scenario) => (scenario.kind === 'load' ? scenario.runs : []))
    .find((each) => each.contender === contender);
}
