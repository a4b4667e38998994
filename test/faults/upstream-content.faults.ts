import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
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
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer, TestGateway } from '../support/gateway.ts';
import { freshBody, type OperationCase, operationCases, send } from '../support/operations.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Errors in a complete response of the platform, for a read, a write that must not run twice and an order. */

let sandbox: TestSandbox;
let gateway: TestGateway;
const cleanUps: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(async () => {
  await sandbox.reset();
  gateway = await gatewayWith();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(() => sandbox.close());

/** For this test only: counters start at 0, and no breaker is open because of another test. */
async function gatewayWith(environment: Record<string, string> = {}): Promise<TestGateway> {
  const started = await startInProcess(sandbox, environment);
  cleanUps.push(() => started.stop());
  return started;
}

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

async function expectData(operation: OperationCase, problem: Expected): Promise<void> {
  expectProblem(await send(gateway, operation), problem);
  await expectAsked(operation);
}

function warnings(operation: OperationCase, what: string): Promise<number> {
  return metric(
    gateway,
    `gateway_upstream_contract_warnings_total{operation="${operation.upstream}",what="${what}"}`,
  );
}

/** Responses that violated the interface in this way, from the metric. */
function gaps({ id }: OperationCase, kind: string): Promise<number> {
  return metric(gateway, `gateway_upstream_gaps_total{operation="${id}",kind="${kind}"}`);
}

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

describe('bodies that are no envelope', () => {
  it.each<[string, string | Buffer]>([
    ['C1 JSON that ends too early', '{"code":0,"data":[{'],
    ['C1 no JSON at all', 'code=0&message=ok'],
    ['C1 JSON with a comma too many', '{"code":0,}'],
    ['C1 two envelopes', '{"code":0}{"code":0}'],
    ['C2 nothing', ''],
    ['C2 null', 'null'],
    ['C2 a list', '[]'],
    ['C2 text', '"ok"'],
    ['C2 a number', '0'],
    ['C4 two byte order marks', '\ufeff\ufeff{"code":0}'],
    ['C5 GBK', Buffer.from([...Buffer.from('{"code":0,"message":"'), 0xc4, 0xe3, ...Buffer.from('"}')])],
    ['C5 half a character', Buffer.from([...Buffer.from('{"code":0,"message":"'), 0xe2, 0x82, 0x22, 0x7d])],
    ['C18 10,000 levels', `{"code":0,"data":${deep(10_000)}}`],
    ['C18 65 levels', `{"code":0,"data":${deep(64)}}`],
    ['C19 a code given twice', '{"code":1,"code":0}'],
    ['C19 a key given twice inside', '{"code":0,"data":[{"customerId":"a","customerId":"b"}]}'],
    ['C20 a hexadecimal number', '{"code":0x0}'],
    ['C20 a number with a leading zero', '{"code":00}'],
  ])('%s: 502, a write unknown and sent once', async (_, body) => {
    await answerWith(body);
    await expectEach(READ_VIOLATION, UNKNOWN);
    await sandbox.reset();
    expect((await send(gateway, read)).status).toBe(200);
  });

  it('C3 an HTML page with 200: none of it is shown, its length and hash are logged', async () => {
    const page = `<!doctype html><html><body>maintenance ${'x'.repeat(2_000)}</body></html>`;
    await answerWith(page);
    const answers = await expectEach(READ_VIOLATION, UNKNOWN);
    for (const { text: shown } of answers) expect(shown).not.toMatch(/html|maintenance/);
    const log = (await gateway.log()).join('\n');
    expect(log).not.toMatch(/<html|maintenance/);
    const lines = (await gateway.log()).filter((line) => line.includes('"upstreamSha256"'));
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
  it.each(['"00"', '0.0', '0e0', '-0', 'null', '""', '" 0"', 'true', 'false', '[]', '[0]', '{}'])(
    'C6 the code %s only looks like 0',
    async (code) => {
      await answerWith(`{"code":${code},"message":"m","data":null}`);
      const isCode = code === '"00"';
      const unmapped = (outcome: string) => expected(502, 'upstream-unmapped-error', outcome);
      await (isCode
        ? expectEach(unmapped('not_processed'), unmapped('unknown'))
        : expectEach(READ_VIOLATION, WRITE_VIOLATION));
    },
  );

  it('C6 no code', async () => {
    await answerWith('{"message":"ok","data":[]}');
    await expectEach(READ_VIOLATION, WRITE_VIOLATION);
  });

  it.each(['0', '"0"'])('C6 the code %s is success', async (code) => {
    await answerWith(`{"code":${code},"data":[{"customerId":"c"}]}`, read.upstream);
    expect((await send(gateway, read)).body['items']).toMatchObject([{ customerId: 'c' }]);
  });

  const rejected = expected(422, 'upstream-rejected', 'not_processed');
  it.each<[string, number, Expected, Expected, number]>([
    ['"13004"', 200, rejected, rejected, 1],
    ['13004', 200, rejected, rejected, 1],
    ['13004', 299, rejected, rejected, 1],
    ['500', 200, UNAVAILABLE, UNKNOWN, 2],
    ['"80001"', 200, UNAVAILABLE, UNKNOWN, 2],
  ])(
    'C7 the code %s with status %i means what it means with 299',
    async (code, status, onRead, onWrite, times) => {
      await answerWith(`{"code":${code},"message":"m"}`, '*', status);
      await expectEach(onRead, onWrite, times);
    },
  );

  it.each(['0', '"0"'])('C8 299 with the code %s claims success in an error response', async (code) => {
    await answerWith(`{"code":${code},"message":"ok","data":[]}`, '*', 299);
    await expectEach(READ_VIOLATION, WRITE_VIOLATION);
  });

  it.each<[string, string]>([
    ['a list', '["13004"]'],
    ['an object', '{"code":"13004"}'],
    ['a megabyte', JSON.stringify('13004'.repeat(200_000))],
    ['a line break', '"13004\\r\\nx"'],
  ])('C9 a code that is %s: 502, shown nowhere', async (_, code) => {
    await answerWith(`{"code":${code},"message":"m"}`);
    const answers = await expectEach(READ_VIOLATION, WRITE_VIOLATION);
    for (const { text: shown } of answers) expect(shown).not.toContain('13004');
    const log = (await gateway.log()).join('\n');
    expect(log).not.toContain('13004');
    expect(log.length).toBeLessThan(100_000);
  });
});

describe('ids', () => {
  const exact = [
    '12345678901234567',
    '9007199254740993',
    '9223372036854775807',
    '123456789012345678901234567890',
  ];

  it.each(exact)('C10 the id %s as a number: every digit, as a string', async (id) => {
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
  });

  it('C10 every id of a whole response as a number', async () => {
    await sandbox.fault({ operation: '*', action: { numericIds: true } });
    const assets = await gateway.get('/v1/enterprises/9007199254741993/assets');
    expect(assets.body).toMatchObject({ items: [{ assetId: '9007199254743993' }] });
  });

  it.each(['-1', '1.0', '1.5', '1e21', '-0', '1e999', 'true', '{}', '""', 'null'])(
    'C11 the id %s: no id',
    async (id) => {
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
    },
  );
});

describe('data', () => {
  it.each([envelope('{}'), envelope('"ok"'), envelope('5')])(
    'C12 data is of another shape: %s: 502',
    async (body) => {
      await answerWith(body);
      expectProblem(await send(gateway, read), READ_VIOLATION);
      expectProblem(await send(gateway, write), WRITE_VIOLATION);
      await expectOrderIncomplete(order);
    },
  );

  it.each(['{"code":0}', envelope('null')])(
    'C12 data is missing instead of a list: %s: an empty list for a read, and no success of a write',
    async (body) => {
      await answerWith(body);
      const answer = await send(gateway, read);
      expect([answer.status, answer.body['items']]).toEqual([200, []]);
      expectProblem(await send(gateway, write), WRITE_VIOLATION);
      await expectOrderIncomplete(order);
    },
  );

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
    ['none', []],
    ['more', [1, 2, 3]],
    ['one twice', [1, 1]],
    ['one twice more', [1, 2, 2]],
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
  it.each(['{"code":0}', envelope('null'), envelope('{"anything":1}'), '{"code":"0","message":null}'])(
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
    expect(await gateway.metrics()).not.toMatch(/gateway_upstream_(contract_warnings|gaps)_total\{/);
  });

  const assets = caseOf('listAssets');
  it.each<[string, string, object, string]>([
    ['findCustomers', '[{"customerId":"c","isDefault":"true"}]', { isDefault: null }, 'wrong-type'],
    ['findCustomers', '[{"customerId":"c","isDefault":1}]', { isDefault: null }, 'wrong-type'],
    ['findCustomers', '[{"customerId":"c","enterpriseName":7}]', { enterpriseName: null }, 'wrong-type'],
    ['listAssets', '[{"id":"a","locked":0}]', { locked: null }, 'wrong-type'],
    ['listAssets', '[{"id":"a","keyChipType":"1"}]', { keyGeneration: null }, 'wrong-type'],
    ['listAssets', '[{"id":"a","keyChipType":3}]', { keyGeneration: null }, 'unknown-word'],
    ['listAssets', '[{"id":"a","assetExtends":{}}]', { extensions: [] }, 'wrong-type'],
    ['listAssets', '[{"id":"a","assetExtends":null}]', { extensions: [] }, 'null'],
    ['listAssets', '[{"id":"a","createTime":true}]', { createdAt: null }, 'wrong-type'],
    ['listAssets', '[{"id":"a","createTime":""}]', { createdAt: null }, 'empty'],
    ['listAssets', '[{"id":"a","assignStatus":[]}]', { assignment: null }, 'wrong-type'],
    ['listAssets', '[{"id":"a"}]', { assetNum: null }, 'missing'],
  ])('C16 a field of another type (%s): %s: null, and the rest is served', async (id, data, shown, kind) => {
    const operation = caseOf(id);
    await answerData(data, operation);
    const { status, body } = await send(gateway, operation);
    expect([status, body['items']]).toEqual([200, [expect.objectContaining(shown)]]);
    expect(await gaps(operation, kind)).toBeGreaterThan(0);
    await expectAsked(operation);
  });

  it.each(['[{"assetNum":"8000001003","status":"1"}]', '[{"assetNum":"8000001003","status":true}]'])(
    'C16 a result of a write that is of another type: %s: unknown, never success',
    async (data) => {
      await answerData(data, write);
      const { status, body } = await send(gateway, write);
      expect([status, body['items']]).toEqual([207, [{ assetNum: '8000001003', status: 'unknown' }]]);
      await expectAsked(write);
    },
  );

  it('C16 an object instead of a list: 502', async () => {
    await answerData('{"assetNum":"8000001003","status":1}', write);
    await expectData(write, WRITE_VIOLATION);
  });

  it('C16 ids and times may be numbers or strings', async () => {
    await answerData('[{"id":7,"assetNum":8000001003,"createTime":"1795161600000"}]', assets);
    expect((await send(gateway, assets)).body['items']).toMatchObject([
      { assetId: '7', assetNum: '8000001003', createdAt: '2026-11-20T08:00:00.000Z' },
    ]);
  });

  it('C17 keys that could reach a prototype: dropped, also where a structure is passed through', async () => {
    const evil = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":1';
    await answerData(`[{"id":"a",${evil},"assetLimits":{"max":1,${evil},"in":[{${evil}}]}}]`, assets);
    const answer = await send(gateway, assets);
    expect(answer.body['items']).toMatchObject([{ assetId: 'a', assetLimits: { max: 1, in: [{}] } }]);
    expect(answer.text).not.toMatch(/polluted|__proto__|constructor/);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
    await answerWith(`{${evil}}`, write.upstream);
    expectProblem(await send(gateway, write), WRITE_VIOLATION);
  });

  it.each<[string, object]>([
    ['{"id":"a","createTime":1e999}', { createdAt: null }],
    ['{"id":"a","createTime":99999999999999999999}', { createdAt: null }],
    ['{"id":"a","createTime":-9223372036854775809}', { createdAt: null }],
    ['{"id":"a","createTime":1.5}', { createdAt: null }],
    ['{"id":"a","keyChipType":1e999}', { keyGeneration: null }],
  ])('C20 a number beyond its type: %s: null', async (asset, shown) => {
    await answerData(`[${asset}]`, assets);
    expect((await send(gateway, assets)).body['items']).toMatchObject([shown]);
    expect(await gaps(assets, 'wrong-type')).toBe(1);
  });

  it.each(['1e999', '-0', '1.0'])('C20 a result of a write beyond its type: %s: unknown', async (status) => {
    await answerData(`[{"assetNum":"8000001003","status":${status}}]`, write);
    expect((await send(gateway, write)).body['items']).toEqual([
      { assetNum: '8000001003', status: 'unknown' },
    ]);
    await expectAsked(write);
  });

  it.each(['1e999', '-5', '99999999999999999999', '"many"'])(
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

  it.each([23, 500])('C21 a page of %i instead of 20: 502', async (count) => {
    await answerData(page(count, 5, 1), members);
    await expectData(members, READ_VIOLATION);
  });

  it('C21 wrong totals: at least what came is counted, and the gateway does not loop up to them', async () => {
    await answerData(page(22, 5, 10 ** 9), members);
    const answer = await send(gateway, members);
    expect(answer.body).toMatchObject({ page: 1, pageSize: 20, total: 22, totalPages: 2 });
    expect(answer.body['items']).toHaveLength(20);
    expect(answer.headers.get('link')?.length).toBeLessThan(1_000);
    const overview = await gateway.get('/v1/enterprises/ent-harbour/overview');
    expect(overview.body).toMatchObject({ members: { total: 5 }, unreachable: [] });
    await expectAsked(members, 2);
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
    [
      'failed empty',
      { succeeded: added('nina', 'olaf'), failed: [] },
      { succeeded: [{ userName: 'nina' }, { userName: 'olaf' }], failed: [] },
      0,
    ],
    ['both empty', { succeeded: [], failed: [] }, { succeeded: [], failed: [open('nina'), open('olaf')] }, 1],
    ['neither there', {}, { succeeded: [], failed: [open('nina'), open('olaf')] }, 1],
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
      expect(await warnings(adding, 'contradiction')).toBe(contradictions);
      await expectAsked(adding);
    },
  );

  it.each<[string, object[], string[]]>([
    ['leave one out', [{ assetNum: '8000001003', status: 1 }], ['succeeded', 'unknown']],
    ['leave all out', [], ['unknown', 'unknown']],
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
    [
      'have a status that is new',
      [
        { assetNum: '8000001004', status: 9 },
        { assetNum: '8000001003', status: 1 },
      ],
      ['succeeded', 'unknown'],
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

  it.each<[string, string, number]>([
    ['16 levels', tree(16), 200],
    ['17 levels', tree(17), 502],
    ['1,000 levels', tree(1_000), 502],
    ['10,000 nodes', wide(10_000), 200],
    ['10,001 nodes', wide(10_001), 502],
    ['100,000 nodes', wide(100_000), 502],
  ])('C24 a tree of %s: %s', async (_, children, status) => {
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
    ['line breaks', 'one\r\nX-Forged: 1\r\n\r\ntwo'],
    ['terminal codes', '\u001b[31mred\u001b[0m\u0007\u009b2J'],
    ['a script', '<script>alert(1)</script>'],
    ['text that runs backwards', 'abc\u202ecba\u200b'],
    ['a megabyte', 'x'.repeat(1024 * 1024)],
    ['half a character', 'x\ud83d'],
  ])('C25 %s: cleaned and cut, in the problem and in the log', async (_, message) => {
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
    for (const line of await gateway.log()) {
      expect(line.length).toBeLessThan(5_000);
      for (const value of Object.values(JSON.parse(line) as object)) {
        if (typeof value === 'string') expect(value).not.toMatch(CONTROL);
      }
    }
  });

  it('C26 our own secrets, echoed: masked in the problem and in the log', async () => {
    const seen: string[] = [];
    /** Echoes the request in each text field. */
    const parrot = createServer((request, response) => {
      void text(request).then((body) => {
        const { authorization = '', usertoken = '' } = request.headers as Record<string, string>;
        const tokens = [authorization.replace('Bearer ', ''), usertoken].filter((token) => token !== '');
        seen.push(...tokens);
        const words = `${tokens.join(' ')} ${sandbox.appSecret} ${body}`;
        response.writeHead(299, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ code: '13004', message: words, cause: words }));
      });
    }).listen(0, '127.0.0.1');
    await once(parrot, 'listening');
    cleanUps.push(async () => parrot.close());
    const { port } = parrot.address() as AddressInfo;
    gateway = await gatewayWith({ UPSTREAM_BASE_URL: `http://127.0.0.1:${port}` });
    const password = 'member-login-77';
    const member = { account: 'nina', password, name: 'Nina' };
    const answers = [
      await send(gateway, read),
      await send(gateway, write),
      await send(gateway, { ...caseOf('addMembers'), body: { members: [member] } }, { undocumented: true }),
      await send(gateway, { ...caseOf('resetMemberPassword'), body: { password } }, { undocumented: true }),
    ];
    expect(seen.length).toBeGreaterThanOrEqual(6);
    for (const answer of answers) expect(answer.body['detail']).toContain('[secret]');
    const shown = [...answers.map((answer) => answer.text), ...(await gateway.log())].join('\n');
    for (const secret of [...seen, sandbox.appSecret, password]) expect(shown).not.toContain(secret);
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

  it('C27 milliseconds instead of the configured seconds: counted; a year of five digits is no RFC 3339, so null', async () => {
    gateway = await gatewayWith({ UPSTREAM_TIMESTAMP_UNIT: 's' });
    await answerData(asset(1_795_161_600_000), assets);
    expect((await send(gateway, assets)).body['items']).toMatchObject([{ createdAt: null, endsAt: null }]);
    expect(await gaps(assets, 'time-unit')).toBe(2);
    await sandbox.reset();
    await answerData(asset(150_000_000_000), assets);
    expect((await send(gateway, assets)).body).toMatchObject({
      items: [{ createdAt: expect.stringMatching(/^6723-/) }],
    });
    expect(await gaps(assets, 'time-unit')).toBe(4);
  });

  it('C27 times of the configured unit are not counted', async () => {
    await answerData(asset(1_795_161_600_000), assets);
    expect((await send(gateway, assets)).status).toBe(200);
    expect(await gaps(assets, 'time-unit')).toBe(0);
  });

  it('C28 asset numbers of an unknown form or region: delivered, and counted', async () => {
    const reserving = caseOf('reserveAssetNums');
    await answerData('["8000000001","7000000001","123","800000000a",6000000001]', reserving);
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
    expect(await gaps(reserving, 'unknown-word')).toBe(1);
    await expectAsked(reserving);
  });
});
