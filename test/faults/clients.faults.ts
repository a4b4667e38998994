import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { caseOf, order, read } from '../support/expected.ts';
import { orderOf } from '../support/order-body.ts';
import { converse } from '../support/raw-client.ts';
import { useStack } from '../support/stack.ts';

/** Wrong requests of callers; connections.faults.ts has what they do to their connections. */

const { sandbox, gateway } = useStack();

const ASSET_NUMS = '/v1/asset-num-reservations';
const CUSTOMERS = '/v1/customers';
const ORDERS = '/v1/license-orders';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const ASSETS = '/v1/enterprises/ent-harbour/assets';
const LOCKS = '/v1/enterprises/ent-harbour/locks/disable';

/** Sends a path byte for byte, since fetch would resolve dot segments. */
async function exactly(method: string, path: string, headers: Record<string, string> = {}) {
  const lines = Object.entries({ host: 'a', connection: 'close', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const { answers } = await converse(gateway.url, `${method} ${path} HTTP/1.1\r\n${head}\r\n`);
  expect(answers).toHaveLength(1);
  return answers[0] as (typeof answers)[0];
}

const known = () => ({ 'x-api-key': gateway.key });

describe('a request that is wrong', () => {
  afterEach(async () => {
    expect(await sandbox.calls()).toEqual([]);
  });

  async function faultsOf(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await gateway.request(method, path, { body });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      code: 'validation-failed',
      outcome: 'not_processed',
      retryable: false,
    });
    return answer.body['errors'];
  }

  const customer = caseOf('bindCustomer').body as object;
  const named = (customerName: string) => ({ ...customer, customerName });
  const misnamed = (json: string) => JSON.stringify(named('?')).replace('"?"', json);
  const member = { account: 'nina', password: 'first-login-9', name: 'Nina' };
  const members = (...fields: object[]) => ({ members: fields.map((each) => ({ ...member, ...each })) });
  const orderWith = (...items: object[]) => ({ channelCode: 'crm', channelOrderId: 'SO-1', items });
  const bought = {
    orderType: 'new_buy',
    licenseType: 'softkey',
    customer: { customerId: 'c' },
    assets: [{ products: [{}] }],
  };
  const purchase = (fields: object) => orderWith({ ...bought, ...fields });
  const asset = (fields: object) => purchase({ assets: [{ products: [{}], ...fields }] });
  const deleted = { ...bought, orderType: 'delete_asset', srcLicenseOrderId: 'l', customer: {} };
  const deletion = (fields: object) => orderWith({ ...deleted, assets: [{ assetNums: ['a'] }], ...fields });
  const levels = (count: number) => `{"size":${'['.repeat(count)}${']'.repeat(count)}}`;
  const many = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"${index.toString(36)}":1`).join()}}`;
  const deep = { merchandises: [{ children: [{ products: [{ prise: 1 }] }] }] };
  const tooLong = { account: 'a'.repeat(63), name: 'n'.repeat(31), remark: 'r'.repeat(201) };
  const tooMany = Array.from({ length: 1_001 }, (_, index) => ({ account: `m${index}` }));
  const ofNoOrder = { srcLicenseOrderId: undefined };
  const ofAllCloud = { ...ofNoOrder, allOrders: true, licenseType: 'cloud_account' };
  const products = { orderType: 'delete_product' };
  const unnamed = { ...products, assets: [{ assetNums: ['a'], products: [{ crmProductId: 'p' }] }] };
  const duration = { products: [{ timeDurationExpression: 'P1Y' }] };
  const ends = { startsAt: '2027-01-01T00:00:00Z', endsAt: '2026-12-31T23:59:59.999Z' };
  const atOnce = { startsAt: '2027-01-01T00:00:00Z', endsAt: '2027-01-01T08:00:00+08:00' };
  const ITEM = '/items/0';
  const ASSET = '/items/0/assets/0';

  /** The wrong bodies of each path: what is wrong, the body, and the places of its faults. */
  const bodies: Record<string, readonly (readonly [string, unknown, ...string[]])[]> = {
    [ASSET_NUMS]: [
      ['K2 nested 40 levels deep', levels(40), ''],
      ['K2 nested 10,000 levels deep', levels(10_000), ''],
      ['K3 of 90,000 fields', many(90_000), ''],
      ['K3 of 300,000 items', `{"size":[1${',1'.repeat(299_999)}]}`, ''],
      ['K5 not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), ''],
      ['K7 with an unknown field', { size: 1, sise: 2 }, '/sise'],
      ['K8 that is no object', '[]', ''],
      ['K8 that is empty', '', ''],
      ['K8 that is not JSON', '{"size":', ''],
      ['K8 with a number in a string', { size: '5' }, '/size'],
      ['K8 with a fraction', { size: 1.5 }, '/size'],
      ['K8 with a number beyond all bounds', '{"size":1e400}', '/size'],
      ['K8 with a number out of range', { size: 1001 }, '/size'],
      ['K9 with __proto__', '{"size":1,"__proto__":{"x":1}}', '/__proto__'],
      ['K9 with an escaped __proto__', '{"size":1,"\\u005f_proto__":1}', '/__proto__'],
      ['K9 with constructor', { size: 1, constructor: { prototype: {} } }, '/constructor'],
      ['K9 with a field twice', '{"size":1,"size":2}', '/size'],
    ],
    [CUSTOMERS]: [
      ['K5 with half a surrogate pair', misnamed(String.raw`"\ud800"`), '/customerName'],
      ['K6 with NUL in a name', named('a\0b'), '/customerName'],
      ['K6 with a C1 control in a name', named('a\u0085b'), '/customerName'],
      ['K6 with a name that turns its direction', named('a\u202eb'), '/customerName'],
      ['K6 with no space in an id', { ...customer, channelCustomerId: 'CH\u200b9' }, '/channelCustomerId'],
      ['K6 with a blank around an id', { ...customer, channelCustomerId: 'CH-9 ' }, '/channelCustomerId'],
      ['K6 with a name of blanks', named(' \u3000'), '/customerName'],
      ['K8 with null for a text', { ...customer, branchName: null }, '/branchName'],
      ['K8 with a long number for a text', misnamed('12345678901234567890'), '/customerName'],
    ],
    '/v1/enterprises': [['K7 with every field missing', {}, '/crmCustomerId', '/customerName']],
    [LOCKS]: [
      ['K8 with an empty list', { assetNums: [] }, '/assetNums'],
      ['K8 with a lock given twice', { assetNums: ['a', 'a'] }, '/assetNums'],
    ],
    [MEMBERS]: [
      ['K6 with a blank around a password', members({ password: 'first-login-9 ' }), '/members/0/password'],
      // The first letter is Cyrillic.
      ['K6 with an account of look-alikes', members({ account: 'аnna' }), '/members/0/account'],
      ['K16 of 1,001 members', members(...tooMany), '/members'],
      [
        'K16 with an account of 63, a name of 31 and a remark of 201 characters',
        members(tooLong),
        ...['/members/0/account', '/members/0/name', '/members/0/remark'],
      ],
      ['K16 with one account twice', members({}, { name: 'Other' }), '/members/1/account'],
    ],
    [ORDERS]: [
      [
        'K7 with an unknown field deep inside',
        purchase({ assets: [deep] }),
        `${ASSET}/merchandises/0/children/0/products/0/prise`,
      ],
      ['K7 with a field of a deletion', purchase({ allOrders: true }), '/items/0/allOrders'],
      ['K8 with null for an item', orderWith(null as never), '/items', ITEM],
      ['K8 with no such day', asset({ endsAt: '2026-02-30T00:00:00Z' }), `${ASSET}/endsAt`],
      [
        'K8 with an asset and products that end before they begin, or when they do',
        purchase({ assets: [{ ...ends, products: [ends, atOnce], merchandises: [{ products: [ends] }] }] }),
        ...['', '/products/0', '/products/1', '/merchandises/0/products/0'].map(
          (at) => `${ASSET}${at}/endsAt`,
        ),
      ],
      ['K8 with a time without a zone', asset({ endsAt: '2026-02-20T00:00:00' }), `${ASSET}/endsAt`],
      ['K8 with no y-m-d', asset(duration), `${ASSET}/products/0/timeDurationExpression`],
      ['K9 with a field twice deep inside', '{"items":[{"a":{"b":1,"b":1}}]}', '/items/0/a/b'],
      ['K17 without items', orderWith(), '/items'],
      ['K17 of an unknown type', purchase({ orderType: 'gift', junk: 1 }), '/items/0/orderType'],
      ['K17 of no licence', purchase({ licenseType: 'paper' }), '/items/0/licenseType'],
      ['K17 with one sequence twice', orderWith({ ...bought, sequence: 2 }, bought), '/items'],
      ['K17 that buys nothing', asset({ products: [] }), ASSET],
      ['K17 that buys without a customer', purchase({ customer: {} }), `${ITEM}/customer`],
      ['K17 that deletes from no order', deletion(ofNoOrder), ITEM],
      ['K17 that deletes from one order and all', deletion({ allOrders: true }), ITEM],
      ['K17 that deletes from all orders of a cloud type', deletion(ofAllCloud), ITEM],
      ['K17 that deletes no asset', deletion({ assets: [{ assetNums: [] }] }), `${ASSET}/assetNums`],
      ['K17 that deletes products without a product', deletion(products), ASSET],
      ['K17 that deletes a product without its uri', deletion(unnamed), `${ASSET}/products/0/productUri`],
    ],
  };
  const cases = Object.entries(bodies).flatMap(([path, rows]) =>
    rows.map(([title, body, ...pointers]) => ({ title, path, body, pointers })),
  );

  it.each(cases)('$title: a body is 400 with a pointer for each error', async ({ path, body, pointers }) => {
    const faults = (await faultsOf('POST', path, body)) as { pointer: string; detail: string }[];
    expect(faults.map(({ pointer }) => pointer).sort()).toEqual([...pointers].sort());
    for (const { detail } of faults) expect(detail).toMatch(/^(is|must) /);
  });

  const find = (query: string) => `${CUSTOMERS}?channelCode=crm&channelCustomerId=a${query}`;

  it.each<[string, string, string, string]>([
    ['K5', 'bytes that are no UTF-8', `${MEMBERS}?keyword=%ff`, 'query'],
    ['K7', 'an unknown parameter', find('&x=1'), 'x'],
    ['K7', 'a missing parameter', CUSTOMERS, 'channelCode'],
    ['K8', 'a word that is neither true nor false', find('&defaultOnly=yes'), 'defaultOnly'],
    ['K9', '__proto__', find('&__proto__=1'), '__proto__'],
    ['K13', 'a line break', `${ASSETS}?extendCode=a%0d%0aX-Other:%20b`, 'extendCode'],
    ['K14', 'a repeated parameter', find('&channelCode=crm'), 'channelCode'],
    ['K14', 'an operator in brackets', `${MEMBERS}?pageSize[$gt]=1`, 'pageSize[$gt]'],
    ['K15', 'a page of nothing', `${MEMBERS}?pageSize=0`, 'pageSize'],
    ['K15', 'a page beyond the cap', `${MEMBERS}?pageSize=201`, 'pageSize'],
    ['K15', 'a size with a sign', `${MEMBERS}?pageSize=%2B5`, 'pageSize'],
  ])('%s a query with %s is 400 with its name', async (_, __, path, name) => {
    const faults = (await faultsOf('GET', path)) as { parameter: string }[];
    expect(faults.map(({ parameter }) => parameter)).toEqual([name]);
  });

  it('K7 a request with faults in its path, query, headers and body is told of all of them at once', async () => {
    const faulty = { headers: { 'idempotency-key': 'short' } };
    const { status, body } = await gateway.post(`${ASSET_NUMS}?size=1`, { size: 0, x: 1 }, faulty);
    const places = (body['errors'] as { parameter?: string; pointer?: string }[]).map(
      ({ parameter, pointer }) => parameter ?? pointer,
    );
    expect([status, places.sort()]).toEqual([400, ['/size', '/x', 'Idempotency-Key', 'size']]);
    expect(await faultsOf('PATCH', `${MEMBERS}/a%20b%00`, { account: 'anna' })).toMatchObject([
      { parameter: 'memberGlobalId' },
      { pointer: '/name' },
    ]);
    expect(await faultsOf('PATCH', `${MEMBERS}/a%00`, '{"account":}')).toMatchObject([
      { parameter: 'memberGlobalId' },
      { pointer: '' },
    ]);
    const query = find('&channelCode=b&defaultOnly=yes&__proto__=1&x=1&page=1&page=a');
    const faults = (await faultsOf('GET', query)) as { parameter: string }[];
    expect(faults.map(({ parameter }) => parameter).sort()).toEqual([
      '__proto__',
      'channelCode',
      'defaultOnly',
      'page',
      'x',
    ]);
  });

  it('K7 parameters and a body on operations that have none, and a change of nothing, are 400', async () => {
    expect(await faultsOf('POST', `${ASSET_NUMS}?size=1`, { size: 1 })).toMatchObject([
      { parameter: 'size' },
    ]);
    for (const body of ['{"a":1}', '{{{'])
      expect([body, await faultsOf('DELETE', `${MEMBERS}/mem-harbour-bo`, body)]).toEqual([
        body,
        [{ pointer: '', detail: 'must be empty' }],
      ]);
    expect(await faultsOf('PATCH', '/v1/crm-customers/CRM-1001', {})).toMatchObject([{ pointer: '' }]);
  });

  it('K11 a path id that is none never becomes another path upstream', async () => {
    const detail = expect.stringMatching(/^must be 1 to 128 printable/);
    const wrong = { parameter: 'enterpriseGlobalId', detail };
    const ids = [
      '..',
      '%2E',
      '%2e%2e%2fmember',
      '..%5c',
      '..;',
      'a%00b',
      'a%3fb',
      'a%23b',
      'a%0d%0ab',
      'a%E2%80%8B',
    ];
    for (const id of [...ids, 'x'.repeat(129)]) {
      const { status, body } = await exactly('GET', `/v1/enterprises/${id}/assets`, known());
      expect([id, status, body]).toMatchObject([id, 400, { code: 'validation-failed', errors: [wrong] }]);
    }
    for (const id of ['%', '%zz', '%c0%ae']) {
      const { status, body } = await exactly('GET', `/v1/enterprises/${id}/assets`, known());
      expect([id, status, body]).toMatchObject([id, 400, { code: 'validation-failed' }]);
    }
  });

  it('K11 an order with a name of dots is refused: no client could ask for its record', async () => {
    for (const [field, value] of [
      ['channelOrderId', '.'],
      ['channelCode', '..'],
    ] as const)
      expect(await faultsOf('POST', ORDERS, { ...orderOf('SO-dots'), [field]: value })).toEqual([
        { pointer: `/${field}`, detail: 'must not be . or ..: no URL can name it' },
      ]);
  });

  it('K36 a password in a query is in no log line and no response', async () => {
    const password = `pw-${process.hrtime.bigint()}`;
    const answer = await gateway.get(find(`&password=${password}`));
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain(password);
    expect((await gateway.log()).join('\n')).not.toContain(password);
  });
});

it('K11 an odd path id is encoded once', async () => {
  const ids = ['%c3%a9', 'anna%40harbour', 'a.b', 'a%20b', '%252e%252e', '...', 'x'.repeat(128)];
  for (const id of ids) {
    const { status } = await exactly('GET', `/v1/enterprises/${id}/assets`, known());
    expect([id, status]).toEqual([id, 200]);
  }
  const paths = (await sandbox.journal('listAssets')).map(({ path }) => path.split('/').at(-2) ?? '');
  // The gateway asks after each of them for an enterprise that nobody has: the platform refuses both in the same words.
  const asked = paths.filter((_, index) => index % 2 === 0);
  expect(asked.map(decodeURIComponent)).toEqual(ids.map(decodeURIComponent));
});

describe('another spelling of a route', () => {
  it('K12 needs credentials too', async () => {
    for (const { method, path: of } of [read, order, caseOf('deleteMember')]) {
      const path = of.split('?')[0] as string;
      for (const variant of [
        path.replace('/v1/', '/v1/%2e/'),
        path.replace('/v1/', '//v1/'),
        path.replace('/v1/', '/V1/'),
        path.replace('/v1/', '/%76%31/'),
        path.replace('/v1/', '/v1;x/'),
        path.replace('/v1/', '/v1/x/../'),
        path.replace('/v1/', '/v1\\'),
        `/health/live/..${path}`,
        `${path}/`,
        `${path};x`,
        `${path}%00`,
        `${path}%2f`,
        `${path}/.`,
      ]) {
        const { status } = await exactly(method, variant);
        // 405 when it names part of another route.
        expect([variant, [400, 401, 404, 405].includes(status) ? '' : status]).toEqual([variant, '']);
      }
    }
    expect(await sandbox.calls()).toEqual([]);
  });

  it('K12 of the files of a page leads nowhere', async () => {
    for (const path of ['/docs/..', '/docs/%2e%2e/x', '/docs/../../package.json', '/docs/%00']) {
      const { status, body } = await exactly('GET', path);
      expect([path, Math.floor(status / 100), body]).toMatchObject([path, 4, { outcome: 'not_processed' }]);
    }
  });
});

describe('HTTP', () => {
  const MIB = 1024 * 1024;
  const typed = (type: string) => ({ 'content-type': type });

  it.each([
    ['with its length', `Content-Length: ${10 * MIB}\r\n\r\n`, ''],
    ['without a length', `Transfer-Encoding: chunked\r\n\r\n${(10 * MIB).toString(16)}\r\n`, '\r\n0\r\n\r\n'],
  ])(
    'K1 a body of 10 MiB %s is 413 to a client that sends all of it first, and its connection ends',
    async (_, head, end) => {
      const start = `POST ${ASSET_NUMS} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${gateway.key}\r\nContent-Type: application/json\r\n`;
      const bytes = Buffer.from(start + head + ' '.repeat(10 * MIB) + end);
      // Often enough to find a response that is sometimes lost to a client that is still sending.
      for (let round = 0; round < 3; round++) {
        let isTaken = false;
        const after = (socket: Socket) => socket.once('finish', () => (isTaken = true));
        const { answers } = await converse(gateway.url, bytes, { after });
        expect(isTaken).toBe(true);
        expect(answers).toMatchObject([
          {
            ...{ status: 413, headers: { connection: 'close' } },
            body: { code: 'payload-too-large', outcome: 'not_processed' },
          },
        ]);
      }
    },
  );

  it('K1 a body of exactly 1 MiB is read, one byte more is not', async () => {
    const body = `{"size":1}${' '.repeat(MIB - 10)}`;
    expect((await gateway.post(ASSET_NUMS, body)).status).toBe(201);
    expect((await gateway.post(ASSET_NUMS, `${body} `)).status).toBe(413);
  });

  it('K1 a client that asks before it sends 10 MiB is refused, and does not send them', async () => {
    const head = `POST ${ASSET_NUMS} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${gateway.key}\r\nContent-Type: application/json\r\n`;
    const { answers, closed } = await converse(
      gateway.url,
      `${head}Content-Length: ${10 * MIB}\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect(answers.map(({ status }) => status)).toEqual([413]);
    expect(closed).toBe(true);
  });

  it('K4 a body of another type, without one, or with a coding, is 415', async () => {
    const coded = { 'content-type': 'application/json', 'content-encoding': 'identity, gzip' };
    for (const headers of [
      {},
      coded,
      ...[
        'application/json;charset=gbk',
        'application/json, text/plain',
        'application/json; v="x"; charset=gbk',
      ].map(typed),
    ]) {
      const body = new Blob(['{"size":1}']);
      const init = { method: 'POST', headers: { ...known(), ...headers }, body };
      const answer = await fetch(gateway.url + ASSET_NUMS, init);
      expect([headers, answer.status, await answer.json()]).toEqual([
        headers,
        415,
        expect.objectContaining({ code: 'unsupported-media-type', outcome: 'not_processed' }),
      ]);
    }
    expect(await sandbox.calls()).toEqual([]);
    const taken = [
      ...[
        'application/json; charset=utf-8',
        'Application/JSON;charset="UTF-8"',
        'application/json;charset=utf8',
      ],
      ...[
        'application/json ;\tcharset = "UTF8" ; profile="a;b"',
        'application/json;',
        'application/json;v=1',
        'application/json;;charset="utf\\-8"',
        'application/json; charset=us-ascii',
        'application/json;CHARSET=Utf-8;',
        'application/json; boundary=----x',
      ],
    ];
    for (const headers of taken.map(typed))
      expect([headers, (await gateway.post(ASSET_NUMS, '{"size":1}', { headers })).status]).toEqual([
        headers,
        201,
      ]);
  });

  it('K4 a PATCH may say that its body is a merge patch, and other methods may not', async () => {
    const merge = typed('application/merge-patch+json; charset=utf-8');
    const path = `${MEMBERS}/mem-harbour-anna`;
    const edited = await gateway.request('PATCH', path, {
      headers: merge,
      body: JSON.stringify({ account: 'anna', name: 'Anna Hill' }),
    });
    expect(edited.status).toBe(204);
    expect((await gateway.get(path)).body).toMatchObject({ name: 'Anna Hill' });

    const other = await gateway.request('PATCH', path, { headers: typed('text/plain'), body: '{}' });
    expect([other.status, other.body['code']]).toEqual([415, 'unsupported-media-type']);
    const types = 'application/json, application/merge-patch+json';
    expect(other.headers.get('accept-patch')).toBe(types);
    const detail = /must be `application\/json` or `application\/merge-patch\+json` in UTF-8/;
    expect(other.body['errors']).toEqual([
      { parameter: 'Content-Type', detail: expect.stringMatching(detail) },
    ]);
    // The dry run of a PATCH takes what the PATCH takes, also on the path that it shares with another write.
    const change = JSON.stringify({ assign: ['8000001009'] });
    const runs = [
      [`${path}/dry-run`, JSON.stringify({ account: 'anna', name: 'Anna Dell' })],
      [`${path}/asset-nums/dry-run`, change],
      [`${path}/asset-nums/dry-run/patch`, change],
    ] as const;
    for (const [run, body] of runs)
      expect([run, (await gateway.post(run, body, { headers: merge })).status]).toEqual([run, 200]);
    const locks = await gateway.post(`${LOCKS}/dry-run`, '{"assetNums":["8000001003"]}', { headers: merge });
    expect(locks.status).toBe(415);
    const posted = await gateway.post(ASSET_NUMS, '{"size":1}', { headers: merge });
    expect([posted.status, posted.headers.get('accept-patch')]).toEqual([415, null]);
  });

  it('K6 names reach the platform in normal form C', async () => {
    const body = { ...caseOf('bindCustomer').body, customerName: 'Café am Kai' };
    expect((await gateway.post(CUSTOMERS, body)).status).toBe(201);
    expect((await sandbox.calls())[0]?.body).toMatchObject({ customerName: 'Café am Kai' });
  });

  it.each([
    ['a name in Persian', 'customerName', 'علی\u200cرضا'],
    ['a name with a joiner in Hindi', 'customerName', 'क्\u200dष'],
    ['a name with marks and isolates of the direction', 'customerName', '\u2067שלום\u2069\u200f'],
    ['a name of 5,000 characters', 'customerName', 'n'.repeat(5_000)],
    ['a name with a line end', 'branchName', 'Coast\r\nNorth'],
    ['an id with blanks in it, of 300 characters', 'channelCustomerId', `CH 2026${'7'.repeat(293)}`],
    ['a mobile number as people write it', 'passwordMobile', '+49 170 555'],
  ])('K6 %s reaches the platform as it is', async (_, field, text) => {
    const body = { ...caseOf('bindCustomer').body, [field]: text };
    await gateway.post(CUSTOMERS, body);
    expect((await sandbox.calls())[0]?.body).toMatchObject({ [field]: text });
  });

  it('K6 blanks around a text for people are removed, and within a value for programs they stay', async () => {
    const value = ' pier 1\n';
    const asset = { products: [{ productUri: 'draft.pro' }], extensions: [{ code: 'site', value }] };
    const body = orderOf('SO-blanks');
    const [item] = body.items;
    await gateway.post(ORDERS, {
      ...body,
      items: [{ ...item, customer: { ...item?.customer, address: ' 2 Quay\nStreet \n' }, assets: [asset] }],
    });
    expect((await sandbox.calls())[0]?.body).toMatchObject({
      orderList: [{ address: '2 Quay\nStreet', assets: [{ assetExtendList: [{ extendValue: value }] }] }],
    });
  });

  it('K8 a time with nanoseconds is cut, and an integer may have a fraction of zeros', async () => {
    const term = { startsAt: '2026-01-01T00:00:00.123456789Z', endsAt: '2027-01-01T00:00:00.999999999Z' };
    const product = { productUri: 'draft.pro', ...term, limitConcurrent: 5 };
    const body = orderOf('SO-nanos');
    const sentOrder = { ...body, items: [{ ...body.items[0], assets: [{ products: [product] }] }] };
    const json = JSON.stringify(sentOrder).replace('"limitConcurrent":5', '"limitConcurrent":5.00');
    expect((await gateway.post(ORDERS, json)).status).toBe(201);
    const sent = {
      limitStartDate: Date.parse('2026-01-01T00:00:00.123Z'),
      limitEndDate: Date.parse('2027-01-01T00:00:00.999Z'),
      limitConcurrent: 5,
    };
    expect((await sandbox.calls())[0]?.body).toMatchObject({
      orderList: [{ assets: [{ products: [sent] }] }],
    });
  });

  it('K8 a filter takes a date, which is the beginning of that day in UTC', async () => {
    const idsOf = async (end: string) => {
      const { status, body } = await gateway.get(`${ASSETS}?endsBefore=${end}&pageSize=1000`);
      expect([end, status]).toEqual([end, 200]);
      return (body['items'] as { assetId: string; endsAt: string }[]).map(({ endsAt }) => endsAt).sort();
    };
    const ends = await idsOf('2100-01-01');
    expect(ends.length).toBeGreaterThan(0);
    const day = String(ends[0]).slice(0, 10);
    expect(await idsOf(day)).toEqual(await idsOf(`${day}T00:00:00.000Z`));
    expect(await idsOf(day)).toEqual(await idsOf(`${day}T08:00:00+08:00`));
    for (const wrong of ['2027-02-30', '2027-1-1', '2027'])
      expect((await gateway.get(`${ASSETS}?endsBefore=${wrong}`)).body['errors']).toMatchObject([
        { parameter: 'endsBefore', detail: expect.stringContaining('or a date such as') },
      ]);
  });

  it('K10 headers with names of object members have no effect', async () => {
    const odd = { ['__proto__']: 'x', constructor: 'y', hasOwnProperty: 'z' };
    expect((await exactly('GET', read.path, { ...odd, ...known() })).status).toBe(200);
    expect((await gateway.get(read.path)).status).toBe(200);
  });

  it('K13 a header with a line break inside is 400, and nothing goes upstream', async () => {
    for (const header of [
      'Idempotency-Key: key-of-sixteen-c\rX-Other: b',
      'Idempotency-Key: key-of-sixteen-c\nX-Other: b',
    ]) {
      const { answers, closed } = await converse(
        gateway.url,
        `POST ${ASSET_NUMS} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${gateway.key}\r\nContent-Type: application/json\r\n` +
          `${header}\r\nContent-Length: 10\r\n\r\n{"size":1}`,
      );
      expect([header, closed, answers]).toMatchObject([
        header,
        true,
        [{ status: 400, body: { code: 'validation-failed' } }],
      ]);
    }
    expect(await sandbox.calls()).toEqual([]);
  });

  const padding = (bytes: number) => 'a'.repeat(bytes);
  const live = (headers: string) => `GET /health/live HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
  const headers = (count: number) => Array.from({ length: count }, (_, index) => `x${index}:1\r\n`).join('');

  it.each([
    ['a header of 20 kB', live(`X-Big: ${padding(20_000)}\r\n`), 431, 'headers-too-large'],
    ['200 headers of a few bytes', live(headers(200)), 431, 'headers-too-large'],
    ['a URL of 9 kB', `GET /${padding(9_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414, 'uri-too-long'],
    ['a URL of 60 kB', `GET /${padding(60_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414, 'uri-too-long'],
  ])('K25 %s is a problem in the usual form', async (_, bytes, status, code) => {
    const { answers } = await converse(gateway.url, bytes.replace('Host: a', 'Host: a\r\nConnection: close'));
    expect(answers).toMatchObject([
      {
        status,
        headers: { 'content-type': expect.stringMatching(/^application\/problem\+json/) },
        body: { status, code, outcome: 'not_processed', requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      },
    ]);
  });

  it('K25 98 headers, and an unknown path with an id of 120 characters, are accepted', async () => {
    const { answers } = await converse(gateway.url, live(`Connection: close\r\n${headers(98)}`));
    expect(answers.map(({ status }) => status)).toEqual([200]);
    const number = await gateway.request('PATCH', `/v1/crm-customers/${'7'.repeat(120)}`, {
      body: { address: 'x' },
    });
    expect(number.body).toMatchObject({ code: 'upstream-rejected' });
  });

  it('K26 a method that the path does not have is 405, with the methods of the path; an unknown path is 404', async () => {
    for (const method of ['TRACE', 'OPTIONS', 'PATCH', 'QUERY']) {
      const answer = await exactly(method, CUSTOMERS, known());
      expect(answer).toMatchObject({
        ...{ status: 405, headers: { allow: 'GET, HEAD, POST' } },
        body: { code: 'method-not-allowed' },
      });
      // The request is not echoed.
      expect(JSON.stringify(answer)).not.toContain(gateway.key);
      expect([method, (await exactly(method, '/v1/nothing', known())).status]).toEqual([method, 404]);
    }
    expect(await sandbox.calls()).toEqual([]);
  });

  it('K27 an Accept header that refuses JSON is 406', async () => {
    for (const accept of ['image/png', 'text/*', 'application/json;q=0', 'text/plain, text/html;q=0'])
      expect((await gateway.get(ASSETS, { headers: { accept } })).status).toBe(406);
    const accept = 'image/png, application/*;q=0.5';
    expect((await gateway.get(ASSETS, { headers: { accept } })).status).toBe(200);
  });

  it('K28 the gateway uses a well-formed request id, and otherwise makes one', async () => {
    const given = await gateway.get('/health/live', { headers: { 'x-request-id': 'trace:1.2_3-4' } });
    expect(given.headers.get('x-request-id')).toBe('trace:1.2_3-4');
    for (const odd of ['a b', 'x'.repeat(65), '']) {
      const made = await gateway.get('/v1/nothing', { headers: { 'x-request-id': odd } });
      expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(made.body['requestId']).toBe(made.headers.get('x-request-id'));
    }
    const twice = await exactly('GET', '/v1/nothing', { 'x-request-id': 'a\u00e9' });
    expect(twice.body['requestId']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('K28 the gateway trusts no proxy headers about the caller', async () => {
    const forged = {
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-original-url': '/health/live',
      'x-rewrite-url': '/health/live',
      'x-http-method-override': 'DELETE',
      forwarded: 'for=127.0.0.1;host=evil.example',
    };
    expect((await gateway.get(ASSETS, { key: null, headers: forged })).status).toBe(401);
    const members = await gateway.get(`${MEMBERS}?pageSize=1`, { headers: forged });
    expect(members.status).toBe(200);
    expect(members.headers.get('link')).toContain(`<${MEMBERS}?pageSize=1&page=2>`);
    expect(members.headers.get('link')).not.toContain('evil');
    const sent = JSON.stringify(await sandbox.calls());
    expect(sent).not.toMatch(/evil|forwarded/i);
  });
});

it('K35 text that makes regular expressions slow is refused in milliseconds', async () => {
  const [bought] = (order.body as { items: object[] }).items;
  const ofOrder = (fields: object) =>
    gateway.post(ORDERS, { ...order.body, items: [{ ...bought, ...fields }] });
  const ofMember = (fields: object) => {
    const members = [{ account: 'a', password: 'first-login-9', name: 'N', ...fields }];
    return gateway.post(MEMBERS, { members });
  };
  const duration = { timeDurationExpression: `${'1-'.repeat(50_000)}x` };
  const path = `/v1/enterprises/${'a'.repeat(1_500)}!/assets?${'extendCode='.repeat(300)}`;
  for (const [what, ask] of Object.entries({
    'an account': () => ofMember({ account: `${'a'.repeat(100_000)}!` }),
    'a name of marks to be put in order': () => ofMember({ name: 'a\u0301\u0323'.repeat(60_000) }),
    'an e-mail': () => ofOrder({ admin: { email: `${'a@'.repeat(50_000)}\0` } }),
    'an address of marks to be put in order': () =>
      ofOrder({
        customer: { address: `${'a\u0301\u0323'.repeat(60_000)}${'\u0301\u0323'.repeat(60_000)}\0` },
      }),
    'a number of zeros': () =>
      gateway.post('/v1/asset-num-reservations', `{"size":1${'0'.repeat(300_000)}1}`),
    'a duration': () => ofOrder({ assets: [{ products: [duration] }] }),
    'a time': () => ofOrder({ assets: [{ endsAt: `2026-${'0'.repeat(100_000)}`, products: [{}] }] }),
    'a path and a query': () => gateway.get(path),
    'an Accept header': () => gateway.get(ASSETS, { headers: { accept: 'a/b;'.repeat(1_000) } }),
  })) {
    // The shortest of a few, so that other load of the machine does not matter. An expression that goes back takes seconds, or minutes.
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const started = performance.now();
      const { status } = await ask();
      times.push(performance.now() - started);
      expect([what, [400, 406].includes(status) ? '' : status]).toEqual([what, '']);
    }
    expect([what, Math.min(...times) < 500 ? '' : times]).toEqual([what, '']);
  }
  expect(await sandbox.calls()).toEqual([]);
});
