import fc from 'fast-check';
import { search } from './search.ts';
import type { Stage } from './stage.ts';
import { type Member, type Order, World } from './world.ts';

/**
 * Sequences of requests over one enterprise: created records can be read, failed requests leave no trace, deleted records are gone, and
 * other callers never see them.
 */

interface Act {
  readonly weight: number;
  /** Whether the act has a target. */
  readonly may?: (world: World) => boolean;
  readonly run: (world: World, choice: Choice) => Promise<void>;
}

/** A step's random choice: the target among several, and a text. */
interface Choice {
  readonly of: <T>(things: Iterable<T>) => T;
  readonly text: string;
}

const some = (things: { readonly length?: number; readonly size?: number }) =>
  (things.length ?? things.size ?? 0) > 0;
const record = (order: Order) => `/v1/license-orders/crm/${order.channelOrderId}`;
const free = (world: World) =>
  [...world.assets].filter(([, owner]) => owner === null).map(([assetNum]) => assetNum);
const assigned = (world: World) =>
  [...world.assets].filter(([, owner]) => owner !== null) as [string, string][];

const acts: Readonly<Record<string, Act>> = {
  'place an order': {
    weight: 5,
    run: async (world, { of }) => {
      const syncMode = of(['sync', 'async']);
      const request: Record<string, unknown> = { ...world.purchase(), syncMode };
      const before = new Set(world.assets.keys());
      const status = syncMode === 'sync' ? 201 : 202;
      const answer = await world.expect(status, 'POST', '/v1/license-orders', { body: request });
      const channelOrderId = String(request['channelOrderId']);
      world.same('the state', answer.body['state'], syncMode === 'sync' ? 'succeeded' : 'accepted');
      const nums = (await world.listAssets()).map(({ assetNum }) => String(assetNum));
      const [assetNum = '', ...more] = nums.filter((each) => !before.has(each));
      world.same('further assets', more, []);
      world.assets.set(assetNum, null);
      const [item] = answer.body['items'] as { licenseOrderId: string }[];
      const licenseOrderId = item?.licenseOrderId ?? '';
      world.orders.push({ channelOrderId, request, status, record: answer.body, licenseOrderId, assetNum });
      await world.seeAssets();
      await world.seeOrder(channelOrderId, answer.body);
    },
  },

  'place it again': {
    weight: 2,
    may: ({ orders }) => some(orders),
    run: async (world, { of }) => {
      const order = of(world.orders);
      const answer = await world.expect(order.status, 'POST', '/v1/license-orders', { body: order.request });
      world.sameOrder(answer.body, order.record);
      world.same('Idempotent-Replayed', answer.headers.get('idempotent-replayed'), 'true');
      await world.seeAssets();
    },
  },

  'place another under its number': {
    weight: 1,
    may: ({ orders }) => some(orders),
    run: async (world, { of }) => {
      const { channelOrderId, record: kept } = of(world.orders);
      const body = { ...world.purchase({ customerId: 'cus-harbour-default' }), channelOrderId };
      await world.expect([422, 'idempotency-key-reused'], 'POST', '/v1/license-orders', { body });
      await world.seeOrder(channelOrderId, kept);
      await world.seeAssets();
    },
  },

  'place an order that is refused': {
    weight: 2,
    run: async (world) => {
      const body = world.purchase({ customerId: `nobody-${world.crm}` });
      await world.expect([422, 'upstream-rejected'], 'POST', '/v1/license-orders', { body });
      const found = await world.expect(
        200,
        'GET',
        `/v1/license-orders/crm/${String(body['channelOrderId'])}`,
      );
      const [item, ...others] = found.body['items'] as { sequence: number; licenseOrderId: string | null }[];
      const left = [found.body['state'], item?.sequence, item?.licenseOrderId, others.length];
      world.same('what is left of it', left, ['rejected', 1, null, 0]);
      await world.seeAssets();
    },
  },

  'place an order that is not valid': {
    weight: 1,
    run: async (world) => {
      const body = { ...world.purchase(), syncMode: 'later' };
      await world.expect([400, 'validation-failed'], 'POST', '/v1/license-orders', { body });
      const { channelOrderId } = body as { channelOrderId?: string };
      await world.expect([404, 'order-not-found'], 'GET', `/v1/license-orders/crm/${channelOrderId}`);
      await world.seeAssets();
    },
  },

  'look what an order would send': {
    weight: 1,
    run: async (world) => {
      const body = world.purchase();
      await world.expect(200, 'POST', '/v1/license-orders?validateOnly=true', { body });
      await world.expect(
        [404, 'order-not-found'],
        'GET',
        `/v1/license-orders/crm/${String(body['channelOrderId'])}`,
      );
      await world.seeAssets();
    },
  },

  'revoke an asset': {
    weight: 2,
    may: ({ orders }) => some(orders),
    run: async (world, { of }) => {
      const order = of(world.orders);
      await world.expect(201, 'POST', '/v1/license-orders', { body: revocation(world, order) });
      world.orders.splice(world.orders.indexOf(order), 1);
      world.revoked.push(order);
      world.assets.delete(order.assetNum);
      await world.seeAssets();
      // The order was still placed.
      await world.seeOrder(order.channelOrderId, order.record);
    },
  },

  'use an asset that is revoked': {
    weight: 2,
    may: ({ revoked }) => some(revoked),
    run: async (world, { of }) => {
      const order = of(world.revoked);
      await world.expect([422, 'upstream-rejected'], 'POST', '/v1/license-orders', {
        body: revocation(world, order),
      });
      const { id } = of(world.members.values());
      const body = { assign: [order.assetNum] };
      await world.expect([404, 'asset-not-found'], 'PATCH', `${world.place}/members/${id}/asset-nums`, {
        body,
      });
      await world.seeAssets();
    },
  },

  'settle what is settled': {
    weight: 1,
    may: ({ orders }) => orders.some(({ status }) => status === 201),
    run: async (world, { of }) => {
      const order = of(world.orders.filter(({ status }) => status === 201));
      for (const as of ['succeeded', 'not_placed'])
        await world.expect([409, 'order-not-settleable'], 'POST', `${record(order)}/settlement`, {
          body: { as, reason: 'seen' },
        });
      await world.seeOrder(order.channelOrderId, order.record);
    },
  },

  'bind a further customer': {
    weight: 1,
    run: async (world) => {
      const channelCustomerId = world.fresh(`${world.crm}-C`);
      const body = {
        channelCode: 'crm',
        channelCustomerId,
        customerName: 'Branch',
        enterpriseName: world.customerName,
      };
      const bound = await world.expect(201, 'POST', '/v1/customers', { body });
      world.same('its enterprise', bound.body['enterpriseGlobalId'], world.enterprise);
      const again = await world.expect(201, 'POST', '/v1/customers', { body });
      world.same('the same customer', again.body, bound.body);
      const found = await world.expect(
        200,
        'GET',
        `/v1/customers?channelCode=crm&channelCustomerId=${channelCustomerId}`,
      );
      const ids = (found.body['items'] as { customerId: string }[]).map(({ customerId }) => customerId);
      world.same('found again', ids.includes(String(bound.body['customerId'])), true);
    },
  },

  'change the customer': {
    weight: 1,
    run: async (world, { text }) => {
      await world.expect(204, 'PATCH', `/v1/crm-customers/${world.crm}`, { body: { address: text } });
      await world.expect([422, 'upstream-rejected'], 'PATCH', `/v1/crm-customers/none-${world.crm}`, {
        body: { address: text },
      });
    },
  },

  'add a member': {
    weight: 4,
    run: async (world, { text }) => {
      const account = world.fresh('u');
      const password = `first-${world.fresh('p')}-${world.crm}`;
      const body = { members: [{ account, password, name: text.slice(0, 20) }] };
      const added = await world.expect(201, 'POST', `${world.place}/members`, { body });
      remember(world, added.body, password, text.slice(0, 20));
      await world.seeMembers();
    },
  },

  'add members, some of them taken': {
    weight: 1,
    run: async (world, { of, text }) => {
      const taken = of(world.members.values());
      const account = world.fresh('u');
      const password = `first-${world.fresh('p')}-${world.crm}`;
      const members = [
        { account: taken.account, password: `other-${password}`, name: 'Another' },
        { account, password, name: text.slice(0, 20) },
      ];
      const added = await world.expect(207, 'POST', `${world.place}/members`, { body: { members } });
      remember(world, added.body, password, text.slice(0, 20));
      await world.seeMembers();
      // The owner of the name keeps the old password.
      await world.login(taken);
    },
  },

  'add members, one of them refused': {
    weight: 2,
    run: async (world, { text }) => {
      const members = ['long-enough', 'short'].map((password) => ({
        account: world.fresh('u'),
        password,
        name: text.slice(0, 20),
      }));
      const added = await world.ask('POST', `${world.place}/members`, { body: { members } });
      world.must(added, 422, 'upstream-rejected');
      await world.seeMembers();
      for (const { account, password } of members)
        await world.expect([401, 'login-failed'], 'POST', '/v1/sessions', {
          body: { username: `${account}${suffixOf(world)}`, password },
        });
    },
  },

  'add members that are not valid': {
    weight: 1,
    run: async (world) => {
      const good = { account: world.fresh('u'), password: 'long-enough', name: 'Good' };
      await world.expect([400, 'validation-failed'], 'POST', `${world.place}/members`, {
        body: { members: [good, { ...good, name: '' }] },
      });
      await world.seeMembers();
    },
  },

  'rename a member': {
    weight: 2,
    run: async (world, { of, text }) => {
      const member = of(world.members.values());
      const account = world.fresh('r');
      const name = text.slice(0, 20);
      await world.expect(204, 'PATCH', `${world.place}/members/${member.id}`, {
        body: { account, name },
      });
      const before = { ...member };
      Object.assign(member, { account, name, login: `${account}${suffixOf(world)}` });
      end(world, before.login);
      await world.seeMembers();
      await world.expect([401, 'login-failed'], 'POST', '/v1/sessions', {
        body: { username: before.login, password: before.password },
      });
    },
  },

  'rename a member to a name that is taken': {
    weight: 1,
    may: ({ members }) => members.size > 1,
    run: async (world, { of }) => {
      const [first, second] = [...world.members.values()] as [Member, Member];
      const [member, other] = of([
        [first, second],
        [second, first],
      ] as const);
      const body = { account: other.account, name: 'Impostor' };
      const answer = await world.ask('PATCH', `${world.place}/members/${member.id}`, { body });
      if (answer.status < 400) throw new Error('took the name of another');
      await world.seeMembers();
    },
  },

  'set a password': {
    weight: 2,
    run: async (world, { of }) => {
      const member = of(world.members.values());
      const password = `next-${world.fresh('p')}-${world.crm}`;
      await world.expect(204, 'PUT', `${world.place}/members/${member.id}/password`, { body: { password } });
      const before = { ...member };
      member.password = password;
      end(world, member.login);
      await world.expect([401, 'login-failed'], 'POST', '/v1/sessions', {
        body: { username: before.login, password: before.password },
      });
      world.sessions.push(await world.login(member));
    },
  },

  'delete a member': {
    weight: 2,
    may: ({ members }) => members.size > 1,
    run: async (world, { of }) => {
      const member = of(world.members.values());
      await world.expect(204, 'DELETE', `${world.place}/members/${member.id}`);
      world.members.delete(member.id);
      world.gone.push(member);
      for (const [assetNum, owner] of world.assets) if (owner === member.id) world.assets.set(assetNum, null);
      end(world, member.login);
      await world.seeMembers();
      await world.seeAssets();
    },
  },

  'use a member who is gone': {
    weight: 3,
    may: ({ gone }) => some(gone),
    run: async (world, { of, text }) => {
      const { id, login, password } = of(world.gone);
      const missing = [404, 'member-not-found'] as const;
      const place = `${world.place}/members/${id}`;
      await world.expect(missing, 'PATCH', place, {
        body: { account: world.fresh('u'), name: text.slice(0, 20) },
      });
      await world.expect(missing, 'PUT', `${place}/password`, { body: { password: 'long-enough' } });
      await world.expect(missing, 'DELETE', place);
      // The gateway itself refuses a number that another member has, before the platform looks at the member.
      const [assetNum] = free(world);
      if (assetNum !== undefined)
        await world.expect(missing, 'PATCH', `${world.place}/members/${id}/asset-nums`, {
          body: { assign: [assetNum] },
        });
      const loan = { lentLockNum: '8000001006', assetIds: ['ast-1002'] };
      await world.expect(missing, 'POST', `${world.place}/members/${id}/loans`, { body: loan });
      await world.expect([401, 'login-failed'], 'POST', '/v1/sessions', {
        body: { username: login, password },
      });
      await world.seeMembers();
      await world.seeAssets();
    },
  },

  'assign an asset number': {
    weight: 3,
    may: (world) => some(free(world)),
    run: async (world, { of }) => {
      const assetNum = of(free(world));
      const { id } = of(world.members.values());
      await world.expect(200, 'PATCH', `${world.place}/members/${id}/asset-nums`, {
        body: { assign: [assetNum] },
      });
      world.assets.set(assetNum, id);
      await world.seeAssets();
    },
  },

  'assign what is assigned': {
    weight: 1,
    may: (world) => some(assigned(world)) && world.members.size > 1,
    run: async (world, { of }) => {
      const [assetNum, owner] = of(assigned(world));
      // For its own member it would be a repetition, which is no fault.
      const { id } = of([...world.members.values()].filter((member) => member.id !== owner));
      // Together with a free one: all of it or nothing.
      const body = { assign: [...free(world).slice(0, 1), assetNum] };
      await world.expect([409, 'asset-assigned-twice'], 'PATCH', `${world.place}/members/${id}/asset-nums`, {
        body,
      });
      await world.seeAssets();
    },
  },

  'withdraw an asset number': {
    weight: 1,
    may: (world) => some(assigned(world)),
    run: async (world, { of }) => {
      const [assetNum, owner] = of(assigned(world));
      await world.expect(200, 'PATCH', `${world.place}/members/${owner}/asset-nums`, {
        body: { withdraw: [assetNum] },
      });
      world.assets.set(assetNum, null);
      await world.seeAssets();
    },
  },

  "assign another enterprise's asset number": {
    weight: 1,
    run: async (world, { of }) => {
      const { id } = of(world.members.values());
      const body = { assign: ['8000001001'] };
      await world.expect(
        [409, 'asset-of-other-customer'],
        'PATCH',
        `${world.place}/members/${id}/asset-nums`,
        { body },
      );
      await world.seeAssets();
    },
  },

  'log in': {
    weight: 3,
    run: async (world, { of }) => {
      const session = await world.login(of(world.members.values()));
      world.sessions.push(session);
      const headers = { 'x-session-id': session.id };
      const found = await world.expect(200, 'GET', '/v1/sessions/current', { headers });
      world.same('who is logged in', found.body['username'], session.user);
    },
  },

  'log in with a wrong password': {
    weight: 1,
    run: async (world, { of }) => {
      const { login, password } = of(world.members.values());
      await world.expect([401, 'login-failed'], 'POST', '/v1/sessions', {
        body: { username: login, password: `${password}x` },
      });
    },
  },

  'use a session': {
    weight: 2,
    may: ({ sessions }) => some(sessions),
    run: async (world, { of }) => world.seeMembers({ 'x-session-id': of(world.sessions).id }),
  },

  "use another caller's session": {
    weight: 1,
    may: ({ sessions }) => some(sessions),
    run: async (world, { of }) => {
      const session = of(world.sessions);
      const request = { who: 'meridian', headers: { 'x-session-id': session.id } } as const;
      for (const method of ['GET', 'DELETE'])
        await world.expect([401, 'session-expired'], method, '/v1/sessions/current', request);
      await world.expect([401, 'session-expired'], 'GET', '/v1/enterprises/ent-meridian/members', request);
      // It stays valid.
      await world.seeMembers({ 'x-session-id': session.id });
    },
  },

  'log out': {
    weight: 1,
    may: ({ sessions }) => some(sessions),
    run: async (world, { of }) => {
      const session = of(world.sessions);
      await world.expect(204, 'DELETE', '/v1/sessions/current', { headers: { 'x-session-id': session.id } });
      world.sessions.splice(world.sessions.indexOf(session), 1);
      world.ended.push(session);
      await world.seeDead(session);
    },
  },

  'use a session that was ended': {
    weight: 2,
    may: ({ ended }) => some(ended),
    run: async (world, { of }) => world.seeDead(of(world.ended)),
  },

  'be another tenant': {
    weight: 3,
    run: async (world, { of }) => {
      const { id } = of(world.members.values());
      const tries: [method: string, target: string, body?: object][] = [
        ['GET', `${world.place}/assets`],
        ['GET', `${world.place}/members`],
        ['GET', `${world.place}/asset-nums`],
        ['GET', `${world.place}/lent-locks`],
        ['GET', `${world.place}/overview`],
        [
          'POST',
          `${world.place}/members`,
          { members: [{ account: 'x', password: 'long-enough', name: 'X' }] },
        ],
        ['PATCH', `${world.place}/members/${id}`, { account: 'x', name: 'X' }],
        ['PUT', `${world.place}/members/${id}/password`, { password: 'long-enough' }],
        ['DELETE', `${world.place}/members/${id}`],
        ['POST', '/v1/license-orders', world.purchase()],
        [
          'POST',
          '/v1/license-orders',
          { ...world.purchase({ enterpriseGlobalId: world.enterprise }), channelCode: 'partner' },
        ],
        ['GET', `/v1/customers?channelCode=crm&channelCustomerId=${world.crm}`],
        ...world.orders.slice(0, 1).map((order): [string, string] => ['GET', record(order)]),
      ];
      const [method, target, body] = of(tries);
      await world.expect([403, 'forbidden'], method, target, { who: 'meridian', body });
      const own = await world.expect(200, 'GET', '/v1/license-orders?pageSize=5', { who: 'meridian' });
      const channels = (own.body['items'] as { channelCode: string }[]).map(({ channelCode }) => channelCode);
      world.same(
        'channels of the orders that are listed',
        [...new Set(channels)].filter((each) => each !== 'partner'),
        [],
      );
      await world.seeMembers();
    },
  },

  'reserve numbers under a key': {
    weight: 1,
    run: async (world) => {
      const headers = { 'idempotency-key': `key-of-numbers-of-${world.fresh(world.crm)}` };
      const reserve = (size: number, who: 'fleet' | 'meridian' = 'fleet') =>
        world.ask('POST', '/v1/asset-num-reservations', { who, headers, body: { size } });
      const first = await reserve(1);
      world.must(first, 201);
      const again = await reserve(1);
      world.same(
        'the answer to the repeat',
        [again.body, again.headers.get('idempotent-replayed')],
        [first.body, 'true'],
      );
      world.must(await reserve(2), 422, 'idempotency-key-reused');
      // The same key of another caller is another key.
      const other = await reserve(1, 'meridian');
      world.must(other, 201);
      world.same('replayed to another', other.headers.get('idempotent-replayed'), null);
      if (JSON.stringify(other.body) === JSON.stringify(first.body))
        throw new Error('numbers reserved twice');
    },
  },

  'read with what is known': {
    weight: 1,
    run: async (world, { text }) => {
      const target = `${world.place}/members?pageSize=200`;
      const { headers } = await world.expect(200, 'GET', target);
      const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } };
      await world.expect(304, 'GET', target, known);
      await acts['add a member']?.run(world, { of: ([first]) => first as never, text });
      await world.expect(200, 'GET', target, known);
    },
  },
};

