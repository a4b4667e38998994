import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { ProfileFile } from '../support/profile-file.ts';
import { useStack } from '../support/stack.ts';

/** Codes that the interface of the platform does not have: what its profile teaches of them, and what becomes of the others. */

const profile = new ProfileFile();

const { sandbox, gateway } = useStack({
  redis: true,
  database: 'postgres',
  environment: { PLATFORM_PROFILE_FILE: profile.path },
});

const teach = (codes: object) => profile.tell(gateway, { codes });

const TAUGHT = {
  order: { '13017': 'refused', '13021': 'placed-before', '42900': 'busy', E_TOKEN: 'credentials' },
  member: { '61000': 'refused', '42900': 'busy', '60006': 'credentials' },
};
const WORDS = 'customer Ada Sample (13800000009) is blocked';
const ORDERS = '/v1/license-orders';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
let numbers = 0;
const newNumber = () => `SO-C${++numbers}`;

/** How often, what it says, and whether the platform carries the call out all the same. */
interface Refusing {
  readonly times?: number;
  readonly message?: string;
  readonly phase?: 'before' | 'after';
}

const refuse = (operation: string, code: string, { times = 1, message = WORDS, phase }: Refusing = {}) =>
  sandbox.fault({ operation, times, ...(phase && { phase }), action: { code, message } });
const place = (number: string, more: object = {}) => gateway.post(ORDERS, orderOf(number, more));
const stateOf = async (number: string) => (await gateway.get(`${ORDERS}/crm/${number}`)).body;
const sent = async () => (await sandbox.journal('batchOrder')).length;
const tokens = async () => (await sandbox.journal('token')).length;
const problem = (code: string, outcome: string, retryable: boolean, upstreamCode: string) => ({
  code,
  outcome,
  retryable,
  upstreamCode,
  upstream: { code: upstreamCode, status: 299 },
});

describe('an order that the platform refuses by a code that its profile teaches', () => {
  beforeEach(() => teach(TAUGHT));

  it('is rejected by `refused`: the same body gets it again, and a corrected one is sent', async () => {
    const number = newNumber();
    await refuse('batchOrder', '13017');
    const { status, body, text } = await place(number);
    expect([status, body]).toMatchObject([
      422,
      problem('upstream-rejected', 'not_processed', false, '13017'),
    ]);
    // The words that come with such a code may be about anything.
    expect(text).not.toContain('Ada');
    expect(await stateOf(number)).toMatchObject({ state: 'rejected' });
    const again = await place(number);
    expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toMatchObject([
      422,
      { upstreamCode: '13017' },
      'true',
    ]);
    expect(await sent()).toBe(1);
    expect((await place(number, { syncMode: 'async' })).status).toBe(202);
  });

  it('is not sent by `busy`: the caller may repeat it, and the number is free', async () => {
    const number = newNumber();
    await refuse('batchOrder', '42900');
    const { status, body, headers } = await place(number);
    expect([status, body]).toMatchObject([
      503,
      problem('upstream-unavailable', 'not_processed', true, '42900'),
    ]);
    expect(headers.get('retry-after')).toBe('1');
    expect([await stateOf(number), await sent()]).toMatchObject([{ state: 'not_sent' }, 1]);
    expect((await place(number)).status).toBe(201);
  });

  it('is sent once more with a new token by `credentials`', async () => {
    const number = newNumber();
    const before = await tokens();
    await refuse('batchOrder', 'E_TOKEN');
    expect((await place(number)).status).toBe(201);
    expect([await sent(), (await tokens()) - before]).toEqual([2, 1]);
    const other = newNumber();
    await refuse('batchOrder', 'E_TOKEN', { times: 2 });
    const { status, body } = await place(other);
    expect([status, body]).toMatchObject([
      502,
      problem('upstream-credential-rejected', 'not_processed', false, 'E_TOKEN'),
    ]);
    expect(await stateOf(other)).toMatchObject({ state: 'not_sent' });
  });

  it('is in doubt by `placed-before`, and its number is neither free nor told as a success', async () => {
    const number = newNumber();
    await sandbox.control('PUT', '/profile', { repeatedOrder: 'other-code' });
    // This gateway has a store of its own, as another program of the company.
    const other = await TestGateway.start(sandbox);
    expect((await other.post(ORDERS, orderOf(number))).status).toBe(201);
    await other.stop();
    const { status, body } = await place(number);
    expect([status, body]).toMatchObject([502, problem('outcome-unknown', 'unknown', false, '13021')]);
    expect(body['detail']).toContain('placed before');
    expect(await stateOf(number)).toMatchObject({ state: 'in_doubt', settledAt: null });
    const again = await place(number);
    expect([again.status, again.body]).toMatchObject([502, { upstreamCode: '13021' }]);
    expect((await sandbox.commits()).filter(({ channelOrderId }) => channelOrderId === number)).toHaveLength(
      1,
    );
  });

  it('is found by reconciliation where a server in between sent it twice, and the second one was `placed-before`', async () => {
    const number = newNumber();
    await refuse('batchOrder', '13021', { phase: 'after' });
    const item = orderOf('').items[0];
    const enterprise = { customer: { enterpriseGlobalId: 'ent-harbour' } };
    expect((await place(number, { items: [{ ...item, ...enterprise }] })).status).toBe(502);
    await until('it is found', async () => (await stateOf(number))['state'] === 'succeeded');
  });
});

