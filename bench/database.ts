/**
 * `npm run bench:database [-- <orders>]`: 64 orders at once, two steps each with a record of 1.2 KB, in each kind of database: processor time of
 * the gateway and of the server for an order, and orders a second. Files are on the disk of the temporary folder.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../scripts/bundle-options.ts';
import { startPostgres } from '../test/support/postgres.ts';

const TICK_MS = 10;
const ORDERS = process.argv[2] ?? '20000';

await build({
  ...BUNDLE_OPTIONS,
  entryPoints: { 'database-run': 'bench/database-run.ts', 'sqlite-worker': 'src/database/sqlite-worker.ts' },
  outdir: 'dist/bench',
});
const folder = mkdtempSync(join(tmpdir(), 'bench-database-'));
const server = await startPostgres([], undefined, tmpdir());

/** The processor time of the server and its children, in ms. */
function serverCpu(): number {
  const children = execFileSync('pgrep', ['-P', String(server.process.pid)], { encoding: 'utf8' });
  const ticks = [String(server.process.pid), ...children.trim().split('\n')].map((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
    } catch {
      return 0;
    }
  });
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MS;
}

interface Result {
  readonly clientMicros: number;
  readonly perSecond: number;
}

async function run(url: string, platform: string): Promise<Result> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    'dist/bench/database-run.js',
    url,
    platform,
    ORDERS,
  ]);
  return JSON.parse(stdout) as Result;
}

function print(name: string, { clientMicros, perSecond }: Result, serverMicros: number): void {
  const cells = [
    clientMicros.toFixed(0),
    Number.isNaN(serverMicros) ? '' : serverMicros.toFixed(0),
    perSecond.toFixed(0),
  ];
  console.log(`| ${[name, ...cells].join(' | ')} |`);
}

console.log('| database | client µs | server µs | orders/s |\n|---|---:|---:|---:|');
try {
  print('SQLite in memory', await run('sqlite::memory:', 'one'), 0);
  print('SQLite file', await run(`sqlite:${join(folder, 'gateway.db')}`, 'one'), 0);
  const url = await server.newUrl();
  const before = serverCpu();
  const one = await run(url, 'one');
  print('PostgreSQL', one, ((serverCpu() - before) * 1_000) / (Number(ORDERS) + 1_000));
  const three = await Promise.all([1, 2, 3].map(() => run(url, 'three')));
  const perSecond = three.reduce((sum, each) => sum + each.perSecond, 0);
  const clientMicros = three.reduce((sum, each) => sum + each.clientMicros, 0) / three.length;
  print('PostgreSQL, three processes together', { clientMicros, perSecond }, Number.NaN);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}
