import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runLeak } from './leak.ts';
import { figuresOf, LONG, MAX_BYTES_A_ROUND, runFuzz } from './run.ts';

/**
 * `npm run fuzz -- [--seed s] [--cases n] [--sequences n] [--only operation/kind] [--leak rounds]`. Exits with 1 on a
 * finding; the same seed repeats it. With `--leak` only that. Needs the build and a redis-server.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    cases: { type: 'string', default: String(LONG.cases) },
    sequences: { type: 'string', default: String(LONG.sequences) },
    only: { type: 'string' },
    leak: { type: 'string' },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);

if (values.leak === undefined) {
  say(`seed ${values.seed}`);
  const report = await runFuzz({
    seed: Number(values.seed),
    cases: Number(values.cases),
    sequences: Number(values.sequences),
    only: values.only,
    progress: say,
  });
  say(figuresOf(report));
  process.exitCode = report.violations.length > 0 ? 1 : 0;
} else {
  const report = await runLeak({ rounds: Number(values.leak), warmUp: 20, progress: say });
  say(JSON.stringify(report));
  process.exitCode = report.slopes.data > MAX_BYTES_A_ROUND || Object.keys(report.left).length > 0 ? 1 : 0;
}
