import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { ClientConfig } from 'pg';
import { keep, keptFolder, newSecret } from './canary.ts';
import { freePort, serverFolder, until } from './redis.ts';

/**
 * Real PostgreSQL servers. Files are in memory where there is room, so `fsync`, which the gateway demands, costs nothing. Most tests share one
 * server, in which each has a role with a schema of its own; a test that breaks its server starts another.
 */

/** The newest that is installed: Debian keeps the programs out of the PATH. */
const BIN = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => versionOf(b) - versionOf(a))[0];
const program = (name: string) => (BIN === undefined ? name : join(BIN, name));
function versionOf(folder: string): number {
  return Number(/\d+/.exec(folder)?.[0]);
}

export interface RunningPostgres {
  readonly port: number;
  readonly folder: string;
  readonly process: ChildProcess;
  /** The password of the superuser, who is called `tests`. */
  readonly password: string;
  /** Runs statements as the superuser. */
  ask(text: string): Promise<readonly Record<string, unknown>[]>;
  /** The URL of a new role, which owns a schema of its name. */
  newUrl(): Promise<string>;
  /** Ends the server as a crash would, without a checkpoint. */
  kill(): Promise<void>;
  /** Ends it as an operator does, who waits for no session. */
  shutDown(): Promise<void>;
  /** Starts it again, with the same files and port. */
  start(): Promise<void>;
  /** Makes a base backup while it runs. */
  backUp(): Promise<void>;
  /** Makes the server crash, and starts it with the files of the base backup. */
  restore(): Promise<void>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** PostgreSQL refuses to run as root. */
export function otherUser(): { uid: number; gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined;
  const line = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return { uid: Number(line?.[1] ?? 65_534), gid: Number(line?.[2] ?? 65_534) };
}

/** Runs one of PostgreSQL's programs to its end. */
async function run(name: string, folder: string, args: readonly string[], password = ''): Promise<void> {
  const env = { ...process.env, PGPASSWORD: password };
  await promisify(execFile)(program(name), args, { ...otherUser(), cwd: folder, env });
}

function newFolder(place?: string): string {
  const folder =
    place === undefined ? serverFolder('postgres-test-') : mkdtempSync(join(place, 'postgres-test-'));
  giveAway(folder);
  return folder;
}

function giveAway(path: string): void {
  const user = otherUser();
  if (user) chownSync(path, user.uid, user.gid);
}

/** The files of a server that has no data yet, in a new folder. To make them takes twenty times as long as to copy them. */
export async function newCluster(): Promise<{ readonly folder: string; readonly password: string }> {
  const folder = newFolder();
  const password = newSecret('c');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password);
  giveAway(passwordFile);
  await run('initdb', folder, [
    ...['-D', 'data', '-U', 'tests', '--pwfile', passwordFile, '--auth=scram-sha-256'],
    ...['--no-sync', '--no-locale', '-E', 'UTF8'],
  ]);
  return { folder, password };
}

async function copyCluster(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', join(from, 'data'), to], { ...otherUser() });
}

/** A server with a copy of these files. */
export async function startCopy({ folder, password }: Awaited<ReturnType<typeof newCluster>>) {
  const own = newFolder();
  await copyCluster(folder, own);
  return serve(own, await freePort(), password, ['max_connections=400']);
}

/** `settings` are further ones, such as `max_connections=20`; `environment` is added to the server's own (a clock, see clock-shim.ts). */
export async function startPostgres(
  settings: readonly string[] = [],
  tls?: { readonly key: string; readonly cert: string },
  /** Where its folder is made; without it in memory, where there is room. */
  place?: string,
  environment?: Readonly<Record<string, string>>,
): Promise<RunningPostgres> {
  const { template, password } = await (shared ??= joinShared());
  const folder = newFolder(place);
  await copyCluster(template, folder);
  if (tls)
    for (const [name, pem] of [
      ['server.key', tls.key],
      ['server.crt', tls.cert],
    ] as const) {
      const path = join(folder, 'data', name);
      writeFileSync(path, pem, { mode: 0o600 });
      giveAway(path);
    }
  return serve(folder, await freePort(), password, [...(tls ? ['ssl=on'] : []), ...settings], environment);
}

/** A standby of that server, which follows it until it is promoted. */
export async function startStandby(
  primary: RunningPostgres,
  port: number,
  settings: readonly string[] = [],
  environment?: Readonly<Record<string, string>>,
): Promise<RunningPostgres> {
  const folder = newFolder();
  await copyOf(primary, folder, 'data', ['-R']);
  return serve(folder, port, primary.password, settings, environment);
}

/** A base backup. */
function copyOf(
  { port, password }: Pick<RunningPostgres, 'port' | 'password'>,
  folder: string,
  name: string,
  options: readonly string[] = [],
): Promise<void> {
  const from = ['-h', '127.0.0.1', '-p', String(port), '-U', 'tests'];
  return run(
    'pg_basebackup',
    folder,
    [...from, '-D', name, '--checkpoint=fast', '--no-sync', ...options],
    password,
  );
}

