import { describe, expect, it } from '@jest/globals';
import { scopes } from '../../src/caller/scopes.ts';
import { routes } from '../support/contract.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { type OperationCase, operationCases } from '../support/operations.ts';
import { useStack } from '../support/stack.ts';

/** Risk 1 of the security design: the gateway's tokens reach every enterprise, its callers only their own. */

type Named = 'enterprise' | 'channel' | 'user';
interface Request extends Pick<OperationCase, 'id' | 'method' | 'path' | 'body'> {
  readonly headers?: Record<string, string>;
}

/** The owner in the text of a request, and the replacement. */
const SOMEBODY_ELSE: Readonly<Record<Named, readonly [RegExp, string]>> = {
  enterprise: [/ent-harbour/g, 'ent-meridian'],
  channel: [/("channelCode":"|channelCode=|license-orders\/)crm\b/g, '$1partner'],
  user: [/("x-acting-user":")default\b/g, '$1meridian'],
};
const HARBOUR = '/v1/enterprises/ent-harbour';
const granted = { scopes: [...scopes], enterprises: ['ent-harbour'], channels: ['crm'], users: ['default'] };

const { sandbox, gateway } = useStack({
  environment: { CACHE_TTL_MS: '60000' },
  callers: [
    { name: 'harbour', ...granted },
    { name: 'nobody', scopes: [...scopes] },
    {
      name: 'everybody-else',
      scopes: [...scopes],
      enterprises: ['ent-meridian', 'ent-harbour*', '**', 'ENT-HARBOUR'],
      channels: ['partner', 'CRM', 'crm*'],
      users: ['meridian', 'anna', 'DEFAULT'],
    },
  ],
});

const itemOf = (customer: object) => ({
  orderType: 'new_buy',
  licenseType: 'softkey',
  customer,
  assets: [{ products: [{ productUri: 'draft.pro' }] }],
});
const own = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
const foreign = { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' };

const ownOperations: readonly Request[] = [
  { id: 'getOverview', method: 'GET', path: `${HARBOUR}/overview` },
  { id: 'listOrders', method: 'GET', path: '/v1/license-orders' },
  { id: 'getOrder', method: 'GET', path: '/v1/license-orders/crm/SO-T' },
  { id: 'getOrderAssets', method: 'GET', path: '/v1/license-orders/crm/SO-T/assets' },
  { id: 'listGaps', method: 'GET', path: '/v1/gaps' },
  { id: 'getCaller', method: 'GET', path: '/v1/callers/me' },
  {
    id: 'settleOrder',
    method: 'POST',
    path: '/v1/license-orders/crm/SO-T/settlement',
    body: { as: 'succeeded', reason: 'seen at the platform' },
  },
  { id: 'importMembers', method: 'POST', path: `${HARBOUR}/member-imports` },
  { id: 'exportMembers', method: 'GET', path: `${HARBOUR}/members/export` },
  { id: 'listJobs', method: 'GET', path: '/v1/jobs?enterpriseGlobalId=ent-harbour' },
  { id: 'getJob', method: 'GET', path: '/v1/jobs/none' },
  { id: 'watchJob', method: 'GET', path: '/v1/jobs/none/events' },
  { id: 'getJobRows', method: 'GET', path: '/v1/jobs/none/rows' },
  { id: 'retryJob', method: 'POST', path: '/v1/jobs/none/retry' },
  { id: 'cancelJob', method: 'DELETE', path: '/v1/jobs/none' },
  { id: 'createSession', method: 'POST', path: '/v1/sessions', body: {} },
  { id: 'getSession', method: 'GET', path: '/v1/sessions/current' },
  { id: 'deleteSession', method: 'DELETE', path: '/v1/sessions/current' },
];

const requests: readonly Request[] = [
  ...operationCases.map(({ id, method, path, body }) => ({
    id,
    method,
    path,
    // An item that names a tenant in every field where it may.
    body: id === 'placeOrder' ? { ...body, items: [itemOf(own)] } : body,
  })),
  ...ownOperations,
].map((request) =>
  actsAsUser(request.id) ? { ...request, headers: { 'x-acting-user': 'default' } } : request,
);

function actsAsUser(id: string): boolean {
  const route = routes.find(({ operation }) => operation.operationId === id);
  return route?.operation.parameters?.some(({ name }) => name === 'X-Acting-User') ?? false;
}

/** The same request with another tenant in that field; undefined where it has none. */
function ofAnother(request: Request, named: Named): Request | undefined {
  const text = JSON.stringify(request);
  const changed = text.replace(...SOMEBODY_ELSE[named]);
  return changed === text ? undefined : (JSON.parse(changed) as Request);
}

const send = ({ method, path, body, headers }: Omit<Request, 'id'>, caller: string): Promise<TestAnswer> =>
  gateway.request(method, path, {
    body,
    ...(headers && { headers }),
    key: gateway.keys[caller] as string,
    undocumented: true,
  });

const cases = requests.flatMap((request) =>
  (['enterprise', 'channel', 'user'] as const).flatMap((named) => {
    const other = ofAnother(request, named);
    return other ? [{ id: request.id, named, request, other }] : [];
  }),
);

/** Frozen: these name neither enterprise nor channel nor user. Scopes and the platform's rights bound them. */
const NAMING_NOBODY = [
  'cancelJob',
  'createEnterprise',
  'createSession',
  'deleteSession',
  'getCaller',
  'getJob',
  'getJobRows',
  'getSession',
  'listGaps',
  'listOrders',
  'reserveAssetNums',
  'updateCustomer',
  'watchJob',
];

describe('S1 a tenant that the caller was not granted', () => {
  it('is tried with every operation of the document', () => {
    const operations = routes.filter(({ template }) => template.startsWith('/v1/'));
    expect(requests.map(({ id }) => id).toSorted()).toEqual(
      operations.map(({ operation }) => operation.operationId).toSorted(),
    );
    const naming = new Set(cases.map(({ id }) => id));
    const others = requests.map(({ id }) => id).filter((id) => !naming.has(id));
    expect(others.toSorted()).toEqual(NAMING_NOBODY);
  });

  it.each(cases)(
    '$id: the $named of another tenant is 403, and nothing is sent to the platform',
    async ({ id, request, other }) => {
      for (const [asked, caller] of [
        [other, 'harbour'],
        [request, 'nobody'],
        [request, 'everybody-else'],
      ] as const) {
        const answer = await send(asked, caller);
        expect([caller, answer.status]).toEqual([caller, 403]);
        expect(answer.body).toMatchObject({ code: 'forbidden', outcome: 'not_processed', retryable: false });
        expect(answer.text).not.toMatch(/ent-meridian|partner|admin@/);
      }
      expect(await sandbox.calls()).toEqual([]);
      if (operationCases.some((each) => each.id === id))
        expect((await send(request, 'harbour')).status).toBeLessThan(300);
    },
  );
});

describe('S1 with a stolen key', () => {
  type Attack = Omit<Request, 'id' | 'body'> & { readonly body?: object | string };
  const read = (path: string, headers: Record<string, string> = {}): Attack => ({
    method: 'GET',
    path,
    headers,
  });
  const disable = (enterprise: string, assetNum: string, headers: Record<string, string>): Attack => ({
    method: 'POST',
    path: `/v1/enterprises/${enterprise}/locks/disable`,
    body: { assetNums: [assetNum] },
    headers,
  });
  const order = JSON.stringify({ channelCode: 'crm', channelOrderId: 'SO-stolen', items: [itemOf(own)] });
  const changed = (piece: string, by: string): Attack => ({
    method: 'POST',
    path: '/v1/license-orders',
    body: order.replace(piece, by),
  });
  const customer = '"customer":{';
  const underOneKey = { 'idempotency-key': 'a-key-of-the-attacker-1' };

  const tricks: readonly Attack[] = [
    changed('"customerId":', '"customerId":"cus-meridian-default","customerId":'),
    changed('"customerId"', String.raw`"customer\u0049d":"cus-meridian-default","customerId"`),
    changed('"items":', '"orderList":[{"customerId":"cus-meridian-default"}],"items":'),
    changed(customer, `"enterpriseGlobalId":"ent-meridian",${customer}`),
    changed(customer, `"__proto__":{"enterpriseGlobalId":"ent-meridian"},${customer}`),
    changed(customer, `${customer}"constructor":{"prototype":{"reach":true}},`),
    changed('"customerId":"cus-harbour-default",', '"customerId":"cus-meridian-default",'),
    disable('ent-harbour', '8000002001', { 'x-enterprise-global-id': 'ent-meridian', 'x-grants': '*' }),
    disable('ent-harbour', '8000002001', { 'x-acting-user': 'meridian' }),
    // An own write under a key, then foreign ones under the same key.
    disable('ent-harbour', '8000001003', underOneKey),
    disable('ent-harbour', '8000002001', underOneKey),
    disable('ent-meridian', '8000001003', underOneKey),
    read(`${HARBOUR}/members`, { 'x-acting-user': 'meridian' }),
    read(`${HARBOUR}/members`, { 'x-original-url': '/v1/enterprises/ent-meridian/members' }),
    read('/v1/enterprises/ent-meridian/members', { 'x-http-method-override': 'DELETE' }),
    read('/v1/enterprises//ent-meridian/members'),
    read('/V1/enterprises/ent-meridian/members'),
    read(`${HARBOUR}/..%2fent-meridian/members`),
    read(`${HARBOUR}/members?enterpriseGlobalId=ent-harbour&enterpriseGlobalId=ent-meridian`),
    read(`${HARBOUR}/members?keyword=noor`),
    read(`${HARBOUR}/assets?extendCode=8000002001`),
    read('/v1/customers?channelCode=crm&channelCustomerId=CH-4001'),
    read('/v1/customers?channelCode=partner&channelCustomerId=PT-2001'),
    read('/v1/license-orders?page=1&pageSize=100'),
    read('/v1/license-orders/crm/SO-meridian'),
    { ...read('/v1/enterprises/ent-meridian/members'), method: 'HEAD' },
    {
      method: 'POST',
      path: '/v1/license-orders/crm/SO-meridian/settlement',
      body: { as: 'not_placed', reason: 'mine' },
    },
  ];
  /** Names of people and companies, and ids that no attack names. */
  const FOREIGN = /Noor|Mira|Meridian|Longfellow|Tidewater|survey\.field|ast-2001|lic-6001/;

  async function foreignState(): Promise<string[]> {
    const state = await sandbox.control<Record<string, object[]>>('GET', '/state');
    const rows = Object.values(state).flatMap((each) => each.map((row) => JSON.stringify(row)));
    return rows.filter((row) => /meridian|tidewater|longfellow|lic-600|ast-200/i.test(row));
  }

  it('nothing of another enterprise is read or changed, by any trick', async () => {
    // Reads and an order of another caller are in the cache and in the ledger.
    for (const list of ['assets', 'members', 'asset-nums', 'lent-locks'])
      await gateway.get(`/v1/enterprises/ent-meridian/${list}`, { undocumented: true });
    const placed = { channelCode: 'crm', channelOrderId: 'SO-meridian', items: [itemOf(foreign)] };
    expect((await gateway.post('/v1/license-orders', placed)).status).toBe(201);
    const before = await foreignState();
    expect(before.join()).toContain('mem-meridian-noor');
    for (const attack of tricks) {
      const { status, text } = await send(attack as Omit<Request, 'id'>, 'harbour');
      const told = FOREIGN.exec(text)?.[0];
      expect({ attack, status, told }).toEqual({ attack, status: expect.any(Number), told: undefined });
      expect([attack, status < 500]).toEqual([attack, true]);
    }
    expect(await foreignState()).toEqual(before);
  });
});
