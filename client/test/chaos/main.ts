import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runChaos } from './run.ts';

/** `npm run chaos:client -- [--orders n] [--kills n] [--seed s]`. Exits with 1 on a violation. Needs a redis-server. */
const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
  },
});
process.stdout.write(`seed ${values.seed}\n`);
const report = await runChaos({
  ...{ orders: Number(values.orders), kills: Number(values.kills), seed: Number(values.seed) },
  ...{ atOnce: 20, waitMs: 40_000 },
});
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
process.exitCode = report.violations.length > 0 || report.orders < Number(values.orders) ? 1 : 0;
