import { expect, it } from '@jest/globals';
import { scopes } from '../../src/caller/scopes.ts';
import { newSecret } from '../support/canary.ts';
import { useStack } from '../support/stack.ts';

/**
 * An attacker with one narrow key tries every id of other enterprises, in every disguise, in every field for an id, and in some other
 * fields.
 */

const HARBOUR = '/v1/enterprises/ent-harbour';
/** The data of another enterprise, as the platform holds it. */
const FOREIGN = {
  enterprise: ['ent-meridian', '9007199254741993', 'ent-tidewater'],
  member: ['mem-meridian-noor', 'mem-meridian-admin', 'mem-longfellow-admin', 'mem-tidewater-admin'],
  asset: ['ast-2001', 'ast-2002', '9007199254743993'],
  assetNum: ['8000002001', '8000002002', '8000004001'],
  customer: ['cus-meridian-default', '9007199254742993'],
  order: ['lic-6001', 'lic-6002', '9007199254745993'],
  channelCustomer: ['PT-2001', 'CH-4001'],
};
const ANY = [...new Set(Object.values(FOREIGN).flat())];
/** No response to this key may show these: names of people and companies, and ids that the attacker did not name. */
const NAMES = ['Noor', 'Mira', 'Meridian', 'Longfellow', 'Lena', 'Tidewater', 'survey.field'];

