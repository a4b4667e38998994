import { fileURLToPath } from 'node:url';
import { relative } from 'node:path';
import { Fleet } from '../test/support/fleet.ts';
import type { GatewayProcess } from '../test/support/gateway-process.ts';
import { orderOf } from '../test/support/order-body.ts';
import { freePort, until } from '../test/support/redis.ts';
import { TestSandbox } from '../test/support/sandbox.ts';
import { Inspector } from './inspector.ts';

/**
 * Prints the files of `src` that one request runs, by V8's coverage of a warm process: `npm run profile -- --files`. A file counts if a
 * function of it ran in each of {@link TIMES} equal requests, so that timers in the background do not count.
 */

const TIMES = 3;
const DIST = fileURLToPath(new URL('../dist/', import.meta.url));
const ENTERPRISE = '/v1/enterprises/ent-harbour';

interface Covered {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

/** A kind of request, and the line of the log that ends it. */
interface Way {
  readonly name: string;
  readonly path: (index: number) => string;
  readonly init?: (index: number) => RequestInit;
  readonly ends: string;
}

const ways: readonly Way[] = [
  { name: 'cached read', path: () => `${ENTERPRISE}/assets`, ends: 'request' },
  { name: 'miss', path: (index) => `${ENTERPRISE}/assets?extendCode=miss-${index}`, ends: 'request' },
  {
    name: 'order',
    path: () => '/v1/license-orders',
    init: (index) => ({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(orderOf(`files-${index}`)),
    }),
    ends: 'request',
  },
  {
    name: 'import of one row',
    path: () => `${ENTERPRISE}/member-imports`,
    init: (index) => ({
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body: `account,name,password\nfiles${index},Row,aPassw0rd${index}\n`,
    }),
    ends: 'job-ended',
  },
];

/** Prints the number of files of each way, and the files. */
export async function showFilesRun(): Promise<void> {
  const sandbox = await TestSandbox.start();
  const fleet = await Fleet.start(sandbox, 0);
  try {
    const port = await freePort();
    const gateway = await fleet.launch(
      { CACHE_TTL_MS: '60000' },
      { file: `${DIST}main.js`, nodeOptions: `--inspect=127.0.0.1:${port}` },
    );
    const inspector = await Inspector.of(port);
    const coverage = await Coverage.of(inspector);
    for (const way of ways) {
      const files = await filesOf(way, gateway, fleet.key, coverage);
      process.stdout.write(
        `${way.name}: ${files.length} files\n${files.map((file) => `  ${file}\n`).join('')}\n`,
      );
    }
    inspector.close();
  } finally {
    await fleet.stop();
    await sandbox.close();
  }
}

async function filesOf(
  way: Way,
  gateway: GatewayProcess,
  key: string,
  coverage: Coverage,
): Promise<string[]> {
  let common: Set<string> | undefined;
  for (let index = 0; index <= TIMES; index++) {
    await coverage.taken();
    await send(way, index, gateway, key);
    const ran = await coverage.taken();
    // The first request warms up.
    if (index > 0) common = common?.intersection(ran) ?? ran;
  }
  return [...(common ?? [])].sort();
}

async function send(way: Way, index: number, gateway: GatewayProcess, key: string): Promise<void> {
  const { headers, ...init } = way.init?.(index) ?? {};
  const before = lines(gateway, way.ends);
  const response = await fetch(gateway.url + way.path(index), {
    ...init,
    headers: { ...(headers as Record<string, string> | undefined), 'x-api-key': key },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${way.name}: ${response.status} ${text}`);
  await until(`the gateway logs ${way.ends}`, () => lines(gateway, way.ends) > before);
}

function lines(gateway: GatewayProcess, event: string): number {
  return gateway.output().split(`"event":"${event}"`).length - 1;
}

/** V8's precise coverage of a process, by function. */
class Coverage {
  readonly #inspector: Inspector;

  private constructor(inspector: Inspector) {
    this.#inspector = inspector;
  }

  static async of(inspector: Inspector): Promise<Coverage> {
    await inspector.call('Profiler.enable');
    await inspector.call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    return new Coverage(inspector);
  }

  /** Returns the files of `src` that ran since the last call. */
  async taken(): Promise<Set<string>> {
    const { result } = (await this.#inspector.call('Profiler.takePreciseCoverage')) as Covered;
    return new Set(
      result
        .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
        .filter(({ url }) => url.startsWith('file:'))
        .map(({ url }) => relative(DIST, fileURLToPath(url)).replace(/\.js$/, '.ts'))
        .filter((file) => !file.startsWith('..')),
    );
  }
}
