import type { SetMaintenance } from '../licensing.ts';
import { licensingOf } from './access.ts';
import { command, group, listCommand } from './command.ts';
import { list, show } from './output.ts';

export const whoami = command('whoami', 'what the key may do').action(async (options) =>
  show(await licensingOf(options).callers.me(), options),
);

export const budgets = command(
  'budgets',
  'what is left of the budgets of this month, and what was used in the 12 before',
).action(async (options) => {
  const { callers } = licensingOf(options);
  const { budgets: all } = await callers.me();
  const [now, ...earlier] = (await callers.budgets()).months;
  const past = { limit: null, resetsAt: null };
  const rows = [
    ...Object.entries(all).map(([budget, each]) => ({ month: now?.month, budget, ...each })),
    ...earlier.flatMap(({ month, used }) =>
      Object.entries(used).flatMap(([budget, count]) =>
        count > 0 ? [{ month, budget, used: count, ...past }] : [],
      ),
    ),
  ];
  await list(options, ['month', 'budget', 'limit', 'used', 'resetsAt'], rows);
});

export const gaps = listCommand('gaps', "where the platform's answers depart from its interface").action(
  (options) =>
    list(
      options,
      ['operation', 'path', 'kind', 'count', 'firstSeenAt', 'lastSeenAt'],
      licensingOf(options).gaps.each(),
    ),
);

export const maintenance = group('maintenance', 'what an operator stops for a while', [
  command('show', 'what an operator has stopped, and until when').action(async (options) =>
    show(await licensingOf(options).maintenance.get(), options),
  ),
  command('start', 'stops orders, all writes or all calls of the platform for a while, for every caller')
    .argument('<orders|writes|all>')
    .requiredOption('--until <…>', 'when it ends by itself, as 2026-11-20T08:00:00Z')
    .option('--from <…>', 'when it begins; else now')
    .requiredOption('--reason <…>', 'what callers are told')
    .action(async (stops, options) => {
      const { until, from, reason } = options;
      const window = { stops: stops as SetMaintenance['stops'], until, from, reason };
      show(await licensingOf(options).maintenance.set(window), options);
    }),
  command('end', 'ends it, also where it is to come').action(async (options) => {
    await licensingOf(options).maintenance.end();
  }),
]);
