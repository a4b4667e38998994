import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import {
  caseOf,
  type Expected,
  expected,
  expectProblem,
  INCOMPLETE,
  metric,
  order,
  read,
  READ_VIOLATION,
  UNAVAILABLE,
  UNKNOWN,
  write,
  WRITE_VIOLATION,
} from '../support/expected.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { freshBody, type OperationCase, operationCases, send } from '../support/operations.ts';
import { ProfileFile } from '../support/profile-file.ts';
import { useStack } from '../support/stack.ts';

/** Errors in a complete response of the platform, for a read, a write that must not run twice and an order. */

const { sandbox, gateway } = useStack();

/** The platform carries out the call, and then responds with these bytes. */
function answerWith(body: string | Buffer, operation: string = '*', status = 200): Promise<unknown> {
  const raw = { base64: Buffer.from(body).toString('base64'), status };
  return sandbox.fault({ operation, phase: 'after', action: { raw } });
}

/** The same with `data`, JSON text, in a valid envelope. */
function answerData(data: string, { upstream }: OperationCase): Promise<unknown> {
  return answerWith(envelope(data), upstream);
}

const envelope = (data: string) => `{"code":0,"message":"ok","data":${data}}`;

/** One call for every response; reads with brief failures excepted. */
async function expectAsked(operation: OperationCase, times = 1): Promise<void> {
  const calls = await sandbox.journal(operation.upstream);
  expect(calls).toHaveLength(times);
  expect(new Set(calls.map(({ query }) => query['g_nonce'])).size).toBe(times);
}

async function expectEach(
  onRead: Expected,
  onWrite: Expected,
  readTimes = 1,
  onOrder = onWrite,
): Promise<TestAnswer[]> {
  const all = [read, write, order];
  const answers = await Promise.all(all.map((each) => send(gateway, each, { undocumented: true })));
  answers.forEach((answer, index) => expectProblem(answer, [onRead, onWrite, onOrder][index] as Expected));
  await Promise.all(all.map((each) => expectAsked(each, each === read ? readTimes : 1)));
  expect(await sandbox.commits()).toHaveLength(1);
  return answers;
}

/** What the gateway has counted of this test. */
async function counted(series: string): Promise<number> {
  return seriesIn(await gateway.metrics(), series) - seriesIn(metricsBefore, series);
}

let metricsBefore: string;
beforeEach(async () => {
  metricsBefore = await gateway.metrics();
});

function seriesIn(metrics: string, series: string): number {
  const line = metrics.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}

/** Responses that violated the interface in this way. */
const gaps = ({ id }: OperationCase, kind: string) =>
  counted(`gateway_upstream_gaps_total{operation="${id}",kind="${kind}"}`);

/** Lines of the log, without the first ones. */
const logged = async (from = 0) => (await gateway.log()).slice(from);

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('bodies that are no envelope', () => {
  it.each<[string, string | Buffer]>([
    ['C1 JSON that ends too early', '{"code":0,"data":[{'],
    ['C2 nothing', ''],
    ['C5 GBK', Buffer.from([...Buffer.from('{"code":0,"message":"'), 0xc4, 0xe3, ...Buffer.from('"}')])],
    ['C18 10,000 levels', `{"code":0,"data":${deep(10_000)}}`],
    ['C19 a key given twice inside', '{"code":0,"data":[{"customerId":"a","customerId":"b"}]}'],
    ['C20 a hexadecimal number', '{"code":0x0}'],
  ])('%s: 502, a write unknown and sent once', async (_, body) => {
    await answerWith(body);
    await expectEach(READ_VIOLATION, UNKNOWN);
  });

  it('C3 an HTML page with 200: none of it is shown, its length and hash are logged', async () => {
    const page = `<!doctype html><html><body>maintenance ${'x'.repeat(2_000)}</body></html>`;
    await answerWith(page);
    const { length } = await logged();
    const answers = await expectEach(READ_VIOLATION, UNKNOWN);
    for (const { text: shown } of answers) expect(shown).not.toMatch(/html|maintenance/);
    const log = await logged(length);
    expect(log.join('\n')).not.toMatch(/<html|maintenance/);
    const lines = log.filter((line) => line.includes('"upstreamSha256"'));
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        upstreamBytes: page.length,
        upstreamSha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
    }
  });

  it('C4 a byte order mark before valid JSON: accepted', async () => {
    await answerWith(`\ufeff${envelope('[{"customerId":"c"}]')}`, read.upstream);
    await answerWith(`\ufeff${envelope('[{"assetNum":"8000001003","status":1}]')}`, write.upstream);
    expect((await send(gateway, read)).body['items']).toMatchObject([{ customerId: 'c' }]);
    expect((await send(gateway, write)).status).toBe(200);
  });
});

