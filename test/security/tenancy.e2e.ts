import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scopes } from '../../src/caller/scopes.ts';
import { newTrace } from '../../src/observability/trace-context.ts';
import { type CallContext, type Grants } from '../../src/upstream/call-context.ts';
import { operationList, type OperationName } from '../../src/upstream/operations.ts';
import { ForeignTenant } from '../../src/upstream/tenancy.ts';
import { UpstreamClient } from '../../src/upstream/upstream.client.ts';
import type { UpstreamRequest } from '../../src/upstream/upstream-path.ts';
import { routes } from '../support/contract.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
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

const { sandbox, gateway } = useStack({
  callers: [
    {
      name: 'harbour',
      scopes: [...scopes],
      enterprises: ['ent-harbour'],
      channels: ['crm'],
      users: ['default'],
    },
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

/** Bodies that name a tenant in every field where the operation allows it. */
const fuller: Readonly<Record<string, object>> = {
  placeOrder: {
    items: [
      {
        orderType: 'new_buy',
        licenseType: 'softkey',
        customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
        assets: [{ products: [{ productUri: 'draft.pro' }] }],
      },
    ],
  },
};

const ownOperations: readonly Request[] = [
  { id: 'getOverview', method: 'GET', path: '/v1/enterprises/ent-harbour/overview' },
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
  { id: 'importMembers', method: 'POST', path: '/v1/enterprises/ent-harbour/member-imports' },
  { id: 'exportMembers', method: 'GET', path: '/v1/enterprises/ent-harbour/members/export' },
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
    body: body && { ...body, ...fuller[id] },
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
function foreign(request: Request, named: Named): Request | undefined {
  const text = JSON.stringify(request);
  const changed = text.replace(...SOMEBODY_ELSE[named]);
  return changed === text ? undefined : (JSON.parse(changed) as Request);
}

const send = ({ method, path, body, headers }: Request, caller: string): Promise<TestAnswer> =>
  gateway.request(method, path, {
    body,
    ...(headers && { headers }),
    key: gateway.keys[caller] as string,
  });

const cases = requests.flatMap((request) =>
  (['enterprise', 'channel', 'user'] as const).flatMap((named) => {
    const other = foreign(request, named);
    return other ? [{ id: request.id, named, own: request, other }] : [];
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
    expect(requests.map(({ id }) => id).sort()).toEqual(
      operations.map(({ operation }) => operation.operationId as string).sort(),
    );
    const naming = new Set(cases.map(({ id }) => id));
    expect(
      requests
        .map(({ id }) => id)
        .filter((id) => !naming.has(id))
        .sort(),
    ).toEqual(NAMING_NOBODY);
  });

  it.each(cases)(
    '$id: the $named of another tenant is 403, and nothing is sent to the platform',
    async (each) => {
      for (const [request, caller] of [
        [each.other, 'harbour'],
        [each.other, 'nobody'],
        [each.own, 'nobody'],
        [each.own, 'everybody-else'],
      ] as const) {
        const answer = await send(request, caller);
        expect([caller, answer.status]).toEqual([caller, 403]);
        expect(answer.body).toMatchObject({ code: 'forbidden', outcome: 'not_processed', retryable: false });
        expect(answer.text).not.toMatch(/ent-meridian|partner|admin@/);
      }
      expect(await sandbox.calls()).toEqual([]);
    },
  );

  it.each(requests.filter(({ id }) => operationCases.some((each) => each.id === id)))(
    '$id: its own is served',
    async (request) => {
      const answer = await send(request, 'harbour');
      expect(answer.status).toBeLessThan(300);
      expect((await sandbox.calls()).length).toBeGreaterThan(0);
    },
  );

  it('has no order in the list, and no record that the caller can read', async () => {
    const order = {
      channelCode: 'partner',
      channelOrderId: 'PO-9',
      items: [
        {
          orderType: 'new_buy',
          licenseType: 'softkey',
          customer: { customerId: 'cus-meridian-default' },
          assets: [{ products: [{ productUri: 'draft.pro' }] }],
        },
      ],
    };
    expect((await gateway.post('/v1/license-orders', order)).status).toBe(201);
    const all = await gateway.get('/v1/license-orders');
    expect(all.text).toContain('PO-9');
    for (const caller of ['harbour', 'nobody']) {
      const own = await send({ id: 'listOrders', method: 'GET', path: '/v1/license-orders' }, caller);
      expect([own.status, own.text.includes('PO-9')]).toEqual([200, false]);
      const path = '/v1/license-orders/partner/PO-9';
      expect((await send({ id: 'getOrder', method: 'GET', path }, caller)).status).toBe(403);
    }
  });

  it('gives no session of another caller', async () => {
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const { body } = await gateway.post('/v1/sessions', login, { key: gateway.keys['harbour'] as string });
    const headers = { 'x-session-id': body['sessionId'] as string };
    const path = '/v1/enterprises/ent-harbour/members';
    const calls = await sandbox.calls();
    const stolen = await gateway.get(path, { headers });
    expect([stolen.status, stolen.body['code']]).toEqual([401, 'session-expired']);
    expect(await sandbox.calls()).toEqual(calls);
    expect((await gateway.get(path, { headers, key: gateway.keys['harbour'] as string })).status).toBe(200);
  });
});

describe('S1 the second check, on the request as it is built', () => {
  let inside: GatewayInProcess;
  beforeAll(async () => {
    inside = await startInProcess(sandbox);
  });
  afterAll(() => inside.stop());

  const granted = (...ids: string[]): ReadonlySet<string> => new Set(ids);
  const harbour: Grants = {
    enterprises: granted('ent-harbour'),
    channels: granted('crm'),
    users: granted('anna'),
  };
  const context = (grants: Grants): CallContext => ({
    requestId: 'r',
    caller: { name: 'harbour', grants },
    user: {
      kind: 'alias',
      name: 'anna',
      token: () => Promise.reject(new Error('no token is asked for')),
      refused: () => Promise.resolve(),
    },
    trace: newTrace(),
    upstreamMs: 0,
  });
  const call = (name: OperationName, request: UpstreamRequest, grants = harbour) =>
    inside.app.get(UpstreamClient).call(name, context(grants), request, (data) => data);

  /** Every field of an upstream request that may hold an enterprise or a channel. */
  const places: readonly ((id: string, channel: string) => UpstreamRequest)[] = [
    (id) => ({ ids: { enterpriseGlobalId: id, memberGlobalId: 'm', assetId: 'a' } }),
    (id) => ({ query: { enterpriseGlobalId: id } }),
    (_, channelCode) => ({ query: { channelCode } }),
    (id) => ({ body: { enterpriseGlobalId: id } }),
    (_, channelCode) => ({ body: { channelCode } }),
    (id) => ({ body: { channelCode: 'crm', orderList: [{ enterpriseGlobalId: id }] } }),
    (_, channelCode) => ({ body: { channelCode: 'crm', orderList: [{}, { channelCode }] } }),
  ];

  it.each(operationList.map(({ name }) => name))(
    '%s of another tenant is not sent, although no guard has refused it',
    async (name) => {
      const tokens = (await sandbox.journal('token')).length;
      for (const place of places) {
        await expect(call(name, place('ent-meridian', 'partner'))).rejects.toBeInstanceOf(ForeignTenant);
        const none: Grants = { enterprises: granted(), channels: granted(), users: granted() };
        await expect(call(name, place('ent-harbour', 'crm'), none)).rejects.toBeInstanceOf(ForeignTenant);
      }
      expect(await sandbox.calls()).toEqual([]);
      expect(await sandbox.journal('token')).toHaveLength(tokens);
    },
  );
});