function revocation(world: World, { licenseOrderId, assetNum }: Order): object {
  return {
    channelCode: 'crm',
    channelOrderId: world.fresh(`${world.crm}-`),
    items: [
      {
        orderType: 'delete_asset',
        licenseType: 'cloud_account',
        srcLicenseOrderId: licenseOrderId,
        customer: { crmCustomerId: world.crm },
        assets: [{ assetNums: [assetNum] }],
      },
    ],
  };
}

function remember(
  world: World,
  { succeeded }: Record<string, unknown>,
  password: string,
  name: string,
): void {
  const [made, ...more] = succeeded as { memberGlobalId: string; userName: string }[];
  if (!made || more.length > 0) throw new Error('added another number of members');
  const [account = ''] = made.userName.split('@');
  world.members.set(made.memberGlobalId, {
    id: made.memberGlobalId,
    account,
    login: made.userName,
    name,
    password,
  });
}

function suffixOf(world: World): string {
  const [{ login } = { login: '' }] = world.members.values();
  return login.slice(login.indexOf('@'));
}

/** Sessions of a user who was renamed, deleted or given another password are over. */
function end(world: World, user: string): void {
  for (const session of world.sessions.filter((each) => each.user === user))
    world.sessions.splice(world.sessions.indexOf(session), 1);
}