describe('codes', () => {
  it('C6 the code null only looks like 0', async () => {
    await answerWith('{"code":null,"message":"m","data":null}');
    await expectEach(READ_VIOLATION, WRITE_VIOLATION);
  });

  it('C6 the code "00" is another one', async () => {
    await answerWith('{"code":"00","message":"m","data":null}');
    const unmapped = (outcome: string) => expected(502, 'upstream-unmapped-error', outcome);
    await expectEach(unmapped('not_processed'), unmapped('unknown'));
  });

  it.each(['0', '"0"'])('C6 the code %s is success', async (code) => {
    await answerWith(`{"code":${code},"data":[{"customerId":"c"}]}`, read.upstream);
    expect((await send(gateway, read)).body['items']).toMatchObject([{ customerId: 'c' }]);
  });

  const rejected = expected(422, 'upstream-rejected', 'not_processed');
  it.each<[string, number, Expected, Expected, number]>([
    ['13004', 200, rejected, rejected, 1],
    ['"80001"', 200, UNAVAILABLE, UNKNOWN, 2],
  ])(
    'C7 the code %s with status %i means what it means with 299',
    async (code, status, onRead, onWrite, times) => {
      await answerWith(`{"code":${code},"message":"m"}`, '*', status);
      await expectEach(onRead, onWrite, times);
    },
  );

  it('C8 299 with the code 0 claims success in an error response', async () => {
    await answerWith('{"code":0,"message":"ok","data":[]}', '*', 299);
    await expectEach(READ_VIOLATION, WRITE_VIOLATION);
  });

  it.each<[string, string]>([
    ['a list', '["13004"]'],
    ['a megabyte', JSON.stringify('13004'.repeat(200_000))],
  ])('C9 a code that is %s: 502, shown nowhere', async (_, code) => {
    await answerWith(`{"code":${code},"message":"m"}`);
    const { length } = await logged();
    const answers = await expectEach(READ_VIOLATION, WRITE_VIOLATION);
    for (const { text: shown } of answers) expect(shown).not.toContain('13004');
    const log = (await logged(length)).join('\n');
    expect(log).not.toContain('13004');
    expect(log.length).toBeLessThan(100_000);
  });
});

describe('ids', () => {
  it.each(['9007199254740993', '123456789012345678901234567890'])(
    'C10 the id %s as a number: every digit, as a string',
    async (id) => {
      await answerData(`[{"customerId":${id},"enterpriseGlobalId":${id}}]`, read);
      await answerData(`[{"sequence":1,"licenseOrderId":${id},"customerId":${id}}]`, order);
      expect((await send(gateway, read)).body['items']).toMatchObject([
        { customerId: id, enterpriseGlobalId: id },
      ]);
      // The order names the same customer: an answer to another's is none.
      const ordered = structuredClone(freshBody(order)) as { items: { customer: { customerId: string } }[] };
      for (const { customer } of ordered.items) customer.customerId = id;
      expect((await send(gateway, order, { body: ordered })).body).toMatchObject({
        items: [{ sequence: 1, licenseOrderId: id, customerId: id }],
      });
    },
  );

  it('C10 every id of a whole response as a number', async () => {
    await sandbox.fault({ operation: '*', action: { numericIds: true } });
    const assets = await gateway.get('/v1/enterprises/9007199254741993/assets');
    expect(assets.body).toMatchObject({ items: [{ assetId: '9007199254743993' }] });
  });

  it.each(['-1', '1.5', '1e21', '""'])('C11 the id %s: no id', async (id) => {
    await answerData(`[{"customerId":${id}},{"customerId":"c","channelCustomerId":${id}}]`, read);
    await answerData(`[{"assetNum":${id},"status":1}]`, write);
    await answerData(`[{"sequence":1,"licenseOrderId":${id}}]`, order);
    expect((await send(gateway, read)).body['items']).toMatchObject([
      { customerId: 'c', channelCustomerId: null },
    ]);
    expect((await send(gateway, write)).body['items']).toEqual([
      { assetNum: '8000001003', status: 'unknown' },
    ]);
    expectProblem(await send(gateway, order), INCOMPLETE);
    expect(await sandbox.commits()).toHaveLength(1);
  });
});

