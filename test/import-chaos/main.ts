import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runImportChaos } from './run.ts';

/**
 * `npm run chaos:imports -- [--imports n] [--rows n] [--processes n] [--kills n] [--redis-kills n] [--seed n] [--variant name]`. Exits with
 * 1 on a violation. Needs a redis-server.
 */
const { values } = parseArgs({
  options: {
    imports: { type: 'string', default: '20' },
    rows: { type: 'string', default: '1000' },
    processes: { type: 'string', default: '3' },
    kills: { type: 'string', default: '20' },
    'redis-kills': { type: 'string', default: '5' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    variant: { type: 'string' },
  },
});
process.stdout.write(`seed ${values.seed}\n`);
const report = await runImportChaos({
  imports: Number(values.imports),
  rows: Number(values.rows),
  processes: Number(values.processes),
  kills: Number(values.kills),
  redisKills: Number(values['redis-kills']),
  seed: Number(values.seed),
  faults: true,
  variant: values.variant,
});
const { violations, ...figures } = report;
process.stdout.write(`${JSON.stringify(figures, null, 2)}\n${violations.slice(0, 20).join('\n')}\n`);
process.exitCode = violations.length > 0 ? 1 : 0;