describe('every other call that the platform refuses by such a code', () => {
  beforeEach(() => teach(TAUGHT));

  it.each<[string, string, string, string, string]>([
    ['GET', '/v1/customers?channelCode=crm&channelCustomerId=CH-1001', 'queryCustomers', '13017', '42900'],
    ['GET', '/v1/enterprises/ent-harbour/lent-locks', 'listLentLocks', '61000', '42900'],
    ['DELETE', `${MEMBERS}/mem-harbour-dora`, 'deleteMember', '61000', '42900'],
  ])('%s %s is refused or busy, and nothing happened', async (method, path, operation, refused, busy) => {
    await refuse(operation, refused);
    const first = await gateway.request(method, path);
    expect([first.status, first.body]).toMatchObject([
      422,
      problem('upstream-rejected', 'not_processed', false, refused),
    ]);
    await refuse(operation, busy);
    const second = await gateway.request(method, path);
    expect([second.status, second.body]).toMatchObject([
      503,
      problem('upstream-unavailable', 'not_processed', true, busy),
    ]);
    expect([200, 204]).toContain((await gateway.request(method, path)).status);
  });

  it('is made once more with both tokens new by `credentials` of the member center', async () => {
    expect((await gateway.get(MEMBERS)).status).toBe(200);
    const before = await tokens();
    await refuse('listMembers', '60006');
    expect((await gateway.get(MEMBERS)).status).toBe(200);
    expect((await tokens()) - before).toBe(2);
  });

  it('renews the token of a session only after that of the application by `credentials`, and never ends the session', async () => {
    const login = { username: 'anna@harbour', password: sandbox.seedPassword };
    const { body: session } = await gateway.post('/v1/sessions', login);
    const headers = { 'x-session-id': String(session['sessionId']) };
    const grants = async () =>
      (await sandbox.journal('token')).map(({ body }) => (body as { grant_type: string }).grant_type);
    const before = (await grants()).length;
    await refuse('listMembers', '60006', { times: 2 });
    expect((await gateway.get(MEMBERS, { headers })).status).toBe(200);
    expect((await grants()).slice(before)).toEqual(['client_credentials', 'refresh_token']);
    await refuse('listMembers', '60006', { times: 3 });
    const { status, body } = await gateway.get(MEMBERS, { headers });
    expect([status, body]).toMatchObject([
      502,
      problem('upstream-credential-rejected', 'not_processed', false, '60006'),
    ]);
    expect((await gateway.get(MEMBERS, { headers })).status).toBe(200);
  });

  it('is unmapped by `placed-before` where it is no order', async () => {
    await refuse('queryCustomers', '13021');
    const { status, body } = await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001');
    expect([status, body]).toMatchObject([
      502,
      { code: 'upstream-unmapped-error', outcome: 'not_processed' },
    ]);
  });
});