describe('data', () => {
  it('C12 data is of another shape: 502', async () => {
    await answerWith(envelope('{}'));
    expectProblem(await send(gateway, read), READ_VIOLATION);
    expectProblem(await send(gateway, write), WRITE_VIOLATION);
    await expectOrderIncomplete(order);
  });

  it('C12 data is null instead of a list: an empty list for a read, and no success of a write', async () => {
    await answerWith(envelope('null'));
    const answer = await send(gateway, read);
    expect([answer.status, answer.body['items']]).toEqual([200, []]);
    expectProblem(await send(gateway, write), WRITE_VIOLATION);
    await expectOrderIncomplete(order);
  });

  it('C12 data is missing instead of a list: no list for a read, and no success of a write', async () => {
    await answerWith('{"code":0}');
    expectProblem(await send(gateway, read), READ_VIOLATION);
    expectProblem(await send(gateway, write), WRITE_VIOLATION);
    await expectOrderIncomplete(order);
  });

  it('C12 malformed items of a list: left out of a read, unknown for a write', async () => {
    await answerWith(envelope('[null,5,{}]'));
    expect((await send(gateway, read)).body['items']).toEqual([]);
    const results = await send(gateway, write);
    expect([results.status, results.body['items']]).toEqual([
      207,
      [{ assetNum: '8000001003', status: 'unknown' }],
    ]);
    await expectOrderIncomplete(order);
  });

  async function expectOrderIncomplete(placing: OperationCase): Promise<void> {
    expectProblem(await send(gateway, placing), INCOMPLETE);
    await expectAsked(placing);
    expect(await sandbox.commits()).toHaveLength(1);
  }

  it.each<[string, number[]]>([
    ['fewer', [1]],
    ['more', [1, 2, 3]],
    ['one twice', [1, 1]],
    ['a foreign one', [1, 7]],
  ])('C13 results of an order: %s: 502, never sent again', async (_, sequences) => {
    const { items, ...rest } = order.body as { items: object[] };
    const two = { ...order, body: { ...rest, items: [items[0], items[0]] } };
    const results = sequences.map((sequence, index) => ({ sequence, licenseOrderId: `lic-${index}` }));
    await answerData(JSON.stringify(results), order);
    await expectOrderIncomplete(two);
  });

  const silent = [
    'updateCustomer',
    'updateMember',
    'resetMemberPassword',
    'changeMemberAssetNums',
    'lendAssets',
  ];
  it.each(['{"code":0}', envelope('{"anything":1}')])(
    'C14 data where the gateway needs none: %s: success',
    async (body) => {
      for (const id of [...silent, 'deleteMember']) {
        const operation = caseOf(id);
        await answerWith(body, operation.upstream);
        const { status } = await send(gateway, operation);
        // A change of asset numbers tells what the gateway changed, from what it read before.
        expect([id, status]).toEqual([id, id === 'changeMemberAssetNums' ? 200 : 204]);
      }
    },
  );

  it('C15 fields that the interface does not have: dropped, and each counted once for each response', async () => {
    const more = '"internalNote":"n","password":"p"';
    await answerData(`[{"customerId":"a",${more}},{"customerId":"b",${more}}]`, read);
    await answerData(`[{"assetNum":"8000001003","status":1,${more}}]`, write);
    const { text: shown, body: customers } = await send(gateway, read);
    expect(customers['items']).toMatchObject([{ customerId: 'a' }, { customerId: 'b' }]);
    expect(shown).not.toMatch(/internalNote|password/);
    expect((await send(gateway, write)).body).toEqual({
      items: [{ assetNum: '8000001003', status: 'succeeded' }],
      succeeded: 1,
      failed: 0,
    });
    expect(await gaps(read, 'unknown-field')).toBe(2);
    expect(await gaps(write, 'unknown-field')).toBe(2);
  });

  it('C15 responses that follow the interface are not counted, for any operation', async () => {
    for (const each of operationCases) {
      expect([each.id, (await send(gateway, each)).status < 300]).toEqual([each.id, true]);
      await sandbox.reset();
    }
    expect((await gateway.get('/v1/enterprises/ent-harbour/overview')).status).toBe(200);
    const departures = (metrics: string) =>
      metrics.match(/^gateway_upstream_(contract_warnings|gaps)_total\{.*$/gm);
    expect(departures(await gateway.metrics())).toEqual(departures(metricsBefore));
  });

  const assets = caseOf('listAssets');
  it.each<[string, string, object, string]>([
    ['findCustomers', '[{"customerId":"c","isDefault":"true"}]', { isDefault: null }, 'wrong-type'],
    ['listAssets', '[{"id":"a","keyChipType":3}]', { keyGeneration: null }, 'unknown-word'],
    ['listAssets', '[{"id":"a","assetExtends":{}}]', { extensions: [] }, 'wrong-type'],
    ['listAssets', '[{"id":"a"}]', { assetNum: null }, 'missing'],
  ])('C16 a field of another type (%s): %s: null, and the rest is served', async (id, data, shown, kind) => {
    const operation = caseOf(id);
    await answerData(data, operation);
    const { status, body } = await send(gateway, operation);
    expect([status, body['items']]).toEqual([200, [expect.objectContaining(shown)]]);
    expect(await gaps(operation, kind)).toBeGreaterThan(0);
    await expectAsked(operation);
  });

  it('C16 a result of a write that is of another type: unknown, never success', async () => {
    await answerData('[{"assetNum":"8000001003","status":"1"}]', write);
    const { status, body } = await send(gateway, write);
    expect([status, body['items']]).toEqual([207, [{ assetNum: '8000001003', status: 'unknown' }]]);
    await expectAsked(write);
  });

  it('C17 keys that could reach a prototype: dropped, also where a structure is passed through', async () => {
    const evil = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":1';
    await answerData(`[{"id":"a",${evil},"assetLimits":{"max":1,${evil},"in":[{${evil}}]}}]`, assets);
    const answer = await send(gateway, assets);
    expect(answer.body['items']).toMatchObject([{ assetId: 'a', assetLimits: { max: 1, in: [{}] } }]);
    expect(answer.text).not.toMatch(/polluted|__proto__|constructor/);
    await answerWith(`{${evil}}`, write.upstream);
    expectProblem(await send(gateway, write), WRITE_VIOLATION);
  });

  it('C20 numbers in a structure that is passed through: none is lost, and zero is a number', async () => {
    await answerData('[{"id":"a","assetLimits":[1e400,-0,-0.0,12345678901234567,0.5]}]', assets);
    const answer = await send(gateway, assets);
    expect(answer.text).toContain('"assetLimits":["1e400",0,0,"12345678901234567",0.5]');
  });

  it('C20 a number beyond its type: null', async () => {
    await answerData('[{"id":"a","createTime":1e999}]', assets);
    expect((await send(gateway, assets)).body['items']).toMatchObject([{ createdAt: null }]);
    expect(await gaps(assets, 'wrong-type')).toBe(1);
  });

  it('C20 a result of a write beyond its type: unknown', async () => {
    await answerData('[{"assetNum":"8000001003","status":1e999}]', write);
    expect((await send(gateway, write)).body['items']).toEqual([
      { assetNum: '8000001003', status: 'unknown' },
    ]);
    await expectAsked(write);
  });

  it.each(['-5', '"many"'])(
    'C20 a count of a page beyond its type: %s: the count of the page itself',
    async (total) => {
      const members = caseOf('listMembers');
      await answerData(`{"list":[{"globalId":"g"}],"total":${total},"pages":1}`, members);
      expect((await send(gateway, members)).body).toMatchObject({ total: 1, totalPages: 1 });
    },
  );
});

describe('lists', () => {
  const members = caseOf('listMembers');
  const page = (count: number, total: number, pages: number) =>
    JSON.stringify({
      total,
      pages,
      list: Array.from({ length: count }, (_, index) => ({ globalId: `m${index}`, userName: `u${index}` })),
    });

  it('C21 a page of 23 instead of 20: 502', async () => {
    await answerData(page(23, 5, 1), members);
    expectProblem(await send(gateway, members), READ_VIOLATION);
    await expectAsked(members);
  });

  it('C21 wrong totals: what came is counted, and the gateway does not loop up to them', async () => {
    await answerData(page(22, 5, 10 ** 9), members);
    const answer = await send(gateway, members);
    // Nothing says that the page is the last one.
    expect(answer.body).toMatchObject({ page: 1, pageSize: 20, total: null, totalPages: null });
    expect(answer.body['items']).toHaveLength(20);
    expect(answer.headers.get('link')?.length).toBeLessThan(1_000);
    const overview = await gateway.get('/v1/enterprises/ent-harbour/overview');
    expect(overview.body).toMatchObject({ members: { total: 22 }, unreachable: [] });
    // The overview asks for 200 members, so the platform may have cut its page: the gateway looks for another one.
    await expectAsked(members, 4);
  });

  const adding = {
    ...caseOf('addMembers'),
    body: {
      members: ['nina', 'olaf'].map((account) => ({ account, password: newSecret('m'), name: 'N' })),
    },
  };
  const added = (...names: string[]) => names.map((userName) => ({ globalId: `mem-${userName}`, userName }));
  const failed = (...names: string[]) => names.map((userName) => ({ userName, message: 'taken' }));
  const open = (account: string) => ({ account, code: 'upstream-contract-violation', outcome: 'unknown' });
  const refused = (account: string) => ({ account, code: 'upstream-rejected', message: 'taken' });

  it.each<[string, object, object, number]>([
    [
      'succeeded empty',
      { succeeded: [], failed: failed('nina', 'olaf') },
      { succeeded: [], failed: [refused('nina'), refused('olaf')] },
      0,
    ],
    ['both empty', { succeeded: [], failed: [] }, { succeeded: [], failed: [open('nina'), open('olaf')] }, 1],
    [
      'a user in both',
      { succeeded: added('nina'), failed: failed('nina', 'olaf') },
      { succeeded: [{ userName: 'nina' }], failed: [open('nina'), refused('olaf')] },
      1,
    ],
    [
      'a user that the request does not name',
      { succeeded: added('nina', 'olaf', 'zoe'), failed: [] },
      { succeeded: [{ userName: 'nina' }, { userName: 'olaf' }], failed: [] },
      1,
    ],
  ])(
    'C22 a partly successful addition with %s: row by row, contradictions counted',
    async (_, data, body, contradictions) => {
      const raw = { text: JSON.stringify({ code: '60027', message: 'partly', data }), status: 299 };
      await sandbox.fault({ operation: adding.upstream, action: { raw } });
      const answer = await send(gateway, adding);
      expect([201, 207]).toContain(answer.status);
      expect(answer.body).toMatchObject(body);
      const series = `gateway_upstream_contract_warnings_total{operation="${adding.upstream}",what="contradiction"}`;
      expect(await counted(series)).toBe(contradictions);
      await expectAsked(adding);
    },
  );

  it.each<[string, object[], string[]]>([
    ['leave one out', [{ assetNum: '8000001003', status: 1 }], ['succeeded', 'unknown']],
    ['are of others', [{ assetNum: '8000009999', status: 1 }], ['unknown', 'unknown']],
    [
      'contradict each other',
      [
        { assetNum: '8000001003', status: 1 },
        { assetNum: '8000001003', status: 3 },
        { assetNum: '8000001004', status: 4 },
      ],
      ['unknown', 'wrong_type'],
    ],
  ])('C23 lock results that %s', async (_, data, [first, second]) => {
    await answerData(JSON.stringify(data), write);
    const answer = await gateway.post('/v1/enterprises/ent-harbour/locks/disable', {
      assetNums: ['8000001003', '8000001004'],
    });
    expect(answer.status).toBe(207);
    expect(answer.body['items']).toEqual([
      { assetNum: '8000001003', status: first },
      { assetNum: '8000001004', status: second },
    ]);
    await expectAsked(write);
  });

  const products = caseOf('getAssetProducts');
  const tree = (levels: number): string =>
    Array.from({ length: levels }).reduce((inner: string) => `[{"id":"m","children":${inner}}]`, 'null');
  const wide = (nodes: number) => `[${Array.from({ length: nodes }, () => '{"id":"m"}').join(',')}]`;

  it.each<[string, number, string]>([
    ['16 levels', 200, tree(16)],
    ['17 levels', 502, tree(17)],
    ['10,000 nodes', 200, wide(10_000)],
    ['10,001 nodes', 502, wide(10_001)],
  ])('C24 a tree of %s: %i', async (_, status, children) => {
    await answerData(`{"productInstanceList":[],"children":${children}}`, products);
    const answer = await send(gateway, products);
    expect(answer.status).toBe(status);
    if (status === 502) expectProblem(answer, READ_VIOLATION);
    await expectAsked(products);
  });
});

describe("the platform's message", () => {
  // oxlint-disable-next-line no-control-regex
  const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e]/;

  it.each<[string, string]>([
    [
      'line breaks, terminal codes, a script and text that runs backwards',
      'one\r\nX-Forged: 1\r\n\r\ntwo \u001b[31mred\u001b[0m\u0007\u009b2J <script>alert(1)</script> abc\u202ecba\u200b',
    ],
    ['a megabyte, and half a character', `${'x'.repeat(499)}\ud83d${'x'.repeat(1024 * 1024)}`],
  ])('C25 %s: cleaned and cut, in the problem and in the log', async (_, message) => {
    const { length } = await logged();
    await answerWith(JSON.stringify({ code: '13004', message, cause: message.slice(0, 10_000) }), '*', 299);
    for (const each of [read, write, order]) {
      const answer = await send(gateway, each);
      expect(answer.status).toBe(422);
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      const detail = answer.body['detail'] as string;
      expect(detail).not.toMatch(CONTROL);
      expect(detail.length).toBeLessThanOrEqual(500);
      expect(detail.isWellFormed()).toBe(true);
    }
    for (const line of await logged(length)) {
      expect(line.length).toBeLessThan(5_000);
      for (const value of Object.values(JSON.parse(line) as object)) {
        if (typeof value === 'string') expect(value).not.toMatch(CONTROL);
      }
    }
  });
});

