import { fileURLToPath } from 'node:url';
import { relative } from 'node:path';
import { Fleet } from '../test/support/fleet.ts';
import type { GatewayProcess } from '../test/support/gateway-process.ts';
import { orderOf } from '../test/support/order-body.ts';
import { until } from '../test/support/redis.ts';
import { TestSandbox } from '../test/support/sandbox.ts';

/**
 * Which files of `src` one request runs, by V8's coverage of a warm process: `npm run profile -- --files`. A file counts where a function of
 * it ran in each of {@link TIMES} equal requests, so that timers in the background do not count.
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

/** What one request is, and the line of the log that ends it. */
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
    const gateway = await fleet.launch(
      { CACHE_TTL_MS: '60000' },
      { file: `${DIST}main.js`, nodeOptions: '--inspect=127.0.0.1:0' },
    );
    const coverage = await Coverage.of(gateway);
    for (const way of ways) {
      const files = await filesOf(way, gateway, fleet.key, coverage);
      process.stdout.write(
        `${way.name}: ${files.length} files\n${files.map((file) => `  ${file}\n`).join('')}\n`,
      );
    }
    coverage.close();
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
    // The first one warms up.
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

/** V8's precise coverage of a process, by function, over its inspector. */
class Coverage {
  readonly #socket: WebSocket;
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async of(gateway: GatewayProcess): Promise<Coverage> {
    const url = /ws:\/\/\S+/.exec(gateway.output())?.[0];
    if (url === undefined) throw new Error('the process has no inspector');
    const socket = new WebSocket(url);
    await new Promise((opened) => socket.addEventListener('open', opened, { once: true }));
    const coverage = new Coverage(socket);
    await coverage.#call('Profiler.enable');
    await coverage.#call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    return coverage;
  }

  /** The files of `src` that ran since the last call. */
  async taken(): Promise<Set<string>> {
    const { result } = (await this.#call('Profiler.takePreciseCoverage')) as Covered;
    return new Set(
      result
        .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
        .filter(({ url }) => url.startsWith('file:'))
        .map(({ url }) => relative(DIST, fileURLToPath(url)).replace(/\.js$/, '.ts'))
        .filter((file) => !file.startsWith('..')),
    );
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      const listen = ({ data }: MessageEvent): void => {
        const message = JSON.parse(String(data)) as {
          id?: number;
          result?: unknown;
          error?: { message: string };
        };
        if (message.id !== id) return;
        this.#socket.removeEventListener('message', listen);
        if (message.error) reject(new Error(message.error.message));
        else resolve(message.result);
      };
      this.#socket.addEventListener('message', listen);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }
}
