import fc from 'fast-check';
import { search } from './search.ts';
import type { FuzzStage } from './stage.ts';
import { type Order, World } from './world.ts';

/** Sequences of requests over one enterprise: created records can be read, repeats change nothing, deleted records are gone. */

interface Step {
  readonly weight: number;
  /** Whether the step has a target. */
  readonly may?: (world: World) => boolean;
  readonly run: (world: World, choice: Choice) => Promise<void>;
}

/** A step's random choice: the target among several, and a text. */
interface Choice {
  readonly of: <T>(things: Iterable<T>) => T;
  readonly text: string;
}

const free = (world: World) =>
  [...world.assets].filter(([, owner]) => owner === null).map(([assetNum]) => assetNum);
const assigned = (world: World) =>
  [...world.assets].filter(([, owner]) => owner !== null) as [string, string][];

const steps: Readonly<Record<string, Step>> = {
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
    may: ({ orders }) => orders.length > 0,
    run: async (world, { of }) => {
      const order = of(world.orders);
      const answer = await world.expect(order.status, 'POST', '/v1/license-orders', { body: order.request });
      world.sameOrder(answer.body, order.record);
      world.same('Idempotent-Replayed', answer.headers.get('idempotent-replayed'), 'true');
      await world.seeAssets();
    },
  },

  'revoke an asset': {
    weight: 2,
    may: ({ orders }) => orders.length > 0,
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
    may: ({ revoked }) => revoked.length > 0,
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

  'add a member': {
    weight: 4,
    run: async (world, { text }) => {
      const account = world.fresh('u');
      const password = `first-${world.fresh('p')}-${world.crm}`;
      const body = { members: [{ account, password, name: text.slice(0, 20) }] };
      const added = await world.expect(201, 'POST', `${world.place}/members`, { body });
      const [made, ...more] = added.body['succeeded'] as { memberGlobalId: string; userName: string }[];
      if (!made || more.length > 0) throw new Error('added another number of members');
      const { memberGlobalId: id, userName: login } = made;
      world.members.set(id, { id, account, login, name: text.slice(0, 20), password });
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
      await world.seeMembers();
      await world.seeNoLogin(before);
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
      await world.seeNoLogin(before);
      await world.login(member);
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
      await world.seeMembers();
      await world.seeAssets();
    },
  },

  'use a member who is gone': {
    weight: 3,
    may: ({ gone }) => gone.length > 0,
    run: async (world, { of, text }) => {
      const member = of(world.gone);
      const missing = [404, 'member-not-found'] as const;
      const place = `${world.place}/members/${member.id}`;
      await world.expect(missing, 'PATCH', place, {
        body: { account: world.fresh('u'), name: text.slice(0, 20) },
      });
      await world.expect(missing, 'PUT', `${place}/password`, { body: { password: 'long-enough' } });
      await world.expect(missing, 'DELETE', place);
      // The gateway itself refuses a number that another member has, before the platform looks at the member.
      const [assetNum] = free(world);
      if (assetNum !== undefined)
        await world.expect(missing, 'PATCH', `${place}/asset-nums`, { body: { assign: [assetNum] } });
      const loan = { lentLockNum: '8000001006', assetIds: ['ast-1002'] };
      await world.expect(missing, 'POST', `${place}/loans`, { body: loan });
      await world.seeNoLogin(member);
      await world.seeMembers();
      await world.seeAssets();
    },
  },

  'assign an asset number': {
    weight: 3,
    may: (world) => free(world).length > 0,
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

  'withdraw an asset number': {
    weight: 1,
    may: (world) => assigned(world).length > 0,
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

  'read with what is known': {
    weight: 1,
    run: async (world, { text }) => {
      const target = `${world.place}/members?pageSize=200`;
      const { headers } = await world.expect(200, 'GET', target);
      const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } };
      await world.expect(304, 'GET', target, known);
      await steps['add a member']?.run(world, { of: ([first]) => first as never, text });
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

function suffixOf(world: World): string {
  const [{ login } = { login: '' }] = world.members.values();
  return login.slice(login.indexOf('@'));
}

/** What a step does: which of those that have a target, which target, and a text. */
interface Drawn {
  readonly step: number;
  readonly picks: readonly number[];
  readonly text: string;
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  step: fc.nat(1_000_000),
  picks: fc.array(fc.nat(1_000), { minLength: 3, maxLength: 3 }),
  // Never only white space, which the platform treats as absent.
  text: fc.string({ unit: fc.constantFrom(..."aZ9-_.é名😀<>&'"), minLength: 1, maxLength: 20 }),
});

async function take(world: World, { step, picks, text }: Drawn): Promise<void> {
  const possible = Object.entries(steps).filter(([, { may }]) => may?.(world) ?? true);
  const each = possible.flatMap((found) => Array.from({ length: found[1].weight }, () => found));
  const [name, { run }] = each[step % each.length] as [string, Step];
  world.taken.push(name);
  let picked = 0;
  const of = <T>(things: Iterable<T>): T => {
    const all = [...things];
    return all[(picks[picked++ % picks.length] ?? 0) % all.length] as T;
  };
  await run(world, { of, text });
}

const LANES = 6;
const MAX_STEPS = 12;

/** This many sequences, a few at a time, each in an enterprise of its own. Returns what went wrong. */
export async function runSequences(
  stage: FuzzStage,
  { seed, sequences }: { readonly seed: number; readonly sequences: number },
): Promise<readonly string[]> {
  const runOne = async (sequence: readonly Drawn[]): Promise<void> => {
    const world = await World.make(stage);
    try {
      for (const each of sequence) await take(world, each);
    } catch (error) {
      throw new Error(`${world.taken.join(', ')}: ${(error as Error).message}`, { cause: error });
    } finally {
      stage.count('sequences');
      stage.count('requests in sequences', world.requests);
    }
  };
  const values = fc.array(drawn, { minLength: 2, maxLength: MAX_STEPS, size: 'max' });
  const numRuns = Math.ceil(sequences / LANES);
  const lanes = Array.from({ length: LANES }, (_, index) =>
    search(values, runOne, { numRuns, seed: seed + index }),
  );
  const found = (await Promise.all(lanes)).filter((each) => each !== undefined);
  return found.map(({ what, example }) => `${what}\n    ${JSON.stringify(example)}`);
}
