/**
 * `npm run bench:database [-- <orders> [<rows>]]`. First 64 orders at once, two steps each with a record of 1.2 KB, in each kind of database:
 * processor time of the gateway and of the server for an order, and orders a second. Then the median times of reads and steps where the tables
 * have <rows> orders and five times as many events, beside those at 1,000 of each; and of lists of a large estate. Files are on the disk of the temporary folder.
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
const FEW = 1_000;
const ROWS = Number(process.argv[3] ?? 200_000);
const EVENTS_PER_ORDER = 5;

await build({
  ...BUNDLE_OPTIONS,
  entryPoints: {
    ...{ 'database-run': 'bench/database-run.ts', 'tables-run': 'bench/tables-run.ts' },
    'estate-run': 'bench/estate-run.ts',
    'sqlite-worker': 'src/database/sqlite-worker.ts',
  },
  outdir: 'dist/bench',
});
const folder = mkdtempSync(join(tmpdir(), 'bench-database-'));
const server = await startPostgres([], undefined, tmpdir());

/** Returns the processor time of the server and its children, in ms. */
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

type Medians = Readonly<Record<string, number>>;

/** Prints the times of full tables. The rows are in separate databases. */
async function printTables(name: string, newUrl: () => Promise<string>): Promise<void> {
  const mediansAt = async (orders: number, events: number) => {
    const given = ['dist/bench/tables-run.js', await newUrl(), String(orders), String(events)];
    return JSON.parse((await promisify(execFile)(process.execPath, given)).stdout) as Medians;
  };
  const few = await mediansAt(FEW, FEW);
  const many = await mediansAt(ROWS, ROWS * EVENTS_PER_ORDER);
  console.log(`\n| ${name} | ms at ${FEW} | ms at ${ROWS} | ÷ |\n|---|---:|---:|---:|`);
  for (const [what, ms] of Object.entries(many)) {
    const before = few[what] ?? Number.NaN;
    console.log(`| ${what} | ${before.toFixed(2)} | ${ms.toFixed(2)} | ${(ms / before).toFixed(2)} |`);
  }
}

/** 300 enterprises with 200 assets each, with 3 products on each. */
async function printEstate(name: string, url: string): Promise<void> {
  const { stdout } = await promisify(execFile)(process.execPath, ['dist/bench/estate-run.js', url]);
  console.log(`\n| the estate, ${name} | ms |\n|---|---:|`);
  for (const [what, ms] of Object.entries(JSON.parse(stdout) as Medians))
    console.log(`| ${what} | ${ms.toFixed(1)} |`);
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
  await printTables('PostgreSQL', () => server.newUrl());
  let files = 0;
  await printTables('SQLite file', async () => `sqlite:${join(folder, `tables-${++files}.db`)}`);
  await printEstate('PostgreSQL', await server.newUrl());
  await printEstate('SQLite file', `sqlite:${join(folder, 'estate.db')}`);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}
