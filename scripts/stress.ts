/**
 * `npm run test:stress [times]` runs the service tests ten times, five suites at a time, under a load of eight busy processes. A test that
 * fails once here depends on luck.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const times = Number(process.argv[2] ?? 10);
const BUSY = 8;
const SUITES = 5;

const load = Array.from({ length: BUSY }, () =>
  spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
);
const end = () => load.forEach((each: ChildProcess) => each.kill('SIGKILL'));
process.on('exit', end);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const told: string[] = [];
for (let run = 1; run <= times; run++) {
  const startedAt = performance.now();
  const options = ['--selectProjects', 'service', '--maxWorkers', String(SUITES)];
  const jest = spawn('npm', ['run', '-s', 'jest', '--', ...options], { stdio: 'inherit' });
  const [code] = (await once(jest, 'exit')) as [number | null];
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  told.push(`run ${run} of ${times}: ${code === 0 ? 'green' : 'FAILED'} in ${seconds} s`);
  console.log(`\n${told.join('\n')}\n`);
}
process.exit(told.some((line) => line.includes('FAILED')) ? 1 : 0);
