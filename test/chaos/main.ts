import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type ActName, acts } from './acts.ts';
import { figuresOf, runChaos } from './run.ts';
import { type VariantName, variantNames } from './variants.ts';

/**
 * `npm run chaos -- [--orders n] [--submits n] [--processes n] [--kills n] [--redis-kills n] [--seed s] [--variant name]
 * [--act name]…`. Exits with 1 on a violation. Needs a redis-server.
 */
const { values } = parseArgs({
  options: {
    orders: { type: 'string', default: '6000' },
    submits: { type: 'string', default: '3' },
    processes: { type: 'string', default: '3' },
    kills: { type: 'string', default: '40' },
    'redis-kills': { type: 'string', default: '8' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    variant: { type: 'string' },
    act: { type: 'string', multiple: true },
  },
});
if (values.variant !== undefined && !variantNames.includes(values.variant as VariantName)) {
  process.stderr.write(`--variant is one of ${variantNames.join(', ')}\n`);
  process.exit(2);
}
const unknown = values.act?.find((name) => !(name in acts));
if (unknown !== undefined) {
  process.stderr.write(`--act is one of ${Object.keys(acts).join(', ')}\n`);
  process.exit(2);
}
process.stdout.write(`seed ${values.seed}\n`);
const report = await runChaos(
  {
    orders: Number(values.orders),
    submits: Number(values.submits),
    processes: Number(values.processes),
    kills: Number(values.kills),
    redisKills: Number(values['redis-kills']),
    seed: Number(values.seed),
  },
  {
    variant: values.variant as VariantName | undefined,
    ...(values.act && { only: values.act as ActName[] }),
  },
);
process.stdout.write(`${figuresOf(report)}\n`);
process.exitCode = report.violations.length + report.unaudited.length > 0 ? 1 : 0;
