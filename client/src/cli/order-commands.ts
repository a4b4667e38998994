import type { OrderRecord } from '../licensing.ts';
import { licensingOf } from './access.ts';
import { command, commandOfAnyUser, group, listCommand, wordOption } from './command.ts';
import { exitCodes, list, print, show, type Shown, fieldsOf } from './output.ts';
import { orderIn, placeOrder } from './place-order.ts';

const ORDER_STATES = [
  'scheduled',
  'sending',
  'succeeded',
  'accepted',
  'incomplete',
  'rejected',
  'not_sent',
  'in_doubt',
  'not_placed',
  'cancelled',
] as const;

export const orders = group('orders', 'orders of licences', [
  command(
    'place',
    'places the order of a file, or of the standard input where it is -; exit code 1 where it is incomplete',
  )
    .argument('<file.json>')
    .option('--dry-run', 'only checks it, and shows what would be sent')
    .option(
      '--at <time>',
      'places it then and not now: 2027-03-01T08:00:00Z, or a day, which begins at midnight UTC',
    )
    .action(async (path, options) => {
      const given = await orderIn(path);
      const order = options.at === undefined ? given : { ...given, notBefore: timeOf(options.at) };
      const licensing = licensingOf(options);
      if (options.dryRun) return show(await licensing.orders.preview(order), options);
      await showOrder(await placeOrder(licensing, order), options);
    }),
  listCommand('list', 'the orders that were placed through the gateway, newest first')
    .addOption(wordOption('--state <…>', 'only in this state', ORDER_STATES))
    .option('--channel <…>', 'only of this channel')
    .action((options) =>
      list(
        options,
        ['channelCode', 'channelOrderId', 'state', 'syncMode', 'submittedAt', 'settledAt'],
        licensingOf(options).orders.each({ state: options.state, channelCode: options.channel }),
      ),
    ),
  listCommand('scheduled', 'the orders that wait for their time, what is due first comes first').action(
    (options) =>
      list(
        options,
        ['channelCode', 'channelOrderId', 'notBefore', 'submittedAt'],
        licensingOf(options).orders.each({ state: 'scheduled', sort: 'notBefore' }),
      ),
  ),
  command('cancel', 'ends an order that waits for its time')
    .argument('<channel>')
    .argument('<number>')
    .action(async (channelCode, channelOrderId, options) => {
      await licensingOf(options).orders.cancel({ channelCode, channelOrderId });
    }),
  command('get', 'the record of an order; exit code 1 while it is in doubt or incomplete')
    .argument('<channel>')
    .argument('<number>')
    .action(async (channelCode, channelOrderId, options) =>
      showOrder(await licensingOf(options).orders.get({ channelCode, channelOrderId }), options),
    ),
  commandOfAnyUser('settle', 'writes into an order in doubt what you found out at the platform')
    .argument('<channel>')
    .argument('<number>')
    .addOption(
      wordOption('--as <succeeded|not_placed>', 'what became of it', [
        'succeeded',
        'not_placed',
      ]).makeOptionMandatory(),
    )
    .requiredOption('--reason <…>', 'how you found out; the record keeps it')
    .action(async (channelCode, channelOrderId, { as, reason, ...options }) =>
      showOrder(
        await licensingOf(options).orders.settle({ channelCode, channelOrderId, as, reason }),
        options,
      ),
    ),
]);

/** A day is the beginning of that day in UTC. */
function timeOf(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
}

async function showOrder({ items, ...record }: OrderRecord, options: Shown): Promise<void> {
  if (options.json) show({ ...record, items }, options);
  else {
    print(`${fieldsOf(record)}\n`);
    await list(
      options,
      ['sequence', 'orderType', 'enterpriseGlobalId', 'licenseOrderId', 'customerId'],
      items,
    );
  }
  if (record.state === 'in_doubt' || record.state === 'incomplete') process.exitCode = exitCodes.someFailed;
}
