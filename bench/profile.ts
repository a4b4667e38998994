import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { contenders, Platform } from './contenders.ts';
import { type CpuProfile, selfTimes } from './cpu-profile.ts';
import { showFilesRun } from './files-run.ts';
import { underLoad } from './measure.ts';
import { compilePeers } from './processes.ts';
import { named } from './scenarios.ts';

/**
 * Where the gateway's time goes: `npm run profile -- <words of a scenario> [--embedded]` puts it under that load with
 * V8's sampling profiler, and prints self time by stage, by package or file and by function. The profile file stays for other tools.
 * `npm run profile -- --files` prints the files that one request runs.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    embedded: { type: 'boolean', default: false },
    files: { type: 'boolean', default: false },
  },
});
if (values.files) {
  await showFilesRun();
  process.exit();
}
const WARMUP_SECONDS = 3;
const SECONDS = 5;
const name = values.embedded ? 'gateway, embedded' : 'gateway';
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
const nodeOptions = `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=200`;
// File by file, so that the profile names them.
const gateway = await contenders[name](platform, { nodeOptions, file: 'dist/main.js' });
let from = 0;
let to = 0;
try {
  await underLoad(name, gateway, { ...run, seconds: WARMUP_SECONDS }, platform);
  from = microseconds();
  await underLoad(name, gateway, { ...run, seconds: SECONDS }, platform);
  to = microseconds();
} finally {
  await gateway.running.stop();
  await platform.running.stop();
}

const file = join(folder, readdirSync(folder).find((each) => each.endsWith('.cpuprofile')) ?? '');
const { places, functions, stages, idle } = selfTimes(
  JSON.parse(readFileSync(file, 'utf8')) as CpuProfile,
  from,
  to,
);
const percent = (part: number) => `${(part * 100).toFixed(1).padStart(5)} %`;
const list = (rows: typeof places, count: number) =>
  rows
    .slice(0, count)
    .map(([what, part]) => `  ${percent(part)}  ${what}\n`)
    .join('');
process.stdout.write(
  `Self time under load (${run.label}), idle ${percent(idle)}\n\nby stage\n${list(stages, 20)}\nby package or file\n${list(places, 30)}\n` +
    `by function\n${list(functions, 40)}\n${file}\n`,
);

/** On the profile's clock. */
function microseconds(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}
