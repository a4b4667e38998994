import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { keptFolder } from './canary.ts';
import { areTestsOver, beginWait } from './told.ts';

/** Real Redis servers: a single one, a master with a sentinel, a cluster. Each has a folder of its own and ends with `stop`. */

export interface RunningRedis {
  readonly url: string;
  readonly port: number;
  readonly folder: string;
  readonly process: ChildProcess;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
  /** Kills it, as in a crash. */
  kill9(): Promise<void>;
  /** Stops the server, which keeps its connections and its memory, and sends no reply until `thaw`. */
  freeze(): void;
  thaw(): void;
}

const READY = 'Ready to accept connections';
/** The options with which a server writes its content in plain text when it ends, for the leak scan. */
const TELLING = ['--shutdown-on-sigterm', 'save', 'now', 'force', '--rdbcompression', 'no'];
const END_MS = 5_000;
/** Linux keeps the files of this folder in memory. */
const IN_MEMORY = '/dev/shm';
/** All servers of a run together need less. */
const ROOM_BYTES = 1024 ** 3;

/**
 * A new folder for a server's files, in memory where the machine has room for it: beside other work, a disk may take longer for one
 * write than a gateway waits for a command.
 */
export function serverFolder(prefix: string): string {
  return mkdtempSync(join(hasRoomInMemory() ? IN_MEMORY : tmpdir(), prefix));
}

function hasRoomInMemory(): boolean {
  if (!existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize > ROOM_BYTES;
}

/**
 * A redis-server on a free port; `args` are further settings such as `--maxmemory 1mb`, and override the defaults here. `ready` is the
 * output line to wait for, if it is not the one that says that it accepts clients. `environment` is added to its own (a clock, see
 * clock-shim.ts).
 */
export async function startRedis(
  args: readonly string[] = [],
  ready = READY,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningRedis> {
  const dataFolder = args.includes('--dir') ? args[args.lastIndexOf('--dir') + 1] : undefined;
  // A folder that is given outlives the server.
  const own = dataFolder === undefined ? serverFolder('redis-test-') : undefined;
  const folder = own ?? String(dataFolder);
  const given = args.lastIndexOf('--port');
  const port = given < 0 ? await freePort() : Number(args[given + 1]);
  const child = await startServer(
    [
      ...['--port', String(port), '--dir', folder, '--save', '', '--repl-diskless-sync-delay', '0'],
      ...TELLING,
      ...args,
    ],
    ready,
    environment,
  ).catch((error: unknown) => {
    if (own !== undefined) rmSync(own, { recursive: true, force: true });
    // Another process took the port first.
    if (given < 0) return undefined;
    throw error;
  });
  if (!child) return startRedis(['--port', String(await freePort()), ...args], ready, environment);
  return running(child, port, folder, own ?? null);
}

export interface RunningSentinel {
  /** Names a missing sentinel too, first. */
  readonly url: string;
  readonly master: RunningRedis;
  readonly replica: RunningRedis;
  stop(): Promise<void>;
}

/** A master, a replica, and a sentinel that promotes it about a second after the master has gone. */
export async function startSentinel(): Promise<RunningSentinel> {
  const master = await startRedis();
  const replica = await startRedis(['--replicaof', '127.0.0.1', String(master.port)]);
  const folder = serverFolder('redis-test-');
  const port = await freePort();
  const file = join(folder, 'sentinel.conf');
  const settings = [
    `port ${port}`,
    `dir ${folder}`,
    `sentinel monitor main 127.0.0.1 ${master.port} 1`,
    'sentinel down-after-milliseconds main 1000',
    'sentinel failover-timeout main 10000',
  ];
  await until('the replica follows', async () => {
    return (await ask(replica, (client) => client.info('replication'))).includes('master_link_status:up');
  });
  writeFileSync(file, settings.join('\n'));
  const child = await startServer([file, '--sentinel'], '+monitor');
  const sentinel = running(child, port, folder);
  await until('the sentinel knows the replica', async () => {
    const replicas = await ask(sentinel, (client) => client.call('SENTINEL', 'REPLICAS', 'main'));
    return JSON.stringify(replicas).includes('"master-link-status","ok"');
  });
  return {
    url: `redis-sentinel://127.0.0.1:1,127.0.0.1:${port}?sentinelMasterId=main`,
    master,
    replica,
    stop: async () => {
      await Promise.all([sentinel, replica, master].map((server) => server.stop()));
    },
  };
}

export interface RunningCluster {
  readonly url: string;
  /** Three masters with a third of the slots each, then their replicas in the same order. */
  readonly nodes: readonly RunningRedis[];
  stop(): Promise<void>;
}

/** Three masters with one replica each, which takes over a few seconds after its master has gone. */
export async function startCluster(): Promise<RunningCluster> {
  const start = async () => {
    const bus = String(await freePort());
    const node = await startRedis([
      ...['--cluster-enabled', 'yes', '--cluster-port', bus, '--cluster-node-timeout', '2000'],
      ...['--cluster-replica-validity-factor', '0', '--cluster-allow-replica-migration', 'no'],
    ]);
    return { node, bus };
  };
  const started = await Promise.all(Array.from({ length: 6 }, start));
  const nodes = started.map(({ node }) => node);
  const [first, ...rest] = started;
  if (!first) throw new Error('no node');
  for (const [index, node] of nodes.entries()) {
    await ask(node, async (client) => {
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
      const from = Math.ceil((16_384 * index) / 3);
      const to = Math.ceil((16_384 * (index + 1)) / 3) - 1;
      if (index < 3) await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to));
    });
  }
  await ask(first.node, async (client) => {
    for (const { node, bus } of rest)
      await client.call('CLUSTER', 'MEET', '127.0.0.1', String(node.port), bus);
  });
  const info = (node: RunningRedis) =>
    ask(node, (client) => client.call('CLUSTER', 'INFO')) as Promise<string>;
  await until('the nodes know each other', async () => {
    const all = await Promise.all(nodes.map(info));
    return all.every((text) => text.includes('known_nodes:6') && text.includes('cluster_state:ok'));
  });
  for (const [index, node] of nodes.slice(3).entries()) {
    const master = nodes[index];
    if (!master) throw new Error('no master');
    const id = (await ask(master, (client) => client.call('CLUSTER', 'MYID'))) as string;
    await ask(node, (client) => client.call('CLUSTER', 'REPLICATE', id));
  }
  await until('the replicas follow', async () => {
    const all = await Promise.all(
      nodes.slice(3).map((node) => ask(node, (client) => client.info('replication'))),
    );
    return all.every((text) => text.includes('master_link_status:up'));
  });
  return {
    url: `redis-cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}`,
    nodes,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

/** Runs commands on a connection of their own. */
export async function ask<T>({ url }: { url: string }, commands: (client: Redis) => Promise<T>): Promise<T> {
  // Loaded for the first command, since most suites that import this file send none.
  const ioredis = await import('ioredis');
  const client = new ioredis.Redis(url, { retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined);
  try {
    return await commands(client);
  } finally {
    client.disconnect();
  }
}

/**
 * Tells each command that this server executes from now on, as `MONITOR` writes it, until the function that it gives is called. Not by
 * ioredis, which breaks where a command of another connection comes before the reply to `MONITOR`.
 */
export async function watchCommands(
  { port }: { port: number },
  tell: (line: string) => void,
): Promise<() => void> {
  const socket = connect(port, '127.0.0.1');
  const lines = createInterface({ input: socket });
  socket.write('MONITOR\r\n');
  await once(lines, 'line');
  lines.on('line', tell);
  return () => socket.destroy();
}

/** A wait that lasts longer is printed, and is printed again each time that it has lasted so long. */
const REMARKABLE_MS = 60_000;

/**
 * Waits until the condition holds. An error counts as not yet. The wait has no clock of its own, because a slow machine needs any time: it
 * ends with the test. A test that fails names its waits.
 */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const endWait = beginWait(what);
  const beganAt = performance.now();
  try {
    for (let printAt = beganAt + REMARKABLE_MS; ;) {
      if (await Promise.resolve(isSo()).catch(() => false)) return;
      if (areTestsOver()) throw new Error(`the tests were over before ${what}`);
      if (performance.now() > printAt) {
        process.stderr.write(`still waiting until ${what}\n`);
        printAt += REMARKABLE_MS;
      }
      await pauseOf(beganAt);
    }
  } finally {
    endWait();
  }
}

const MIN_PAUSE_MS = 25;
const MAX_PAUSE_MS = 100;

/** Waits before the next look: a tenth of the time so far, because each look costs processor time that other suites need. */
function pauseOf(beganAt: number): Promise<void> {
  const tenth = (performance.now() - beganAt) / 10;
  return wait(Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, tenth)));
}

