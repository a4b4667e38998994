import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '../test/support/redis.ts';
import { allocationsOf } from './allocations.ts';
import { contenders } from './contenders.ts';
import { Platform } from './fleet.ts';
import { type CpuProfile, selfTimes } from './cpu-profile.ts';
import { showFilesRun } from './files-run.ts';
import { Inspector } from './inspector.ts';
import { underLoad } from './measure.ts';
import { compilePeers } from './processes.ts';
import { named } from './scenarios.ts';

/**
 * Shows where the gateway's time goes. `npm run profile -- <words of a scenario> [--memory]` puts it under that load with V8's sampling
 * profiler, and prints self time by stage, by package or file and by function. The profile file is kept for other tools. `--allocations`
 * prints instead the allocations of each request, by package or file and by site; with `--old` only those that V8's collections of young
 * objects have left. `npm run profile -- --files` prints the files that one request runs.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    allocations: { type: 'boolean', default: false },
    files: { type: 'boolean', default: false },
    memory: { type: 'boolean', default: false },
    old: { type: 'boolean', default: false },
  },
});
if (values.files) {
  await showFilesRun();
  process.exit();
}
const WARMUP_SECONDS = 3;
const SECONDS = 5;
const name = values.memory ? 'gateway, in memory' : 'gateway';
const run = named(positionals.join(' '))
  .flatMap(({ runs }) => runs)
  .find(({ contender }) => contender === name);
if (positionals.length === 0 || !run) {
  const known = named('').map((scenario) => `  ${scenario.name}\n`);
  process.stderr.write(`npm run profile -- <words of a scenario>, one of\n${known.join('')}`);
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'gateway-profile-'));
await compilePeers();
const platform = await Platform.start();
const port = await freePort();
const nodeOptions = values.allocations
  ? `--inspect=127.0.0.1:${port}`
  : `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=200`;
// The files are loaded one by one, so that the profile names them, and with the option of `src/start.sh` that decides which objects are
// old.
const command = [process.execPath, '--no-allocation-site-pretenuring', 'dist/main.js'];
const gateway = await contenders[name](platform, { nodeOptions, command });
const load = (seconds: number) => underLoad(name, gateway, { ...run, seconds }, platform);
let [from, to] = [0, 0];
try {
  await load(WARMUP_SECONDS);
  if (values.allocations) await showAllocations();
  else {
    from = microseconds();
    await load(SECONDS);
    to = microseconds();
  }
} finally {
  await gateway.running.stop();
  await platform.running.stop();
}
if (!values.allocations) showTimes();

async function showAllocations(): Promise<void> {
  const inspector = await Inspector.of(port);
  const work = async () => {
    const { perSecond = 0 } = await load(SECONDS);
    return perSecond * SECONDS;
  };
  const { places, sites, bytes } = await allocationsOf(inspector, work, values.old);
  inspector.close();
  process.stdout.write(
    `Bytes that a request allocates${values.old ? ' and collections of young objects leave' : ''} under load (${run?.label}): ${bytes.toFixed(0)}\n\n` +
      `by package or file\n${rows(places, 30, size)}\nby site\n${rows(sites, 40, size)}`,
  );
}

function showTimes(): void {
  const file = join(folder, readdirSync(folder).find((each) => each.endsWith('.cpuprofile')) ?? '');
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  const { places, functions, stages, idle } = selfTimes(profile, from, to);
  process.stdout.write(
    `Self time under load (${run?.label}), idle ${percent(idle)}\n\nby stage\n${rows(stages, 20, percent)}\n` +
      `by package or file\n${rows(places, 30, percent)}\nby function\n${rows(functions, 40, percent)}\n${file}\n`,
  );
}

function rows(
  all: readonly (readonly [name: string, value: number])[],
  count: number,
  form: (value: number) => string,
): string {
  return all
    .slice(0, count)
    .map(([what, value]) => `  ${form(value)}  ${what}\n`)
    .join('');
}

function percent(part: number): string {
  return `${(part * 100).toFixed(1).padStart(5)} %`;
}

function size(bytes: number): string {
  return bytes.toFixed(0).padStart(7);
}

/** Returns the time of the profile's clock. */
function microseconds(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
