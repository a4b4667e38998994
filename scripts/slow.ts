/**
 * `npm run test:slow -- <processors>` runs `npm test` with this share of a processor for all its processes together, 0.5 for half of one.
 * It reveals a test that only fails on a slow machine. At the end it prints the processor time of the run.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const share = Number(process.argv[2]);
if (!(share > 0)) {
  console.error('Give the processors that the run may use, for example: npm run test:slow -- 0.5');
  process.exit(2);
}
const PERIOD_US = 100_000;
const NAME = `licensing-gateway-slow-${process.pid}`;
const TESTS = ['npm', 'test'];

interface Group {
  /** The file of the group's processes. A process enters the group by writing its number here. */
  readonly file: string;
  /** Returns the processor time of all processes of the group, in s. */
  used(): number;
  remove(): void;
}

/** Makes a control group. Version 2 has `cpu.max`; in version 1 the quota and the count of used time are two hierarchies. */
function makeGroup(): Group | undefined {
  const root = '/sys/fs/cgroup';
  const quota = Math.round(share * PERIOD_US);
  const isSecond = existsSync(join(root, 'cgroup.controllers'));
  const folders = isSecond ? [join(root, NAME)] : [join(root, 'cpu', NAME), join(root, 'cpuacct', NAME)];
  const [folder = '', accounts = folder] = folders;
  try {
    for (const each of folders) mkdirSync(each);
    if (isSecond) writeFileSync(join(folder, 'cpu.max'), `${quota} ${PERIOD_US}`);
    else {
      writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US));
      writeFileSync(join(folder, 'cpu.cfs_quota_us'), String(quota));
    }
  } catch {
    return undefined;
  }
  const read = (file: string) => readFileSync(join(accounts, file), 'utf8');
  return {
    file: folders.map((each) => join(each, 'cgroup.procs')).join(' '),
    used: () =>
      isSecond
        ? Number(/^usage_usec (\d+)$/m.exec(read('cpu.stat'))?.[1]) / 1e6
        : Number(read('cpuacct.usage')) / 1e9,
    remove: () => folders.forEach((each) => rmdirSync(each)),
  };
}

function commandIn(group: Group | undefined): readonly string[] {
  if (group)
    return ['sh', '-c', `for file in ${group.file}; do echo $$ > $file; done; exec "$@"`, 'sh', ...TESTS];
  if (spawnSync('cpulimit', ['--help']).error === undefined)
    return ['cpulimit', '--include-children', '--limit', String(Math.round(share * 100)), '--', ...TESTS];
  console.error('This needs the right to make a control group (root), or the program cpulimit.');
  process.exit(2);
}

const startedAt = performance.now();
const group = makeGroup();
const [program = '', ...args] = commandIn(group);
const slowness = String(Math.max(1, availableParallelism() / share));
const tests = spawn(program, args, { stdio: 'inherit', env: { ...process.env, TEST_SLOWNESS: slowness } });
// The terminal sends these signals to the tests too, which end first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tests.kill(signal));
const [code] = (await once(tests, 'exit')) as [number | null];
const minutes = (seconds: number) => (seconds / 60).toFixed(1);
const used = group ? `, ${minutes(group.used())} min of processor time` : '';
console.log(`With ${share} of a processor: ${minutes((performance.now() - startedAt) / 1000)} min${used}`);
try {
  group?.remove();
} catch {
  console.log('A process of the tests is still running, so their control group stays.');
}
process.exit(code ?? 1);
