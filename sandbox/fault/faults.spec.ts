import { describe, expect, it } from '@jest/globals';
import { request } from 'node:http';
import { PlatformClient, useSandbox } from '../testing.ts';

const test = useSandbox({ seed: 7 });

const query = { channelCode: 'crm', channelCustomerId: 'CH-4001' };
const buying = {
  orderType: 'new_buy',
  licenseType: 'softkey',
  customerId: 'cus-harbour-default',
  assets: [{ products: [{ productUri: 'x.y' }] }],
};

interface Seen {
  readonly status: number | null;
  readonly headers: Record<string, unknown>;
  readonly text: string;
  /** The error's code, or `aborted` for a truncated body. Null without an error. */
  readonly error: string | null;
}

/** Makes one query by node:http on a connection of its own, so that the test can distinguish the ways of breaking it. */
async function look(): Promise<Seen> {
  const { url, headers } = test.prepared('queryCustomers', { query });
  return new Promise((resolve) => {
    let seen: Seen = { status: null, headers: {}, text: '', error: null };
    const call = request(url, { headers, agent: false }, (response) => {
      seen = { ...seen, status: response.statusCode ?? null, headers: response.headers };
      response.setEncoding('utf8');
      response.on('data', (text: string) => (seen = { ...seen, text: seen.text + text }));
      response.on(
        'error',
        (error: NodeJS.ErrnoException) => (seen = { ...seen, error: error.code ?? 'aborted' }),
      );
      response.on('close', () => resolve(seen));
    });
    call.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ ...seen, error: error.code ?? error.message }),
    );
    call.end();
  });
}

async function lookWith(action: object): Promise<Seen> {
  await test.fault({ operation: 'queryCustomers', action });
  return look();
}