/** The server with the files in `data` of that folder. */
async function serve(
  folder: string,
  port: number,
  password: string,
  settings: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningPostgres> {
  const data = join(folder, 'data');
  const options = [
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'shared_buffers=32MB',
    // Statements may have passwords.
    'log_min_error_statement=panic',
    ...settings,
  ];
  let child: ChildProcess;
  const start = async () => {
    const started = spawn(
      program('postgres'),
      ['-D', data, '-p', String(port), ...options.flatMap((option) => ['-c', option])],
      {
        ...otherUser(),
        cwd: folder,
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, ...environment },
      },
    );
    child = started;
    let last = '';
    await new Promise<void>((resolve, reject) => {
      started.once('error', reject);
      started.once('exit', (code) => reject(new Error(`postgres ended with ${code}: ${last}`)));
      createInterface({ input: started.stderr }).on('line', (line) => {
        last = line;
        if (line.includes('database system is ready to accept')) resolve();
      });
    });
  };
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  };
  await start();
  const ask = (text: string) => askAs(text, port, password);
  return {
    port,
    folder,
    get process() {
      return child;
    },
    password,
    ask,
    newUrl: () => newRole(port, ask),
    kill: () => end('SIGQUIT'),
    shutDown: () => end('SIGINT'),
    start,
    backUp: () => copyOf({ port, password }, folder, 'copy'),
    restore: async () => {
      await end('SIGQUIT');
      rmSync(data, { recursive: true });
      renameSync(join(folder, 'copy'), data);
      await start();
    },
    stop: async () => {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Receives the log of a server as a standby does, which acknowledges nothing in time. */
export function followServer({ port, password }: RunningPostgres, folder: string): ChildProcess {
  return spawn(
    program('pg_receivewal'),
    ['-D', folder, '-h', '127.0.0.1', '-p', String(port), '-U', 'tests'],
    {
      stdio: 'ignore',
      env: { ...process.env, PGPASSWORD: password },
    },
  );
}

/** A client of logical replication, such as a subscriber. The server needs `wal_level=logical`. */
export async function subscribe(server: RunningPostgres, folder: string): Promise<ChildProcess> {
  const { port, password } = server;
  await server.ask('CREATE PUBLICATION everything FOR ALL TABLES');
  const slot = [
    '-d',
    'postgres',
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    '-U',
    'tests',
    '--slot',
    'subscriber',
  ];
  await run('pg_recvlogical', folder, [...slot, '--create-slot', '-P', 'pgoutput'], password);
  const options = ['-o', 'proto_version=1', '-o', 'publication_names=everything', '-f', '-'];
  return spawn(program('pg_recvlogical'), [...slot, '--start', ...options], {
    stdio: 'ignore',
    env: { ...process.env, PGPASSWORD: password },
  });
}

function askAs(text: string, port: number, password: string) {
  return askOn({ host: '127.0.0.1', port, user: 'tests', password, database: 'postgres' }, text);
}

/** What the statement finds, as the role of that URL sees it. */
export function askDatabase(url: string, statement: string, ...values: readonly unknown[]) {
  return askOn({ connectionString: url }, statement, values);
}

async function askOn(
  server: ClientConfig,
  statement: string,
  values?: readonly unknown[],
): Promise<readonly Record<string, unknown>[]> {
  // Loaded for the first statement, since most suites that import this file ask none.
  const { Client } = await import('pg');
  const client = new Client(server);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement, values && [...values])).rows ?? [];
  } finally {
    await client.end();
  }
}

/** PostgreSQL's search path begins with the schema of the role's own name. */
async function newRole(port: number, ask: RunningPostgres['ask']): Promise<string> {
  const name = `t${randomBytes(6).toString('hex')}`;
  const password = newSecret('c');
  await ask(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'; CREATE SCHEMA AUTHORIZATION ${name}`);
  return `postgres://${name}:${password}@127.0.0.1:${port}/postgres`;
}

/** The same database through another port of this machine. */
export function throughPort(url: string, port: number): string {
  return url.replace(/:\d+\//, `:${port}/`);
}

interface Shared {
  readonly port: number;
  readonly password: string;
  /** The folder with the files of a new server, which has the same password. */
  readonly template: string;
}

let shared: Promise<Shared> | undefined;

/** The URL of a new role in the server that all suites of this folder share. It ends soon after the last process that uses it. */
export async function postgresUrl(): Promise<string> {
  const { port, password } = await (shared ??= joinShared());
  return newRole(port, (text) => askAs(text, port, password));
}

/** Keeps what such a role's tables have, for the search for secrets. Does nothing for a server of a test's own. */
export async function keepSchema(url: string): Promise<void> {
  const { username, port } = new URL(url);
  const server = await shared;
  if (!keptFolder() || Number(port) !== server?.port) return;
  const statement = `SELECT schema_to_xml('${username}', true, true, '') AS rows`;
  const [found] = await askAs(statement, server.port, server.password);
  keep('database', String(found?.['rows']));
}

export const SHARED_SOCKET = join(
  tmpdir(),
  `postgres-of-tests-${Buffer.from(process.cwd()).toString('base64url').slice(-24)}`,
);

async function joinShared(): Promise<Shared> {
  let found: Shared | undefined;
  await until('the shared PostgreSQL server answers', async () => {
    found = await ofKeeper();
    return found !== undefined;
  });
  return found as Shared;
}

/** Asks the process that keeps the server, and starts it where there is none: of several that start, one gets the socket. */
async function ofKeeper(): Promise<Shared | undefined> {
  const socket = connect(SHARED_SOCKET);
  socket.on('error', () => undefined);
  const line = await Promise.race([
    once(createInterface({ input: socket }), 'line').then(([text]) => String(text)),
    once(socket, 'close').then(() => undefined),
  ]).catch(() => undefined);
  if (line !== undefined) {
    // The socket stays open for as long as this process lives.
    socket.unref();
    return JSON.parse(line) as Shared;
  }
  const keeper = new URL('postgres-keeper.ts', import.meta.url);
  spawn(process.execPath, [keeper.pathname], { detached: true, stdio: 'ignore' }).unref();
  await new Promise((resolve) => setTimeout(resolve, 500));
  return undefined;
}
