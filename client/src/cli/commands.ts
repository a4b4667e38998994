import type { Event, Licensing, OrderRecord, SetMaintenance, SettleOrder } from '../licensing.ts';
import { exportMembers, importMembers, retryJob, watchJob } from './members.ts';
import { type Command, type Given, UsageError } from './arguments.ts';
import { completion, shells } from './completion.ts';
import { listen } from './listen.ts';
import { exitCodes, fieldsOf, outputOf } from './output.ts';

/** What a command works with; tests and `main.ts` give it. */
export interface World {
  readonly licensing: () => Licensing;
  /** To the standard output. */
  readonly write: (text: string) => void;
}

interface Runnable extends Command {
  run(given: Given, world: World): Promise<number>;
}

const ENTERPRISE = '<enterprise>';
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

const JOB_STATES = ['queued', 'running', 'succeeded', 'completed', 'cancelled', 'failed'];

export const commands: readonly Runnable[] = [
  {
    name: 'whoami',
    places: [],
    about: 'what the key may do',
    options: {},
    run: async (given, world) => show(given, world, await world.licensing().callers.me()),
  },
  {
    name: 'assets list',
    places: [ENTERPRISE],
    about: 'the assets of an enterprise',
    options: { type: { type: 'text', about: 'only this licence type, such as softkey' } },
    run: (given, world) =>
      list(
        given,
        world,
        ['assetId', 'assetNum', 'licenseType', 'endsAt', 'frozen', 'locked', 'assignment.memberGlobalId'],
        world.licensing().assets.each({
          ...enterprise(given),
          ...(given.text['type'] !== undefined && { licenseType: given.text['type'] as 'softkey' }),
        }),
      ),
  },
  {
    name: 'members list',
    places: [ENTERPRISE],
    about: 'the members of an enterprise',
    options: { keyword: { type: 'text', about: 'only those whose name or account has it' } },
    run: (given, world) =>
      list(
        given,
        world,
        ['memberGlobalId', 'userName', 'name', 'departmentId', 'active'],
        world.licensing().members.each({
          ...enterprise(given),
          pageSize: 200,
          ...(given.text['keyword'] !== undefined && { keyword: given.text['keyword'] }),
        }),
      ),
  },
  {
    name: 'members import',
    places: ['<file>'],
    about: 'adds the members of a file, and shows how far it is; exit code 1 where rows failed',
    options: {
      enterprise: { type: 'text', about: 'whose members they are' },
      mode: { type: 'text', about: 'add, or upsert: rows that exist are updated', words: ['add', 'upsert'] },
      'delete-missing': { type: 'yes', about: 'with upsert: members who are not in the file are deleted' },
      'max-deletes': { type: 'text', about: 'with --delete-missing: more deletions are refused' },
      keep: { type: 'text', about: 'accounts that are not deleted, separated by commas' },
      'validate-only': { type: 'yes', about: 'only shows what would be done' },
    },
    run: (given, { licensing, write }) => importMembers(given, licensing(), write),
  },
  {
    name: 'members export',
    places: [],
    about: 'the members of an enterprise as CSV, with --json as JSON lines',
    options: { enterprise: { type: 'text', about: 'whose members they are' } },
    run: (given, { licensing, write }) => exportMembers(given, licensing(), write),
  },
  {
    name: 'jobs list',
    places: [],
    about: 'the imports of the last 7 days, newest first',
    options: {
      state: { type: 'text', about: 'only in this state', words: JOB_STATES },
      enterprise: { type: 'text', about: 'only of this enterprise' },
    },
    run: (given, world) =>
      list(
        given,
        world,
        ['jobId', 'enterpriseGlobalId', 'mode', 'state', 'total', 'done', 'failed', 'createdAt'],
        world.licensing().jobs.each({
          ...(given.text['state'] !== undefined && { state: given.text['state'] as 'running' }),
          ...(given.text['enterprise'] !== undefined && { enterpriseGlobalId: given.text['enterprise'] }),
        }),
      ),
  },
  {
    name: 'jobs watch',
    places: ['<job>'],
    about: 'shows how far a job is, up to its end; exit code 1 where rows failed',
    options: {},
    run: (given, { licensing, write }) => watchJob(given, licensing(), write),
  },
  {
    name: 'jobs retry',
    places: ['<job>', '<file>'],
    about: 'imports rows again that failed in a job; the file has these rows only, with their passwords',
    options: {},
    run: (given, { licensing, write }) => retryJob(given, licensing(), write),
  },
  {
    name: 'jobs cancel',
    places: ['<job>'],
    about: 'finishes what was sent, and sends nothing further',
    options: {},
    run: async (given, world) =>
      show(given, world, await world.licensing().jobs.cancel({ jobId: given.places[0] ?? '' })),
  },
  {
    name: 'events tail',
    places: [],
    about: 'what becomes of orders and jobs, as it is recorded, until it is ended',
    options: {
      after: { type: 'text', about: 'the id of the last event that you have had; else from now on' },
      type: { type: 'text', about: 'only of these types, separated by commas' },
      enterprise: { type: 'text', about: 'only of this enterprise' },
    },
    run: async ({ text: { after, type, enterprise: enterpriseGlobalId }, yes }, { licensing, write }) => {
      const input = {
        ...(after !== undefined && { after }),
        ...(type !== undefined && { types: type.split(',') as Event['type'][] }),
        ...(enterpriseGlobalId !== undefined && { enterpriseGlobalId }),
      };
      for await (const event of licensing().events.each(input))
        write(
          yes.has('json') ? `${JSON.stringify(event)}\n` : `${event.time}  ${event.type}  ${event.subject}\n`,
        );
      return exitCodes.done;
    },
  },
  {
    name: 'webhooks listen',
    places: [],
    about:
      'sends events to a receiver on this machine as the gateway would, until it is ended: for development',
    options: {
      'forward-to': { type: 'text', about: 'the URL of the receiver' },
      secret: { type: 'text', about: 'with which deliveries are signed; else a new one, which is printed' },
      type: { type: 'text', about: 'only of these types, separated by commas' },
    },
    run: (given, { licensing, write }) => listen(given, licensing(), write),
  },
  {
    name: 'budgets',
    places: [],
    about: 'what is left of the budgets of this month',
    options: {},
    run: async (given, world) => {
      const { budgets } = await world.licensing().callers.me();
      const rows = Object.entries(budgets).map(([budget, each]) => ({ budget, ...each }));
      return list(given, world, ['budget', 'limit', 'used', 'resetsAt'], rows);
    },
  },
  {
    name: 'maintenance show',
    places: [],
    about: 'what an operator has stopped, and until when',
    options: {},
    run: async (given, world) => show(given, world, await world.licensing().maintenance.get()),
  },
  {
    name: 'maintenance start',
    places: ['<orders|writes|all>'],
    about: 'stops orders, all writes or all calls of the platform for a while, for every caller',
    options: {
      until: { type: 'text', about: 'when it ends by itself, as 2026-11-20T08:00:00Z' },
      from: { type: 'text', about: 'when it begins; else now' },
      reason: { type: 'text', about: 'what callers are told' },
    },
    run: async (given, world) => {
      const { until, from, reason } = given.text;
      const [stops] = given.places;
      if (until === undefined || reason === undefined)
        throw new UsageError('maintenance start needs --until and --reason');
      const window = {
        stops: stops as SetMaintenance['stops'],
        until,
        reason,
        ...(from !== undefined && { from }),
      };
      return show(given, world, await world.licensing().maintenance.set(window));
    },
  },
  {
    name: 'maintenance end',
    places: [],
    about: 'ends it, also where it is to come',
    options: {},
    run: async (_, world) => {
      await world.licensing().maintenance.end();
      return exitCodes.done;
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
      return record.state === 'in_doubt' || record.state === 'incomplete'
        ? exitCodes.someFailed
        : exitCodes.done;
    },
  },
  {
    name: 'orders settle',
    places: ['<channel>', '<number>'],
    about: 'writes into an order in doubt what you found out at the platform',
    options: {
      as: { type: 'text', about: 'what became of it', words: ['succeeded', 'not_placed'] },
      reason: { type: 'text', about: 'how you found out; the record keeps it' },
    },
    run: async (given, world) => {
      const { as, reason } = given.text;
      if (as === undefined || reason === undefined)
        throw new UsageError('orders settle needs --as and --reason');
      showOrder(
        given,
        world,
        await world.licensing().orders.settle({ ...orderKey(given), as: as as SettleOrder['as'], reason }),
      );
      return exitCodes.done;
    },
  },
  {
    name: 'completion',
    places: [`<${shells.join('|')}>`],
    about: 'a script for your shell: source <(licensing completion bash)',
    options: {},
    run: (given, world) => {
      const script = completion(given.places[0] ?? '', commands);
      if (script === undefined) throw new UsageError(`completion knows ${shells.join(', ')}`);
      world.write(script);
      return Promise.resolve(exitCodes.done);
    },
  },
];

function enterprise({ places: [enterpriseGlobalId = ''] }: Given): { enterpriseGlobalId: string } {
  return { enterpriseGlobalId };
}

function orderKey({ places: [channelCode = '', channelOrderId = ''] }: Given): {
  channelCode: string;
  channelOrderId: string;
} {
  return { channelCode, channelOrderId };
}

function show(given: Given, { write }: World, thing: object): number {
  write(given.yes.has('json') ? `${JSON.stringify(thing)}\n` : fieldsOf(thing));
  return exitCodes.done;
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

async function list(
  given: Given,
  { write }: World,
  columns: readonly string[],
  items: AsyncIterable<object> | Iterable<object>,
): Promise<number> {
  const output = outputOf(write, given.yes.has('json'), columns);
  for await (const item of items) output.item(item);
  output.end();
  return exitCodes.done;
}
