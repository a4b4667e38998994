import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { scopes } from '../../src/request/scopes.ts';
import { operations, type OperationName } from '../../src/upstream/operations.ts';
import { newSecret } from '../support/canary.ts';
import { routes } from '../support/contract.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { requestFields } from '../support/named-fields.ts';
import { operationCases } from '../support/operations.ts';
import { useSandbox } from '../support/stack.ts';

/** Risk 1 of the security design: with any id, a bound caller reaches nothing of an enterprise that it is not granted. */

/** The ids of each kind: an own one, one of another enterprise, and one that does not exist, all of the same form. */
const IDS = {
  enterprise: ['ent-harbour', 'ent-meridian', 'ent-meridiam'],
  asset: ['ast-1002', 'ast-2002', 'ast-2992'],
  assetNum: ['8000001009', '8000002002', '8000002992'],
  lock: ['8000001003', '8000002001', '8000002991'],
  lentLock: ['8000001006', '8000004002', '8000004992'],
  member: ['mem-harbour-anna', 'mem-meridian-noor', 'mem-meridian-none'],
  customer: ['cus-harbour-default', 'cus-meridian-default', 'cus-meridiam-default'],
  channelCustomer: ['CH-1001', 'CH-4001', 'CH-4991'],
  order: ['lic-5003', 'lic-6002', 'lic-6992'],
} as const;
type Kind = keyof typeof IDS;

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}
/** An own id at a path of a request; `list`: other ids may be beside it. */
interface Place {
  readonly kind: Kind;
  readonly own: string;
  /** The request with these ids in place of the own one. */
  readonly put: (...ids: string[]) => Request;
  readonly list: boolean;
}

const HARBOUR = '/v1/enterprises/ent-harbour';
const customer = {
  customerId: 'cus-harbour-default',
  channelCustomerId: 'CH-1001',
  enterpriseGlobalId: 'ent-harbour',
};
const product = { productUri: 'draft.pro', srcLicenseOrderId: 'lic-5003' };
const packages = [
  {
    merchandiseNum: 'PKG-1',
    products: [product],
    children: [{ merchandiseNum: 'PKG-2', products: [product] }],
  },
];
const assets = [{ assetNums: ['8000001009'], products: [product], merchandises: packages }];
const orderFor = (orderType: string): Request => ({
  method: 'POST',
  path: '/v1/license-orders',
  body: {
    channelCode: 'crm',
    channelOrderId: 'SO-R',
    items: [{ licenseType: 'cloud_account', customer, orderType, srcLicenseOrderId: 'lic-5003', assets }],
  },
});
const MEMBER = `${HARBOUR}/members/mem-harbour-anna`;

/** Requests that name something of the enterprise in every field that can carry it. */
const named: Readonly<Record<string, Request>> = {
  deleteMember: { method: 'DELETE', path: MEMBER },
  setMemberAssetNums: { method: 'PUT', path: `${MEMBER}/asset-nums`, body: { assetNums: ['8000001009'] } },
  changeMemberAssetNums: {
    method: 'PATCH',
    path: `${MEMBER}/asset-nums`,
    body: { assign: ['8000001009'], withdraw: ['8000001002'] },
  },
  exportMembers: { method: 'GET', path: `${HARBOUR}/members/export` },
  importMembers: {
    method: 'POST',
    path: `${HARBOUR}/member-imports/dry-run`,
    headers: { 'content-type': 'text/csv' },
    body: `account,password,name\nrita,${newSecret('m')},Rita\n`,
  },
  getOverview: { method: 'GET', path: `${HARBOUR}/overview` },
  refreshEstate: {
    method: 'POST',
    path: '/v1/estate/refreshes',
    body: { enterpriseGlobalId: 'ent-harbour' },
  },
};
const writesAndReads: readonly (readonly [operation: string, Request])[] = [
  ...['new_buy', 'delete_asset', 'delete_product'].map((type) => ['placeOrder', orderFor(type)] as const),
  ...operationCases
    .filter(({ id, path }) => path.startsWith(HARBOUR) && !(id in named))
    .map((each) => [each.id, each] as const),
  ...Object.entries(named),
];
const dryRuns = writesAndReads.flatMap(([id, request]) => {
  const dryRun = routes.find(({ operation }) => operation['x-dry-run-of'] === id)?.operation.operationId;
  const path = request.path.replace(/(\/dry-run)?$/, '/dry-run');
  return dryRun === undefined ? [] : [[dryRun, { ...request, method: 'POST', path }] as const];
});
const requests = [...writesAndReads, ...dryRuns];

const sandbox = useSandbox();
let gateway: GatewayInProcess;