interface Attack {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const { sandbox, gateway } = useStack({
  environment: { CACHE_TTL_MS: '60000' },
  callers: [
    {
      name: 'stolen',
      scopes: scopes.filter((scope) => scope !== 'customers:write'),
      enterprises: ['ent-harbour'],
      channels: ['crm'],
      users: ['default'],
    },
  ],
});

/** Forms that a careless reader takes for the same id. */
function disguises(id: string): string[] {
  return [
    id,
    id.toUpperCase(),
    ` ${id}`,
    `${id} `,
    `${id}\u0000`,
    `${id}\u200b`,
    `ent-harbour/../${id}`,
    `../${id}`,
    `${id}/`,
    `${id}?x=1`,
    `${id}#`,
    `${id};a=b`,
    `${id},ent-harbour`,
    `ent-harbour,${id}`,
    encodeURIComponent(`../${id}`),
    id.replace('-', '%2d'),
    id.replace(/[ae]/, (letter) => (letter === 'a' ? 'а' : 'е')),
    [...id]
      .map((char) =>
        /[a-z0-9]/.test(char) ? String.fromCodePoint((char.codePointAt(0) ?? 0) + 0xfee0) : char,
      )
      .join(''),
    '*',
    '__proto__',
  ];
}

/** JSON values other than text in place of an id. */
const shapes = (id: string): unknown[] => [
  [id],
  { id },
  Number(id) || 1,
  null,
  true,
  [id, id],
  ['8000001001', id],
];

let count = 0;
const item = (more: object = {}, customer: object = {}) => ({
  orderType: 'new_buy',
  licenseType: 'softkey',
  customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour', ...customer },
  assets: [{ products: [{ productUri: 'draft.pro' }] }],
  ...more,
});
const order = (...items: object[]): Attack => ({
  method: 'POST',
  path: '/v1/license-orders',
  body: { channelCode: 'crm', channelOrderId: `SO-A-${++count}`, items },
});
const revoke = (type: string, assetNum: unknown, more: object = {}) =>
  item({
    orderType: type,
    allOrders: true,
    assets: [
      {
        assetNums: Array.isArray(assetNum) ? assetNum : [assetNum],
        ...(type === 'delete_product' && { products: [{ productUri: 'draft.pro' }] }),
      },
    ],
    ...more,
  });

/** Each takes an id where one of the enterprise is expected. */
const places: readonly ((id: string) => Attack)[] = [
  (id) => order(item({}, { enterpriseGlobalId: id })),
  (id) => order(item({}, { customerId: id })),
  (id) => order(item({}, { customerId: id, enterpriseGlobalId: undefined })),
  (id) => order(item({}, { customerId: id, channelCustomerId: 'CH-1001' })),
  (id) => order(item({}, { customerId: id, channelCustomerId: 'CH-4001' })),
  (id) => order(item({}, { channelCustomerId: id })),
  (id) => order(item({}, { crmCustomerId: id })),
  (id) => order(item(), item({}, { customerId: id })),
  (id) => order(item(), item({}, { enterpriseGlobalId: id, customerId: 'cus-meridian-default' })),
  (id) => order(item({ srcLicenseOrderId: id })),
  (id) => order(item({ assets: [{ assetNums: [id], products: [{ productUri: 'draft.pro' }] }] })),
  (id) =>
    order(item({ assets: [{ assetNums: ['8000001001', id], products: [{ productUri: 'draft.pro' }] }] })),
  (id) =>
    order(
      item({ assets: [{ assetNums: [id], transferred: true, products: [{ productUri: 'draft.pro' }] }] }),
    ),
  (id) => order(item({ assets: [{ products: [{ productUri: 'draft.pro', srcLicenseOrderId: id }] }] })),
  (id) =>
    order(
      item({
        assets: [
          {
            merchandises: [
              {
                merchandiseNum: 'P',
                children: [
                  { merchandiseNum: 'Q', products: [{ productUri: 'draft.pro', srcLicenseOrderId: id }] },
                ],
              },
            ],
          },
        ],
      }),
    ),
  (id) => order(revoke('delete_asset', id)),
  (id) => order(revoke('delete_asset', ['8000001001', id])),
  (id) => order(revoke('delete_asset', id, { allOrders: undefined, srcLicenseOrderId: id })),
  (id) => order(revoke('delete_product', id)),
  (id) => order(revoke('delete_product', '8000001001', { allOrders: undefined, srcLicenseOrderId: id })),
  (id) => ({ ...order(revoke('delete_asset', id)), path: '/v1/license-orders?validateOnly=true' }),
  (id) => ({ method: 'POST', path: `${HARBOUR}/locks/disable`, body: { assetNums: [id] } }),
  (id) => ({ method: 'POST', path: `${HARBOUR}/locks/enable`, body: { assetNums: [id, '8000001003'] } }),
  (id) => ({
    method: 'POST',
    path: `/v1/enterprises/${id}/locks/disable`,
    body: { assetNums: ['8000002001'] },
  }),
  (id) => ({
    method: 'PATCH',
    path: `${HARBOUR}/members/mem-harbour-dora/asset-nums`,
    body: { assign: [id] },
  }),
  (id) => ({
    method: 'PATCH',
    path: `${HARBOUR}/members/mem-harbour-dora/asset-nums`,
    body: { withdraw: [id] },
  }),
  (id) => ({
    method: 'PATCH',
    path: `${HARBOUR}/members/${id}/asset-nums`,
    body: { assign: ['8000001009'] },
  }),
  (id) => ({
    method: 'PATCH',
    path: `/v1/enterprises/${id}/members/mem-meridian-noor/asset-nums`,
    body: { withdraw: ['8000002002'] },
  }),
  (id) => ({
    method: 'POST',
    path: `${HARBOUR}/members/mem-harbour-dora/loans`,
    body: { lentLockNum: id, assetIds: ['ast-1002'] },
  }),
  (id) => ({
    method: 'POST',
    path: `${HARBOUR}/members/mem-harbour-dora/loans`,
    body: { lentLockNum: '8000001006', assetIds: [id] },
  }),
  (id) => ({
    method: 'POST',
    path: `${HARBOUR}/members/${id}/loans`,
    body: { lentLockNum: '8000001006', assetIds: ['ast-2002'] },
  }),
  (id) => ({ method: 'DELETE', path: `${HARBOUR}/members/${id}` }),
  (id) => ({ method: 'DELETE', path: `/v1/enterprises/${id}/members/mem-meridian-noor` }),
  (id) => ({ method: 'PUT', path: `${HARBOUR}/members/${id}/password`, body: { password: newSecret('m') } }),
  (id) => ({ method: 'PATCH', path: `${HARBOUR}/members/${id}`, body: { account: 'noor', name: 'Owned' } }),
  (id) => ({
    method: 'POST',
    path: `/v1/enterprises/${id}/members`,
    body: { members: [{ account: 'spy', name: 'Spy', password: newSecret('m') }] },
  }),
  (id) => ({ method: 'GET', path: `${HARBOUR}/assets/${id}/products` }),
  (id) => ({ method: 'GET', path: `/v1/enterprises/${id}/assets/ast-2002/products` }),
  ...['assets', 'members', 'asset-nums', 'lent-locks', 'overview'].map((list) => (id: string) => ({
    method: 'GET',
    path: `/v1/enterprises/${id}/${list}`,
  })),
  (id) => ({ method: 'GET', path: `${HARBOUR}/members?keyword=${id}` }),
  (id) => ({ method: 'GET', path: `${HARBOUR}/members?enterpriseGlobalId=${id}` }),
  (id) => ({ method: 'GET', path: `${HARBOUR}/assets?extendCode=${id}` }),
  (id) => ({ method: 'GET', path: `/v1/customers?channelCode=crm&channelCustomerId=${id}` }),
  (id) => ({ method: 'GET', path: `/v1/customers?channelCode=${id}&channelCustomerId=PT-2001` }),
  (id) => ({ method: 'PATCH', path: `/v1/crm-customers/${id}`, body: { customerName: 'Owned' } }),
  (id) => ({ method: 'GET', path: `/v1/license-orders/partner/${id}` }),
  (id) => ({ method: 'GET', path: `/v1/license-orders/crm/${id}` }),
  (id) => ({
    method: 'POST',
    path: `/v1/license-orders/crm/${id}/settlement`,
    body: { as: 'not_placed', reason: 'mine' },
  }),
];

/** Requests that are about more than one id. */
function tricks(): Attack[] {
  const body = (text: string): Attack => ({ method: 'POST', path: '/v1/license-orders', body: text });
  const own = JSON.stringify(order(item()).body);
  const delivered = order(revoke('delete_asset', '8000002001'));
  const repeated = { 'idempotency-key': 'a-key-of-the-attacker-1' };
  return [
    body(
      own.replace(
        '"enterpriseGlobalId":"ent-harbour"',
        '"enterpriseGlobalId":"ent-harbour","enterpriseGlobalId":"ent-meridian"',
      ),
    ),
    body(
      own.replace(
        '"customerId":"cus-harbour-default"',
        '"customerId":"cus-harbour-default","customerId":"cus-meridian-default"',
      ),
    ),
    body(own.replace('"customerId"', '"customer\\u0049d":"cus-meridian-default","customerId"')),
    body(own.replace('"items":', '"orderList":[{"customerId":"cus-meridian-default"}],"items":')),
    body(own.replace('"customer":{', '"enterpriseGlobalId":"ent-meridian","customer":{')),
    body(own.replace('"customer":{', '"__proto__":{"enterpriseGlobalId":"ent-meridian"},"customer":{')),
    body(own.replace('"customer":{', '"customer":{"constructor":{"prototype":{"reach":true}},')),
    {
      ...delivered,
      headers: { 'x-enterprise-global-id': 'ent-meridian', 'x-caller': 'tester', 'x-grants': '*' },
    },
    { ...delivered, headers: { 'x-acting-user': 'meridian' } },
    { method: 'GET', path: `${HARBOUR}/members`, headers: { 'x-acting-user': 'meridian' } },
    {
      method: 'GET',
      path: '/v1/enterprises/ent-meridian/members',
      headers: { 'x-http-method-override': 'DELETE', 'x-original-url': `${HARBOUR}/members` },
    },
    {
      method: 'GET',
      path: `${HARBOUR}/members`,
      headers: {
        'x-original-url': '/v1/enterprises/ent-meridian/members',
        'x-rewrite-url': '/v1/enterprises/ent-meridian/members',
      },
    },
    { method: 'HEAD', path: '/v1/enterprises/ent-meridian/members' },
    { method: 'GET', path: '/v1/enterprises//ent-meridian/members' },
    { method: 'GET', path: '/V1/enterprises/ent-meridian/members' },
    { method: 'GET', path: `${HARBOUR}/..%2fent-meridian/members` },
    { method: 'GET', path: `${HARBOUR}%2f..%2fent-meridian/members` },
    {
      method: 'GET',
      path: `${HARBOUR}/members?pageSize=200&enterpriseGlobalId=ent-harbour&enterpriseGlobalId=ent-meridian`,
    },
    { method: 'GET', path: '/v1/license-orders?page=1&pageSize=100' },
    // An own write under a key, then a foreign one under the same key.
    {
      method: 'POST',
      path: `${HARBOUR}/locks/disable`,
      body: { assetNums: ['8000001003'] },
      headers: repeated,
    },
    {
      method: 'POST',
      path: `${HARBOUR}/locks/disable`,
      body: { assetNums: ['8000002001'] },
      headers: repeated,
    },
    {
      method: 'POST',
      path: '/v1/enterprises/ent-meridian/locks/disable',
      body: { assetNums: ['8000001003'] },
      headers: repeated,
    },
  ];
}

async function foreignState(): Promise<string> {
  const state = await sandbox.control<Record<string, object[]>>('GET', '/state');
  const isForeign = (text: string) =>
    /meridian|tidewater|longfellow|lic-600|ast-200|90071992547[45]\d993/i.test(text);
  return JSON.stringify(
    Object.entries(state).map(([name, rows]) => [
      name,
      rows.map((row) => JSON.stringify(row)).filter(isForeign),
    ]),
  );
}

it('S1 a stolen narrow key changes and reads nothing of another enterprise, in hundreds of variants', async () => {
  const key = gateway.keys['stolen'] as string;
  // Reads and orders of other callers are in the caches and in the ledger.
  for (const enterprise of FOREIGN.enterprise)
    for (const list of ['assets', 'members', 'asset-nums', 'lent-locks'])
      await gateway.get(`/v1/enterprises/${enterprise}/${list}`, { undocumented: true });
  await gateway.post('/v1/license-orders', {
    channelCode: 'crm',
    channelOrderId: 'PT-2001',
    items: [item({}, { customerId: 'cus-meridian-default', enterpriseGlobalId: 'ent-meridian' })],
  });
  const before = await foreignState();
  expect(before).toContain('mem-meridian-noor');
  const attacks = [
    ...places.flatMap((place) => ANY.map((id) => place(id))),
    ...places.flatMap((place) => disguises('ent-meridian').map((id) => place(encoded(place, id)))),
    ...places.flatMap((place) => disguises('8000002001').map((id) => place(encoded(place, id)))),
    ...places.flatMap((place) => shapes('8000002002').map((id) => place(id as string))),
    ...tricks(),
  ];
  const statuses = new Map<number, number>();
  const leaks: string[] = [];
  const run = async ({ method, path, body, headers }: Attack) => {
    const response = await fetch(gateway.url + path, {
      method,
      headers: {
        'x-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    const said = `${path} ${JSON.stringify(body)}`;
    const told = [...NAMES, ...ANY].filter((word) => text.includes(word) && !said.includes(word));
    if (told.length > 0 || response.status >= 500)
      leaks.push(`${method} ${said}: ${response.status} ${told.join()} ${text.slice(0, 300)}`);
  };
  // Several at a time, so that the look-up or refusal of one could affect another.
  const queue = attacks.values();
  await Promise.all(
    Array.from({ length: 6 }, async () => {
      for (const attack of queue) await run(attack);
    }),
  );
  process.stdout.write(
    `attacks: ${attacks.length}, ${JSON.stringify(Object.fromEntries([...statuses].sort()))}\n`,
  );
  expect(leaks).toEqual([]);
  expect(await foreignState()).toBe(before);
}, 120_000);

/** In a path, characters that would end it are encoded; in a body they stay unchanged. */
function encoded(place: (id: string) => Attack, id: string): string {
  return place('probe').path.includes('probe') ? encodeURIComponent(id) : id;
}