describe('a spoiled response', () => {
  const whole = { status: 200, text: expect.stringMatching(/^\{"code":0,.*\}$/), error: null };
  const cut = { status: 200, text: '{"code":0,' };
  const lost = { status: null, error: 'ECONNRESET' };
  const partly = { status: 200, text: expect.stringMatching(/^\{"code":0.*[^}]$/), error: 'ECONNRESET' };
  const base64 = Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]).toString('base64');
  const twoLengths = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}';

  it.each<[object, object]>([
    [{ reset: 'before-headers' }, lost],
    [{ close: 'before-headers' }, lost],
    [{ reset: 'mid-body' }, partly],
    [{ close: 'mid-body' }, partly],
    [
      { truncate: 10, framing: 'length' },
      { ...cut, error: 'ECONNRESET' },
    ],
    [
      { truncate: 10, framing: 'chunked' },
      { ...cut, error: 'ECONNRESET' },
    ],
    [
      { truncate: 10, framing: 'close' },
      { ...cut, error: null },
    ],
    [{ framing: 'close' }, whole],
    [{ slow: { chunkBytes: 50, everyMs: 1 } }, whole],
    [
      { code: '1', message: 'm', cause: 'c' },
      { status: 299, text: '{"code":"1","message":"m","cause":"c"}' },
    ],
    [
      { code: '1', message: 'm', cause: 'c', codeAs: 'integer', status: 200 },
      { status: 200, text: '{"code":1,"message":"m","cause":"c"}' },
    ],
    [
      { code: [0], message: 'm', cause: 'c', data: null },
      { text: '{"code":[0],"message":"m","cause":"c","data":null}' },
    ],
    [
      { httpStatus: 503, headers: { 'Retry-After': '3' } },
      { status: 503, headers: expect.objectContaining({ 'retry-after': '3' }) },
    ],
    [{ httpStatus: 204 }, { status: 204 }],
    [{ httpStatus: 999 }, { status: 999 }],
    [{ html: true }, { status: 500, text: expect.stringContaining('<html>') }],
    [{ html: true, httpStatus: 200 }, { status: 200 }],
    [
      { raw: { base64, contentType: 'text/plain', headers: { 'X-A': '1' } } },
      { text: '\uFEFF{}', headers: expect.objectContaining({ 'content-type': 'text/plain', 'x-a': '1' }) },
    ],
    [{ wire: { text: twoLengths } }, { error: 'HPE_UNEXPECTED_CONTENT_LENGTH' }],
    [
      { patch: { code: '0', message: null }, numericIds: true },
      { text: expect.stringMatching(/^\{"code":"0","data":\[\{"customerId":9007199254742993,/) },
    ],
  ])('of %j', async (action, expected) => {
    expect(await lookWith(action)).toMatchObject(expected);
  });

  it('can be odd in one field, or lack it', async () => {
    const one = async (odd: object) => {
      await test.fault({ operation: 'queryCustomers', times: 1, action: { odd } });
      return JSON.parse((await look()).text) as { data: [object] };
    };
    const { data: right } = JSON.parse((await look()).text) as { data: [object] };
    const [first] = right;
    expect((await one({ pointer: '/data/0/isDefault', value: 'Y' })).data[0]).toEqual({
      ...first,
      isDefault: 'Y',
    });
    expect((await one({ pointer: '/data/0/isDefault' })).data[0]).not.toHaveProperty('isDefault');
    expect((await one({ pointer: '/data', value: null })).data).toBeNull();
    expect((await one({ share: 0 })).data).toEqual(right);
    const [shaken] = (await one({ share: 1 })).data;
    expect(JSON.stringify(shaken)).not.toBe(JSON.stringify(first));
  });

  it('can be padded and late', async () => {
    const start = performance.now();
    const { text } = await lookWith({ delayMs: 60, pad: 5000 });
    expect(performance.now() - start).toBeGreaterThanOrEqual(58);
    expect(text).toHaveLength(5000);
    expect(JSON.parse(text)).toMatchObject({ code: 0 });
  });
});

describe('the phase', () => {
  const lost = { reset: 'before-headers' };

  it('before: the order is not placed; after: it is placed, and the journal says so', async () => {
    await test.fault({ operation: 'batchOrder', times: 1, action: lost });
    await expect(test.order([buying])).rejects.toThrow('fetch failed');
    expect(await test.commits()).toEqual([]);
    const id = await test.fault({ operation: 'batchOrder', phase: 'after', action: lost });
    await expect(test.order([buying])).rejects.toThrow('fetch failed');
    expect(await test.commits()).toHaveLength(1);
    const { body } = await test.control('GET', '/journal');
    const placed = { operation: 'batchOrder', committed: true, status: null, code: null, fault: id };
    expect(body.entries).toMatchObject([{ committed: false }, placed]);
  });

  it('before: a response that is needed is only acted out', async () => {
    await test.fault({ operation: 'batchOrder', action: { truncate: 1000, framing: 'close' } });
    const { data } = await test.order([buying]);
    expect(data).toMatchObject([{ licenseOrderId: '9007199254740993' }]);
    expect(await test.commits()).toEqual([]);
    await test.control('DELETE', '/faults');
    expect((await test.order([buying])).data).toEqual(data);
  });

  it.each(['httpStatus', 'status'])(
    'before: the order is not placed with a status alone: %s',
    async (name) => {
      await test.fault({ operation: 'batchOrder', times: 1, action: { [name]: 503 } });
      expect((await test.order([buying])).status).toBe(503);
      expect(await test.commits()).toEqual([]);
      await test.fault({ operation: 'batchOrder', phase: 'after', action: { [name]: 503 } });
      expect((await test.order([buying])).status).toBe(503);
      expect(await test.commits()).toHaveLength(1);
    },
  );

  it('has no effect on a response that is only changed', async () => {
    await test.fault({ operation: 'batchOrder', action: { patch: { data: null } } });
    expect((await test.order([buying])).text).toBe('{"code":0,"message":"success"}');
    expect(await test.commits()).toHaveLength(1);
  });

  it('before, with a delay: the order is placed late even when its caller hung up', async () => {
    await test.fault({ operation: 'batchOrder', action: { delayMs: 1_500 } });
    const { url, headers } = test.prepared('batchOrder', { query: { appKey: 'a' } });
    const body = JSON.stringify({ channelCode: 'crm', channelOrderId: 'SO-late', orderList: [buying] });
    const caller = new AbortController();
    const call = fetch(url, { method: 'POST', headers, body, signal: caller.signal });
    await test.until(async () => (await test.control('GET', '/journal')).body.entries.length === 1);
    caller.abort();
    await expect(call).rejects.toThrow('abort');
    expect(await test.commits()).toEqual([]);
    await test.until(async () => (await test.commits()).length === 1);
  });
});

describe('a rule', () => {
  const refuse = { code: '500' };
  const codes = async (count: number): Promise<unknown[]> => {
    const seen = [];
    for (let i = 0; i < count; i++) seen.push((await test.call('queryCustomers', { query })).code);
    return seen;
  };

  it('skips and spoils the given number of calls, and counts them', async () => {
    const id = await test.fault({ operation: 'queryCustomers', skip: 1, times: 2, action: refuse });
    expect(await codes(5)).toEqual([0, '500', '500', 0, 0]);
    const { body } = await test.control('GET', '/faults');
    expect(body.faults).toMatchObject([{ id, operation: 'queryCustomers', hits: 2, matched: 3 }]);
  });

  it('gives way to the next rule when it is used up, and can be removed', async () => {
    await test.control('POST', '/faults', [
      { operation: '*', times: 1, action: { code: '60000' } },
      { operation: ['listAssets', 'queryCustomers'], action: refuse },
    ]);
    expect(await codes(2)).toEqual(['60000', '500']);
    const [, { id }] = (await test.control('GET', '/faults')).body.faults;
    expect((await test.control('DELETE', `/faults/${id}`)).status).toBe(204);
    expect((await test.control('DELETE', `/faults/${id}`)).status).toBe(404);
    expect(await codes(1)).toEqual([0]);
  });

  it('draws the same after every reset', async () => {
    const rule = { operation: 'queryCustomers', probability: 0.5, action: refuse };
    await test.fault(rule);
    const first = await codes(20);
    await test.control('POST', '/reset');
    await test.fault(rule);
    expect(await codes(20)).toEqual(first);
    expect(new Set(first)).toEqual(new Set([0, '500']));
  });

  it('can be narrowed to a body or a path', async () => {
    const match = { body: { channelOrderId: 'SO-x' } };
    await test.fault({ operation: 'batchOrder', match, action: refuse });
    await test.fault({ operation: 'listAssets', match: { path: 'ent-meridian' }, action: refuse });
    expect((await test.order([buying], { channelOrderId: 'SO-x' })).code).toBe('500');
    expect((await test.order([buying], { channelOrderId: 'SO-y' })).code).toBe(0);
    for (const [enterpriseGlobalId, code] of [
      ['ent-meridian', '500'],
      ['ent-harbour', 0],
    ])
      expect(
        await test.call('listAssets', { parameters: { enterpriseGlobalId: String(enterpriseGlobalId) } }),
      ).toMatchObject({ code });
  });

  it('for * leaves the token endpoint alone; a rule for token can spoil it', async () => {
    const form = { grant_type: 'client_credentials', scope: 'auth_order' };
    await test.fault({ operation: '*', action: refuse });
    expect((await test.token(form)).status).toBe(200);
    const patch = { expires_in: '12', token_type: null };
    await test.fault({ operation: 'token', times: 1, action: { patch } });
    const { body } = await test.token(form);
    expect([body['expires_in'], body['token_type']]).toEqual(['12', undefined]);
    await test.fault({ operation: 'token', times: 1, action: { code: 'invalid_client' } });
    const { status, body: refused } = await test.token(form);
    expect([status, refused['error']]).toEqual([401, 'invalid_client']);
  });

  it.each([
    [{ operation: 'listAsset', action: refuse }, 'rule.operation'],
    [{ operation: '*', action: {} }, 'rule.action'],
    [{ operation: '*', action: { explode: true } }, 'rule.action.explode'],
    [{ operation: '*', action: { reset: 'later' } }, 'rule.action.reset'],
    [{ operation: '*', action: { httpStatus: 103 } }, 'rule.action.httpStatus'],
    [{ operation: '*', action: { slow: { chunkBytes: 0, everyMs: 1 } } }, 'rule.action.slow.chunkBytes'],
    [{ operation: '*', times: 0, action: refuse }, 'rule.times'],
    [{ operation: '*', probability: 2, action: refuse }, 'rule.probability'],
    [{ operation: '*', matches: {}, action: refuse }, 'rule.matches'],
    [[{ operation: '*', action: refuse }, 3], '[1]'],
  ])('%j is refused, naming %s, and nothing is added', async (rule, field) => {
    const { status, body } = await test.control('POST', '/faults', rule);
    expect([status, body.field]).toEqual([400, field]);
    expect((await test.control('GET', '/faults')).body.faults).toEqual([]);
  });
});

describe('a hanging response', () => {
  it.each(['reset', 'close'])('is cancelled by a %s, which does not wait for it', async (how) => {
    const other = await PlatformClient.start();
    await other.fault({ operation: 'queryCustomers', times: 1, action: { hang: true } });
    await other.fault({ operation: 'queryCustomers', action: { delayMs: 3_600_000 } });
    const calls = [other.call('queryCustomers', { query }), other.call('queryCustomers', { query })];
    const settled = Promise.allSettled(calls);
    await other.until(async () => (await other.control('GET', '/journal')).body.entries.length === 3);
    if (how === 'reset') await other.control('POST', '/reset');
    else await other.close();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    if (how === 'reset') await other.close();
  });
});