beforeAll(async () => {
  const rights = { scopes: [...scopes], enterprises: ['ent-harbour'], channels: ['crm'], users: ['default'] };
  // The deletions name packages too, which the gateway sends to a platform only that is known to take them.
  const profile = join(mkdtempSync(join(tmpdir(), 'reach-')), 'profile.json');
  writeFileSync(profile, JSON.stringify({ version: 1, readings: { packagesInDeletion: 'taken' } }));
  const environment = { CACHE_TTL_MS: '60000', PLATFORM_PROFILE_FILE: profile, ESTATE_REFRESH: '6h' };
  gateway = await startInProcess(sandbox, environment, [{ name: 'bound', ...rights }]);
});
beforeEach(() => sandbox.reset());
afterAll(() => gateway.stop());

let orders = 0;
function send({ method, path, body, headers = {} }: Request): Promise<TestAnswer> {
  const isOrder = typeof body === 'object' && 'channelOrderId' in body;
  const fresh = isOrder ? { ...body, channelOrderId: `SO-R-${++orders}` } : body;
  return gateway.request(method, path, { body: fresh, headers, key: gateway.keys['bound'] as string });
}

/** The calls to the platform that change data. */
async function writes(): Promise<{ operation: string; path: string; body: unknown }[]> {
  const calls = await sandbox.calls();
  return calls
    .filter(({ operation }) => operations[operation as OperationName].effect !== 'read')
    .map(({ operation, path, body }) => ({ operation: String(operation), path, body }));
}

/** A number that the caller may also have reserved is looked up in the same way. */
const fields = () =>
  requestFields(gateway.app).map((each) =>
    each.name === 'newAssetNum' ? { ...each, name: 'assetNum' as const } : each,
  );

/** Every field of a request for an id of which the test knows an own one, from the declarations of the operation's classes. */
function placesOf(operation: string, request: Request): Place[] {
  const own = fields().filter((each) => each.operation === operation && each.name && each.name in IDS);
  const inPath = own
    .filter(({ part }) => part === 'param')
    .map(({ name }): Place => {
      const id = IDS[name as Kind][0];
      const put = (other = '') => ({ ...request, path: request.path.replace(id, other) });
      return { kind: name as Kind, own: id, put, list: false };
    });
  const paths = new Map(
    own.filter(({ part }) => part === 'body').map(({ path, name }) => [path, name as Kind]),
  );
  const inBody: Place[] = [];
  const walk = (value: unknown, path: string, keys: readonly (string | number)[]): void => {
    const kind = paths.get(path) ?? paths.get(path.replace(/(\.children\[\])+/, '.children[]'));
    if (kind && keys.length > 0) {
      const isList = Array.isArray(value);
      const put = (...ids: string[]) => ({
        ...request,
        body: replaced(request.body, keys, isList ? ids : ids[0]),
      });
      inBody.push({ kind, own: (isList ? value[0] : value) as string, put, list: isList });
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) walk(item, `${path}[]`, [...keys, index]);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value))
        walk(inner, path === '' ? key : `${path}.${key}`, [...keys, key]);
    }
  };
  walk(request.body, '', []);
  return [...inPath, ...inBody];
}

function replaced(body: unknown, keys: readonly (string | number)[], value: unknown): object {
  const copy = structuredClone(body) as Record<string | number, unknown>;
  const parent = keys
    .slice(0, -1)
    .reduce<Record<string | number, unknown>>((inner, key) => inner[key] as never, copy);
  parent[keys.at(-1) as string | number] = value;
  return copy;
}

/** The response without the parts that always differ: the named id, times, and the request's own id. */
function shown({ status, headers, text }: TestAnswer, ...ids: string[]): object {
  const names = [...headers].filter(
    ([name]) => !/^(date|x-request-id|server-timing|ratelimit|content-length)/.test(name),
  );
  const body = ids.reduce((all, id) => all.replaceAll(id, 'ID'), text).replace(/"requestId":"[^"]*"/, '');
  return { status, headers: Object.fromEntries(names), body };
}

/** Their ids belong to the gateway itself, or to the person who logs in. */
const NAMING_NOTHING = new Set(['getProblem', 'createSession']);