describe('values that contradict the configuration', () => {
  const assets = caseOf('listAssets');
  const asset = (time: number) => JSON.stringify([{ id: 'a', createTime: time, limitEndTime: time }]);

  it('C27 seconds instead of the configured milliseconds: converted, delivered and counted', async () => {
    await answerData(asset(1_795_161_600), assets);
    expect((await send(gateway, assets)).body).toMatchObject({
      items: [{ createdAt: '1970-01-21T18:39:21.600Z', endsAt: '1970-01-21T18:39:21.600Z' }],
    });
    expect(await gaps(assets, 'time-unit')).toBe(2);
  });

  it('C28 asset numbers of an unknown form or region: delivered, and counted', async () => {
    const reserving = caseOf('reserveAssetNums');
    await answerData('["8000000001","7000000001",null,"123","","800000000a",6000000001]', reserving);
    const answer = await send(gateway, reserving);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      requested: 1,
      items: [
        { keyShellNumber: '8000000001', region: 'domestic' },
        { keyShellNumber: '7000000001', region: 'unknown' },
        { keyShellNumber: '123', region: 'unknown' },
        { keyShellNumber: '800000000a', region: 'unknown' },
        { keyShellNumber: '6000000001', region: 'singapore' },
      ],
    });
    for (const kind of ['unknown-word', 'null', 'empty'])
      expect([kind, await gaps(reserving, kind)]).toEqual([kind, 1]);
    await expectAsked(reserving);
  });
});

