import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { type ActName, acts } from './acts.ts';
import { figuresOf, runImportChaos } from './run.ts';
import { type VariantName, variantNames } from './variants.ts';

/**
 * `npm run chaos:imports -- [--imports n] [--rows n] [--processes n] [--kills n] [--redis-kills n] [--seed n] [--act name]…
 * [--variant name | --variants]`. Exits with 1 on a violation; with `--variants`, which plays each broken variant, where one is not
 * found. Needs a redis-server.
 */
const { values } = parseArgs({
  options: {
    imports: { type: 'string', default: '20' },
    rows: { type: 'string', default: '1000' },
    processes: { type: 'string', default: '3' },
    kills: { type: 'string', default: '20' },
    'redis-kills': { type: 'string', default: '5' },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    act: { type: 'string', multiple: true },
    variant: { type: 'string' },
    variants: { type: 'boolean', default: false },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
if (values.variant !== undefined && !variantNames.includes(values.variant as VariantName)) {
  say(`--variant is one of ${variantNames.join(', ')}`);
  process.exit(2);
}
const unknown = values.act?.find((name) => !(name in acts));
if (unknown !== undefined) {
  say(`--act is one of ${Object.keys(acts).join(', ')}`);
  process.exit(2);
}
say(`seed ${values.seed}`);
const options = {
  imports: Number(values.imports),
  rows: Number(values.rows),
  processes: Number(values.processes),
  kills: Number(values.kills),
  redisKills: Number(values['redis-kills']),
  seed: Number(values.seed),
};
if (values.variants) {
  for (const variant of variantNames) {
    const { seconds, violations } = await runImportChaos({ ...options, processes: 2 }, { variant });
    say(`${variant.padEnd(42)} ${seconds.toFixed(1).padStart(5)} s  ${violations[0] ?? 'NOT FOUND'}`);
    if (violations.length === 0) process.exitCode = 1;
  }
} else {
  const report = await runImportChaos(options, {
    variant: values.variant as VariantName | undefined,
    only: values.act as ActName[] | undefined,
  });
  say(figuresOf(report));
  say(`${report.violations.length} violations`);
  for (const violation of report.violations.slice(0, 20)) say(`  ${violation}`);
  process.exitCode = report.violations.length > 0 ? 1 : 0;
}