describe('S1 a field of a request', () => {
  it('declares what it names, if it holds an id', () => {
    const undeclared = fields().filter(
      ({ operation, holdsId, name }) => holdsId && !name && !NAMING_NOTHING.has(operation),
    );
    expect(undeclared.map(({ operation, field }) => `${operation}: ${field}`)).toEqual([]);
    // An empty search would pass too, so the list must have entries.
    expect(fields().filter(({ name }) => name !== undefined).length).toBeGreaterThan(60);
  });

  it('must be granted, if it is one of an enterprise or of a channel', () => {
    const granted: Record<string, readonly (string | undefined)[]> = {
      enterpriseGlobalId: ['enterprise', 'enterpriseFilter'],
      channelCode: ['channel'],
    };
    const ofTenants = fields().filter(({ path }) => path.replace(/.*\./, '') in granted);
    expect(ofTenants.length).toBeGreaterThan(20);
    const open = ofTenants.filter(
      ({ path, name }) => !granted[path.replace(/.*\./, '')]?.includes(name) && name !== 'unbounded',
    );
    expect(open.map(({ operation, field }) => `${operation}: ${field}`)).toEqual([]);
  });

  it('declares what it names, if it is an id in a path', () => {
    const missing = routes.flatMap(({ template, operation }) =>
      [...template.matchAll(/\{(\w+)\}/g)]
        .filter(() => template.startsWith('/v1/'))
        .map(([, id]) => ({ operation: operation.operationId, id }))
        .filter(
          ({ operation: of, id }) =>
            !fields().some((each) => each.operation === of && each.part === 'param' && each.path === id),
        ),
    );
    expect(missing).toEqual([]);
  });

  it('is tried here, if the gateway looks it up', () => {
    const tried = new Set(
      requests.flatMap(([operation, request]) =>
        placesOf(operation, request).map(({ kind }) => `${operation} ${kind}`),
      ),
    );
    const needed = fields().filter(({ name }) => name && name in IDS);
    const missing = needed
      .map(({ operation, name }) => `${operation} ${name}`)
      .filter((each) => !tried.has(each));
    expect({ 'rows that test/support/operations.ts lacks': missing }).toEqual({
      'rows that test/support/operations.ts lacks': [],
    });
  });
});

/** Forms of an id that a careless reader takes for the same one, and JSON that is no text. */
const disguises = (id: string): readonly unknown[] => [
  id.toUpperCase(),
  id.replace(/[aeo]/, (letter) => ({ a: 'а', e: 'е', o: 'о' })[letter] ?? ''),
  `${id}\u0000`,
  `${id},ent-harbour`,
  id.replace('-', '%2d'),
  '*',
  '__proto__',
  { id },
  true,
];

describe('S1 an id of another enterprise', () => {
  const cases = requests.map(([operation, request], index) => ({ operation, index, request }));

  it.each(cases)(
    '$operation ($index): own ids are served, foreign ones are refused like unknown ones, and nothing is written',
    async ({ operation, request }) => {
      const isDry = operation.startsWith('dryRun');
      const served = await send(request);
      // The platform may refuse the order as a whole for its content, but no id is unknown.
      const right = operation === 'placeOrder' ? [201, 422] : [200, 201, 202, 204];
      expect(right.includes(served.status) ? 'right' : served).toBe('right');
      await sandbox.reset();
      for (const { kind, own, put, list } of placesOf(operation, request)) {
        const [, foreign, unknown] = IDS[kind];
        const refused = kind === 'enterprise' ? 403 : 404;
        const [one, other] = [await send(put(foreign)), await send(put(unknown))];
        expect([kind, shown(one, foreign)]).toEqual([kind, shown(other, unknown)]);
        if (kind === 'lock') {
          const items = [{ assetNum: foreign, status: 'not_found' }];
          expect(one.body).toMatchObject(isDry ? { wouldSend: [], effects: [] } : { items, succeeded: 0 });
        } else {
          expect([kind, one.status]).toEqual([kind, refused]);
          expect(one.body).toMatchObject({ outcome: 'not_processed', retryable: false });
        }
        const isInPath = request.path.includes(own);
        // A dry run has the check of its write.
        const odds = isDry ? [] : [...disguises(foreign), own.toUpperCase()];
        for (const odd of odds.filter((each) => each !== own)) {
          if (isInPath && typeof odd !== 'string') continue;
          const answer = await send(put(isInPath ? encodeURIComponent(odd as string) : (odd as string)));
          const isRefused = [400, 403, 404].includes(answer.status) || answer.text.includes('"not_found"');
          expect([kind, odd, answer.status, isRefused]).toEqual([kind, odd, answer.status, true]);
        }
        if (!list) continue;
        const statuses = [];
        for (const ids of [
          [own, foreign],
          [foreign, own],
          [foreign, foreign],
        ])
          statuses.push((await send(put(...ids))).status);
        expect([kind, statuses]).toEqual([
          kind,
          kind === 'lock' ? (isDry ? [200, 200, 400] : [207, 207, 400]) : [404, 404, 400],
        ]);
      }
      for (const write of await writes()) {
        expect(write.operation).toMatch(/Locks$/);
        expect((write.body as { assetNums: string[] }).assetNums).toEqual(['8000001003']);
      }
    },
  );
});