interface Met {
  readonly operation: string;
  readonly module: string;
  readonly code: string;
  readonly words: string | null;
  readonly count: number;
}
const consoleCodes = async () =>
  ((await (await fetch(`${gateway.managementUrl}/console/gaps`)).json()) as { codes: Met[] }).codes;
const gapsOf = async () =>
  ((await gateway.get('/v1/gaps?pageSize=1000')).body['items'] as { kind: string; path: string }[])
    .filter(({ kind }) => kind === 'unknown-code')
    .map(({ path }) => path);

describe('a code that was met and is not taught', () => {
  beforeEach(() => teach({}));

  it('is a gap without the words of the platform, and stands in the console with them, until it is taught', async () => {
    await refuse('queryCustomers', '13050', { times: 2 });
    for (let times = 0; times < 2; times++)
      expect(
        (await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001')).body,
      ).toMatchObject({ code: 'upstream-unmapped-error' });
    const isNew = (line: string) => line.includes('"event":"unknown-code"') && line.includes('"13050"');
    const log = await gateway.log();
    const news = log.filter(isNew);
    expect(news).toHaveLength(1);
    expect(JSON.parse(news[0] as string)).toMatchObject({
      upstreamOperation: 'queryCustomers',
      upstreamCode: '13050',
    });
    expect(news[0]).not.toContain('Ada');
    expect(await gapsOf()).toContain('code=13050');
    const gaps = await gateway.get('/v1/gaps?pageSize=1000');
    expect(gaps.text).not.toContain('Ada');
    expect(await consoleCodes()).toContainEqual(
      expect.objectContaining({
        ...{ operation: 'findCustomers', module: 'order', code: '13050', words: WORDS, count: 2 },
      }),
    );
    await teach({ member: { '13050': 'refused' } });
    expect(await gapsOf()).toContain('code=13050');
    await teach({ order: { '13050': 'refused' } });
    expect(await gapsOf()).not.toContain('code=13050');
    expect((await consoleCodes()).map(({ code }) => code)).not.toContain('13050');
  });

  it('is not repeated where it does not look like one', async () => {
    await refuse('queryCustomers', 'ada@vendor.example');
    await gateway.get('/v1/customers?channelCode=crm&channelCustomerId=CH-1001');
    expect(await gapsOf()).toContain('code');
    const news = (await gateway.log()).filter((line) => line.includes('"event":"unknown-code"'));
    expect(news.at(-1)).not.toContain('ada@');
    expect((await gateway.get('/v1/gaps?pageSize=1000')).text).not.toContain('ada@');
    const { items } = (await (await fetch(`${gateway.managementUrl}/console/gaps`)).json()) as {
      items: object[];
    };
    expect(items).toContainEqual(expect.objectContaining({ kind: 'unknown-code', path: 'code' }));
  });

  it.each<[string, string, string]>([
    ['refused', 'rejected', 'upstream-rejected'],
    ['busy', 'not_sent', 'upstream-unavailable'],
    ['credentials', 'not_sent', 'upstream-credential-rejected'],
  ])('leaves an order in doubt, which `%s` settles as soon as it is taught', async (word, state, code) => {
    const number = newNumber();
    const unknown = `14${numbers}`;
    await refuse('batchOrder', unknown);
    const { status, body } = await place(number);
    expect([status, body]).toMatchObject([502, { code: 'upstream-unmapped-error', outcome: 'unknown' }]);
    expect(await stateOf(number)).toMatchObject({ state: 'in_doubt' });
    await teach({ order: { [unknown]: word } });
    await until('it is settled', async () => (await stateOf(number))['state'] !== 'in_doubt');
    expect(await stateOf(number)).toMatchObject({ state, reason: expect.stringContaining(unknown) });
    const type = `license-order.${state.replace('_', '-')}`;
    const events = await gateway.get(`/v1/events?type=${type}&limit=1000`);
    const subjects = (events.body['items'] as { subject: string }[]).map(({ subject }) => subject);
    expect(subjects.filter((subject) => subject === `crm/${number}`)).toHaveLength(1);
    const again = await place(number);
    if (state === 'rejected') expect([again.status, again.body]).toMatchObject([422, { code }]);
    else expect(again.status).toBe(201);
  });

  it('leaves an order in doubt where it came with HTTP 403, whatever is taught of it', async () => {
    const [before, blocked, after] = [newNumber(), newNumber(), newNumber()];
    for (const number of [before, blocked, after]) {
      const status = number === blocked ? 403 : 299;
      await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '14950', status } });
      await place(number);
    }
    const answer = { code: 'outcome-unknown', outcome: 'unknown', upstream: { code: '14950', status: 403 } };
    expect((await place(blocked)).body).toMatchObject(answer);
    expect(await gapsOf()).toContain('code=14950');
    await teach({ order: { '14950': 'refused' } });
    for (const number of [before, after])
      await until('it is settled', async () => (await stateOf(number))['state'] === 'rejected');
    expect(await stateOf(blocked)).toMatchObject({ state: 'in_doubt' });
    await teach({ order: { '14950': 'credentials' } });
    await until('it is settled', async () => (await stateOf(blocked))['state'] === 'not_sent');
  });

  it('leaves an order in doubt for good by `placed-before`, and by what was found of it', async () => {
    const number = newNumber();
    await refuse('batchOrder', '14900');
    await place(number);
    const found = newNumber();
    await refuse('batchOrder', '14901', { phase: 'after' });
    const [item] = orderOf('').items;
    const ofHarbour = { ...item, customer: { enterpriseGlobalId: 'ent-harbour' } };
    // The platform shows one of two licence orders.
    await place(found, { items: [ofHarbour, { ...ofHarbour, sequence: 2 }] });
    const { licenseOrderIds = [] } =
      (await sandbox.commits()).find(({ channelOrderId }) => channelOrderId === found) ?? {};
    const { products } = await sandbox.control<{ products: { id: string; licenseOrderId: string }[] }>(
      'GET',
      '/state',
    );
    for (const { id, licenseOrderId } of products)
      if (licenseOrderId === licenseOrderIds[1])
        await sandbox.control('PATCH', `/state/products/${id}`, { removed: true });
    const looked = async () => {
      const { items } = (await (await fetch(`${gateway.managementUrl}/console/orders`)).json()) as {
        items: { channelOrderId: string; attempts: { licenseOrders: string[] }[] }[];
      };
      const order = items.find(({ channelOrderId }) => channelOrderId === found);
      return order?.attempts.some(({ licenseOrders }) => licenseOrders.length > 0) === true;
    };
    await until('it was found in part', looked);
    const contradicted = gateway.logged('order-not-settled-by-code');
    await teach({ order: { '14900': 'placed-before', '14901': 'refused' } });
    await contradicted;
    expect([await stateOf(number), await stateOf(found)]).toMatchObject([
      { state: 'in_doubt' },
      { state: 'in_doubt' },
    ]);
  });
});

it.each<[string, object, string]>([
  [
    'an unknown word',
    { order: { '13017': 'denied' } },
    'codes.order.13017: must be one of refused, placed-before,',
  ],
  [
    'an order placed before in the member center',
    { member: { '1': 'placed-before' } },
    'codes.member.1: must be one of refused, busy, credentials',
  ],
  ['a code of the interface', { order: { '500': 'busy' } }, 'codes.order.500: is a code of the interface'],
  ['a success', { member: { '0': 'refused' } }, 'codes.member.0: is a code of the interface'],
  ['what is no code', { order: { 'a b': 'busy' } }, 'codes.order.a b: must have a name of 1 to 32'],
  ['an unknown module', { orders: {} }, 'orders'],
])(
  'a profile that teaches %s is refused with the place, and the last one stays',
  async (_, codes, reason) => {
    await teach(TAUGHT);
    const rejected = gateway.logged('profile-rejected');
    profile.write({ codes: { ...codes } });
    await rejected;
    expect(gateway.logLines.findLast((line) => line.includes('profile-rejected'))).toContain(reason);
    await refuse('batchOrder', '13017');
    expect((await place(newNumber())).status).toBe(422);
  },
);