describe('a platform that repeats what it gets, and a gateway that counts in seconds', () => {
  const seconds = new TestGateway();
  const inSeconds = new ProfileFile();
  const seen: string[] = [];
  /** The response to reads of assets. Other calls get an echo of the request in each text field. */
  let assetsAnswer = '';
  const parrot = createServer((request, response) => {
    void text(request).then((body) => {
      const { authorization = '', usertoken = '' } = request.headers as Record<string, string>;
      const tokens = [authorization.replace('Bearer ', ''), usertoken].filter((token) => token !== '');
      seen.push(...tokens);
      const words = `${tokens.join(' ')} ${sandbox.appSecret} ${body}`;
      const isAssets = request.url?.includes('/list?') === true;
      response.writeHead(isAssets ? 200 : 299, { 'content-type': 'application/json' });
      response.end(isAssets ? assetsAnswer : JSON.stringify({ code: '13004', message: words, cause: words }));
    });
  });

  beforeAll(async () => {
    parrot.listen(0, '127.0.0.1');
    await once(parrot, 'listening');
    const { port } = parrot.address() as AddressInfo;
    inSeconds.write({ readings: { timestampUnit: 's' } });
    const environment = {
      UPSTREAM_BASE_URL: `http://127.0.0.1:${port}`,
      PLATFORM_PROFILE_FILE: inSeconds.path,
    };
    await seconds.open(sandbox, environment);
  });
  afterAll(async () => {
    await seconds.stop();
    parrot.close();
  });

  it('C26 our own secrets, echoed: masked in the problem and in the log', async () => {
    const password = newSecret('m');
    const member = { account: 'nina', password, name: 'Nina' };
    const answers = [
      await send(seconds, read),
      await send(seconds, write),
      await send(seconds, { ...caseOf('addMembers'), body: { members: [member] } }, { undocumented: true }),
      await send(seconds, { ...caseOf('resetMemberPassword'), body: { password } }, { undocumented: true }),
    ];
    expect(seen.length).toBeGreaterThanOrEqual(6);
    for (const answer of answers) expect(answer.body['detail']).toContain('[secret]');
    const shown = [...answers.map((answer) => answer.text), ...(await seconds.log())].join('\n');
    for (const secret of [...seen, sandbox.appSecret, password]) expect(shown).not.toContain(secret);
  });

  it('C27 milliseconds instead of seconds: counted; a year of five digits is no RFC 3339, so null', async () => {
    const createdAt = async (createTime: number) => {
      assetsAnswer = envelope(JSON.stringify([{ id: 'a', createTime }]));
      const { body } = await send(seconds, caseOf('listAssets'));
      const [item] = body['items'] as [{ createdAt: unknown }];
      return item.createdAt;
    };
    expect(await createdAt(1_795_161_600_000)).toBeNull();
    expect(await createdAt(150_000_000_000)).toMatch(/^6723-/);
    expect(await createdAt(1_795_161_600)).toBe('2026-11-20T08:00:00.000Z');
    const series = 'gateway_upstream_gaps_total{operation="listAssets",kind="time-unit"}';
    expect(await metric(seconds, series)).toBe(2);
  });
});
