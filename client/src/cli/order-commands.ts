import type { OrderRecord, SettleOrder } from '../licensing.ts';
import type { Given } from './arguments.ts';
import { exitCodes, fieldsOf, outputOf } from './output.ts';
import { orderIn, placeOrder } from './place-order.ts';
import { list, type Runnable, show, type World } from './runnable.ts';

const ORDER_STATES = [
  'sending',
  'succeeded',
  'accepted',
  'incomplete',
  'rejected',
  'not_sent',
  'in_doubt',
  'not_placed',
];

export const orderCommands: readonly Runnable[] = [
  {
    name: 'orders place',
    places: ['<file.json>'],
    about:
      'places the order of a file, or of the standard input where it is -; exit code 1 where it is incomplete',
    options: { 'dry-run': { type: 'yes', about: 'only checks it, and shows what would be sent' } },
    run: async (given, world) => {
      const order = await orderIn(given.places[0] ?? '');
      const licensing = world.licensing();
      if (given.yes.has('dry-run')) return show(given, world, await licensing.orders.preview(order));
      const record = await placeOrder(licensing, order);
      showOrder(given, world, record);
      return exitCodeOf(record);
    },
  },
  {
    name: 'orders list',
    places: [],
    about: 'the orders that were placed through the gateway, newest first',
    options: {
      state: { type: 'text', about: 'only in this state', words: ORDER_STATES },
      channel: { type: 'text', about: 'only of this channel' },
    },
    run: (given, world) =>
      list(
        given,
        world,
        ['channelCode', 'channelOrderId', 'state', 'syncMode', 'submittedAt', 'settledAt'],
        world.licensing().orders.each({
          ...(given.text['state'] !== undefined && { state: given.text['state'] as 'succeeded' }),
          ...(given.text['channel'] !== undefined && { channelCode: given.text['channel'] }),
        }),
      ),
  },
  {
    name: 'orders get',
    places: ['<channel>', '<number>'],
    about: 'the record of an order; exit code 1 while it is in doubt or incomplete',
    options: {},
    run: async (given, world) => {
      const record = await world.licensing().orders.get(orderKey(given));
      showOrder(given, world, record);
      return exitCodeOf(record);
    },
  },
  {
    name: 'orders settle',
    places: ['<channel>', '<number>'],
    about: 'writes into an order in doubt what you found out at the platform',
    options: {
      as: { type: 'text', about: 'what became of it', words: ['succeeded', 'not_placed'], required: true },
      reason: { type: 'text', about: 'how you found out; the record keeps it', required: true },
    },
    run: async (given, world) => {
      const { as, reason = '' } = given.text;
      showOrder(
        given,
        world,
        await world.licensing().orders.settle({ ...orderKey(given), as: as as SettleOrder['as'], reason }),
      );
      return exitCodes.done;
    },
  },
];

function orderKey({ places: [channelCode = '', channelOrderId = ''] }: Given): {
  channelCode: string;
  channelOrderId: string;
} {
  return { channelCode, channelOrderId };
}

function exitCodeOf({ state }: OrderRecord): number {
  return state === 'in_doubt' || state === 'incomplete' ? exitCodes.someFailed : exitCodes.done;
}

function showOrder(given: Given, world: World, { items, ...record }: OrderRecord): void {
  if (given.yes.has('json')) {
    show(given, world, { ...record, items });
    return;
  }
  world.write(`${fieldsOf(record)}\n`);
  const output = outputOf(world.write, false, [
    'sequence',
    'orderType',
    'enterpriseGlobalId',
    'licenseOrderId',
    'customerId',
  ]);
  for (const item of items) output.item(item);
  output.end();
}
