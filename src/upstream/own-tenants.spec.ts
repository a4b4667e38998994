import { describe, expect, it } from '@jest/globals';
import { newTrace } from '../observability/tracing.ts';
import { type CallContext, type Grants, Progress, AuthorisedIds } from '../request/call-context.ts';
import { operationList, operations } from './operations.ts';
import { assertOwnTenants, ForeignTenant } from './own-tenants.ts';
import { UpstreamClient } from './upstream.client.ts';
import type { UpstreamRequest } from './upstream.exchange.ts';

const granted = (...ids: string[]): ReadonlySet<string> => new Set(ids);
const HARBOUR: Grants = {
  enterprises: granted('ent-harbour'),
  channels: granted('crm'),
  users: granted('anna'),
};
const NOBODY: Grants = { enterprises: granted(), channels: granted(), users: granted() };

function contextOf(grants: Grants, authorisedIds?: AuthorisedIds): CallContext {
  const caller = { name: 'harbour', grants };
  return {
    requestId: 'r',
    trace: newTrace(),
    progress: new Progress(),
    caller,
    ...(authorisedIds && { authorisedIds }),
  };
}

/** Every field of a request to the platform that may hold an enterprise or a channel. */
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
  'S1 %s of another tenant is not sent, although no guard has refused it',
  async (name) => {
    const nothing = undefined as never;
    const client = new UpstreamClient(nothing, nothing, nothing, nothing, nothing, nothing);
    for (const place of places) {
      for (const [request, grants] of [
        [place('ent-meridian', 'partner'), HARBOUR],
        [place('ent-harbour', 'crm'), NOBODY],
      ] as const) {
        const call = client.call(name, contextOf(grants), request, (data) => data);
        await expect(call).rejects.toBeInstanceOf(ForeignTenant);
      }
    }
  },
);

describe('S1 an id of a bound caller', () => {
  const authorisedIds = new AuthorisedIds();
  for (const kind of ['asset', 'assetNum', 'lentLock', 'member', 'customer', 'order'] as const)
    authorisedIds.add(kind, ['own']);
  const inOrder = (more: object): UpstreamRequest => ({
    body: { orderList: [{ enterpriseGlobalId: 'ent-harbour', ...more }] },
  });

  it.each<[string, (id: string) => UpstreamRequest]>([
    ['in the path', (assetId) => ({ ids: { assetId } })],
    ['in the query', (assetId) => ({ query: { assetId } })],
    ['in a list', (id) => ({ body: { assetNums: ['own', id] } })],
    ['of a customer', (customerId) => inOrder({ customerId })],
    ['deep in a package', (id) => inOrder({ packages: [{ children: [{ srcLicenseOrderId: id }] }] })],
    ['of a lent lock', (borrowedUsbKey) => ({ body: { borrowedUsbKey } })],
  ])('is sent %s only where it was looked up', (_, request) => {
    const check = (id: string, known?: AuthorisedIds) => () =>
      assertOwnTenants(operations.batchOrder, request(id), contextOf(HARBOUR, known));
    expect(check('own', authorisedIds)).not.toThrow();
    expect(check('foreign', authorisedIds)).toThrow(ForeignTenant);
    expect(check('own')).toThrow(ForeignTenant);
  });

  it('is never that of a CRM customer, and each item names its enterprise', () => {
    const check = (request: UpstreamRequest) => () =>
      assertOwnTenants(operations.batchOrder, request, contextOf(HARBOUR, authorisedIds));
    expect(check(inOrder({ borrowedUsbKey: true, customerId: null }))).not.toThrow();
    expect(check(inOrder({ crmCustomerId: 'own' }))).toThrow(ForeignTenant);
    expect(check({ body: { orderList: [{ customerId: 'own' }] } })).toThrow(ForeignTenant);
  });
});
