import { describe, expect, it } from '@jest/globals';
import { scopes } from '../../src/request/scopes.ts';
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

const HERE: Readonly<Record<string, string>> = { enterpriseGlobalId: 'ent-harbour', channelCode: 'crm' };
/** What an operation of the gateway itself needs beside its path. */
const MORE: Readonly<Record<string, Partial<Request>>> = {
  settleOrder: { body: { as: 'succeeded', reason: 'seen at the platform' } },
  listJobs: { path: '/v1/jobs?enterpriseGlobalId=ent-harbour' },
  listEstate: { path: '/v1/estate?enterpriseGlobalId=ent-harbour' },
  getEstateSummary: { path: '/v1/estate/summary?enterpriseGlobalId=ent-harbour' },
  refreshEstate: { body: { enterpriseGlobalId: 'ent-harbour' } },
};
const documented = routes.filter(({ template }) => template.startsWith('/v1/'));
const ownOperations = documented
  .filter(({ operation }) => {
    const id = operation['x-dry-run-of'] ?? operation.operationId;
    return operationCases.every((each) => each.id !== id);
  })
  .map(({ operation: { operationId: id }, method, template }): Request => ({
    id,
    method,
    path: template.replaceAll(/\{(\w+)\}/g, (_, name: string) => HERE[name] ?? 'none'),
    ...MORE[id],
  }));

const ofPlatform = operationCases.map(({ id, method, path, body }) => ({
  id,
  method,
  path,
  // An item that names a tenant in every field where it may.
  body: id === 'placeOrder' ? { ...body, items: [itemOf(own)] } : body,
}));
const dryRuns = documented.flatMap(({ operation }) => {
  const write = ofPlatform.find(({ id }) => id === operation['x-dry-run-of']);
  return write
    ? [{ ...write, id: operation.operationId, method: 'POST', path: `${write.path}/dry-run` }]
    : [];
});
const requests: readonly Request[] = [...ofPlatform, ...dryRuns, ...ownOperations].map((request) =>
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

/**
 * The operations whose requests name neither enterprise nor channel nor user. Scopes and the platform's rights bound them. An operation that
 * names one in its body or query has a row in `MORE` instead, so that it is tried with another tenant.
 */
const NAMING_NOBODY = [
  'cancelJob',
  'createEnterprise',
  'createSession',
  'createWebhook',
  'deleteSession',
  'deleteWebhook',
  'dryRunCreateEnterprise',
  'dryRunReserveAssetNums',
  'dryRunUpdateCustomer',
  'endMaintenance',
  'getBudgets',
  'getCaller',
  'getJob',
  'getJobRows',
  'getMaintenance',
  'getSession',
  'getWebhook',
  'listDeliveries',
  'listEvents',
  'listGaps',
  'listOrders',
  'listWebhooks',
  'redeliver',
  'reserveAssetNums',
  'rotateWebhookSecret',
  'setMaintenance',
  'testWebhook',
  'updateCustomer',
  'updateWebhook',
  'watchEvents',
  'watchJob',
];

describe('S1 a tenant that the caller was not granted', () => {
  it('is tried with every operation of the document', () => {
    const naming = new Set(cases.map(({ id }) => id));
    const others = documented.map(({ operation }) => operation.operationId).filter((id) => !naming.has(id));
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
      if (ofPlatform.concat(dryRuns).some((each) => each.id === id))
        expect((await send(request, 'harbour')).status).toBeLessThan(300);
    },
  );
});