/** The time for which a test waits for something whose absence it reports as its finding. */
const ABSENT_MS = 300_000;

/** Resolves to whether the condition holds at last, for a test that has more to say than what it waited for. */
export async function comesTrue(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  const beganAt = performance.now();
  while (!(await Promise.resolve(isSo()).catch(() => false))) {
    if (performance.now() > beganAt + ABSENT_MS) return false;
    await pauseOf(beganAt);
  }
  return true;
}

/** The system gives these to no outgoing connection, so that a server that is started again on its port finds it free. */
const FIRST_PORT = 12_000;
const LAST_PORT = 32_000;
/** Each of Jest's workers has every sixteenth port for itself: it takes no port that another one will listen on in a moment, or again. */
const STRIDE = 16;
const WORKER = Number(process.env['JEST_WORKER_ID'] ?? 0) % STRIDE;
const given = new Set<number>();

/** A port on which no process listens, and which this process was not given before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT / STRIDE, LAST_PORT / STRIDE) * STRIDE + WORKER;
    if (given.has(port)) continue;
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    given.add(port);
    return port;
  }
}

/** Resolves once it has printed a line that contains `ready`. */
async function startServer(
  args: readonly string[],
  ready: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> {
  const child = spawn('redis-server', args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let last = '';
  child.stderr.on('data', (chunk: Buffer) => (last = chunk.toString()));
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}: ${last}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      last = line;
      if (line.includes(ready)) resolve();
    });
  });
  return child;
}

/** `folder` has its data; `removed` is deleted with the server. */
function running(
  child: ChildProcess,
  port: number,
  folder: string,
  removed: string | null = folder,
): RunningRedis {
  const end = async (...signals: NodeJS.Signals[]) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    for (const signal of signals) child.kill(signal);
    // A script may keep the server busy.
    const impatience = setTimeout(() => child.kill('SIGKILL'), END_MS);
    await gone;
    clearTimeout(impatience);
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    folder,
    process: child,
    kill9: () => end('SIGKILL'),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    stop: async () => {
      await end('SIGCONT', 'SIGTERM');
      const kept = keptFolder();
      if (kept && existsSync(folder)) cpSync(folder, join(kept, `redis-${child.pid}`), { recursive: true });
      if (removed !== null) rmSync(removed, { recursive: true, force: true });
    },
  };
}