/** A step's random choice: the act, the target, and a text. */
interface Step {
  readonly act: number;
  readonly picks: readonly number[];
  readonly text: string;
}

/** Does one of the acts that have a target. */
async function take(world: World, { act, picks, text }: Step): Promise<void> {
  const possible = Object.entries(acts).filter(([, { may }]) => may?.(world) ?? true);
  const each = possible.flatMap((found) => Array.from({ length: found[1].weight }, () => found));
  const [name, { run }] = each[act % each.length] as [string, Act];
  world.acted.push(name);
  let drawn = 0;
  const of = <T>(things: Iterable<T>): T => {
    const all = [...things];
    return all[(picks[drawn++ % picks.length] ?? 0) % all.length] as T;
  };
  await run(world, { of, text });
}

export interface SequencesReport {
  readonly sequences: number;
  readonly requests: number;
  /** How often each act was done. */
  readonly acted: ReadonlyMap<string, number>;
  readonly violations: readonly { readonly what: string; readonly example: string }[];
}

interface Options {
  readonly seed: number;
  readonly sequences: number;
  readonly progress?: (done: number) => void;
}

const LANES = 6;
const MAX_STEPS = 12;

/** This many sequences, a few at a time, each in an enterprise of its own. */
export async function runSequences(
  stage: Stage,
  { seed, sequences, progress }: Options,
): Promise<SequencesReport> {
  const step: fc.Arbitrary<Step> = fc.record({
    act: fc.nat(1_000_000),
    picks: fc.array(fc.nat(1_000), { minLength: 3, maxLength: 3 }),
    // Never only white space, which the platform treats as absent.
    text: fc.string({ unit: fc.constantFrom(..."aZ9-_.é名😀<>&'"), minLength: 1, maxLength: 20 }),
  });
  const violations: { what: string; example: string }[] = [];
  const counts = { sequences: 0, requests: 0 };
  const acted = new Map<string, number>(Object.keys(acts).map((name) => [name, 0]));

  const runOne = async (steps: readonly Step[]): Promise<void> => {
    const world = await World.make(stage);
    try {
      for (const each of steps) await take(world, each);
    } catch (error) {
      throw new Error(`${world.acted.join(', ')}: ${(error as Error).message}`, { cause: error });
    } finally {
      counts.sequences++;
      counts.requests += world.requests;
      for (const name of world.acted) acted.set(name, (acted.get(name) ?? 0) + 1);
      if (counts.sequences % 100 === 0) progress?.(counts.sequences);
    }
  };
  const lane = async (index: number): Promise<void> => {
    const steps = fc.array(step, { minLength: 2, maxLength: MAX_STEPS, size: 'max' });
    const numRuns = Math.ceil(sequences / LANES);
    const found = await search(steps, runOne, { numRuns, seed: seed + index });
    if (found) violations.push({ what: found.what, example: JSON.stringify(found.example) });
  };
  await Promise.all([...Array(LANES).keys()].map(lane));
  return { ...counts, acted, violations };
}
