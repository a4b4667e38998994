import { describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { caseOf } from '../support/expected.ts';
import { TestGateway } from '../support/gateway.ts';
import { type OperationCase, operationCases, send } from '../support/operations.ts';
import { useStack } from '../support/stack.ts';
import { refusalCodes } from '../support/upstream-codes.ts';

/** What callers see of each operation while the platform fails. What can go wrong on the wire and in bodies is in test/faults/. */

const { sandbox, gateway } = useStack();

interface Expected {
  readonly status: number;
  readonly code: string;
  readonly outcome: string;
  readonly retryable: boolean;
  /** How many calls the platform gets. */
  readonly attempts: number;
}

const refusal = (status: number, code: string): Expected => ({
  status,
  code,
  outcome: 'not_processed',
  retryable: false,
  attempts: 1,
});

/** A size of pages that was given before is asked again, and then a page of a single member: if that is refused too, it is not the size. */
const maySayTooLarge = ['13004', '40000', '12345'];
const smallerPages: Readonly<Record<string, number>> = {
  listMembers: [20, 20, 1].length,
  getMember: [200, 200, 1].length,
};

/** What a code means after an operation. */
function expectedFor(code: string, { id, effect }: OperationCase): Expected {
  const read = effect === 'read';
  const attempts = (maySayTooLarge.includes(code) && smallerPages[id]) || 1;
  const known = refusalCodes.find((each) => each.code === code);
  if (known) return { ...refusal(known.status, known.slug), attempts };
  const unclear = { outcome: read ? 'not_processed' : 'unknown', attempts };
  switch (code) {
    case '60000':
      return { ...refusal(502, 'upstream-credential-rejected'), attempts: 2 };
    case '70001':
      return { ...refusal(502, 'upstream-credential-rejected'), ...unclear, attempts: read ? 2 : 1 };
    case '500':
    case '80001':
      return read
        ? { ...refusal(503, 'upstream-unavailable'), retryable: true, attempts: 2 }
        : { ...refusal(502, 'outcome-unknown'), outcome: 'unknown', retryable: effect === 'repeatable' };
    case '33009':
      return { ...refusal(502, 'outcome-unknown'), outcome: 'unknown' };
    default:
      return { ...refusal(502, 'upstream-unmapped-error'), ...unclear };
  }
}

/** A response that is no envelope, or with a bare 401. */
const unreadable = ({ effect }: OperationCase): Expected =>
  effect === 'read'
    ? refusal(502, 'upstream-contract-violation')
    : { ...refusal(502, 'outcome-unknown'), outcome: 'unknown', retryable: effect === 'repeatable' };

/** The response is its problem, and the platform got as many calls, each with another nonce. `when` names the row of a failed test. */
async function expectProblem(
  operation: OperationCase,
  when: string,
  { attempts, ...expected }: Expected,
  via = gateway,
): Promise<void> {
  const answer = await send(via, operation, { undocumented: true });
  const requestId = answer.headers.get('x-request-id');
  const calls = (await sandbox.journal(operation.upstream)).filter(
    ({ headers }) => headers['x-request-id'] === requestId,
  );
  const nonces = new Set(calls.map(({ query }) => query['g_nonce']));
  expect({ when, ...answer.body, calls: calls.length, nonces: nonces.size }).toMatchObject({
    when,
    ...expected,
    type: `/problems/${expected.code}`,
    requestId,
    calls: attempts,
    nonces: attempts,
  });
  expect([when, answer.status]).toEqual([when, expected.status]);
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
}

async function expectCodes(operation: OperationCase, codes: readonly string[]): Promise<void> {
  for (const code of codes) {
    await sandbox.reset();
    await sandbox.fault({ operation: operation.upstream, action: { code, message: 'as upstream says' } });
    await expectProblem(operation, `code ${code}`, expectedFor(code, operation));
  }
}

describe.each(operationCases)('$id, when the platform responds', (operation) => {
  it('with a code, a body that is none, or a claim of success that is none, is the problem of that', async () => {
    await expectCodes(operation, ['13004', '60000', '80001', '12345']);
    await sandbox.reset();
    await sandbox.fault({ operation: operation.upstream, action: { raw: { text: '{"code":0' } } });
    await expectProblem(operation, 'half an envelope', unreadable(operation));
    await sandbox.reset();
    const claim = { code: 0, status: 299, codeAs: 'integer' };
    await sandbox.fault({ operation: operation.upstream, action: claim });
    const outcome = operation.effect === 'read' ? 'not_processed' : 'unknown';
    await expectProblem(operation, 'code 0 in an error', {
      ...refusal(502, 'upstream-contract-violation'),
      outcome,
    });
  });

  it('with 401 and no envelope: a read is sent again with another token, a write has an unknown outcome', async () => {
    // The gateway remembers deletes whose outcome is unknown; one that succeeds settles what the test before left open.
    if (operation.id === 'deleteMember') await send(gateway, operation);
    await sandbox.reset();
    const action = { httpStatus: 401, raw: { text: '', status: 401 } };
    await sandbox.fault({ operation: operation.upstream, times: 1, action });
    if (operation.effect === 'read') {
      expect((await send(gateway, operation)).status).toBeLessThan(300);
      expect(await sandbox.journal(operation.upstream)).toHaveLength(2);
    } else await expectProblem(operation, '401', unreadable(operation));
  });
});

it.each(['findCustomers', 'updateMember', 'placeOrder'])(
  'every documented code of the platform is its problem after %s',
  async (id) => {
    const others = ['60000', '70001', '500', '80001', '33009', '12345'];
    await expectCodes(caseOf(id), [...refusalCodes.map(({ code }) => code), ...others]);
  },
);

it("an order is not sent again because of a user's token, which it does not have", async () => {
  await sandbox.fault({ operation: 'batchOrder', action: { code: '60005' } });
  const refused = await send(gateway, caseOf('placeOrder'));
  expect([refused.status, refused.body]).toMatchObject([
    ...[502, { code: 'upstream-credential-rejected', outcome: 'not_processed' }],
  ]);
  expect(await sandbox.journal('batchOrder')).toHaveLength(1);
});

it('every operation that gets no response in time is 504 at its deadline', async () => {
  // These deadlines are enough for a slow machine to send every call, and not enough for one of the responses.
  const deadlines = { UPSTREAM_DEADLINE_MS: '4000', UPSTREAM_ORDER_DEADLINE_MS: '4000' };
  const hasty = await TestGateway.start(sandbox, deadlines);
  // Some writes read first, and edits of a member wait for each other.
  const edits = new Set(['updateMember', 'setMemberAssetNums', 'changeMemberAssetNums']);
  const roundOf = ({ id, effect }: OperationCase) => (edits.has(id) ? id : effect === 'read');
  for (const cases of Map.groupBy(operationCases, roundOf).values()) {
    await sandbox.reset();
    await sandbox.fault({ operation: cases.map(({ upstream }) => upstream), action: { delayMs: 60_000 } });
    await Promise.all(
      cases.map((operation) => {
        const { effect } = operation;
        const expected =
          effect === 'read'
            ? { ...refusal(504, 'upstream-timeout'), retryable: true }
            : {
                ...refusal(504, 'outcome-unknown'),
                outcome: 'unknown',
                retryable: effect === 'repeatable',
              };
        return expectProblem(operation, operation.id, expected, hasty);
      }),
    );
  }
  await hasty.stop();
});

it.each(['80001', '70001', '60000'])('a read succeeds when %s happened once', async (code) => {
  const find = caseOf('findCustomers');
  await sandbox.fault({ operation: find.upstream, times: 1, action: { code } });
  expect((await send(gateway, find)).status).toBe(200);
  expect(await sandbox.journal(find.upstream)).toHaveLength(2);
});

it.each<[string, string, string, string, object[] | undefined]>([
  [
    'placeOrder',
    'there is no product draft.prox; ask help.vendor.example or name.x@vendor.example (2.10.3)',
    'there is no product draft.prox; ask help.vendor.example or name.x@vendor.example (2.10.3)',
    '13004',
    undefined,
  ],
  [
    'placeOrder',
    '产品 draft.prox 不存在：orderList[0].assets[0].assetNos',
    '产品 draft.prox 不存在：assetNums',
    '13004',
    [{ pointer: '/items/0/assets/0/assetNums', detail: '产品 draft.prox 不存在：assetNums' }],
  ],
  ['listAssets', 'extendCode site.x gibt es nicht', 'extendCode site.x gibt es nicht', '13004', undefined],
  [
    'deleteMember',
    'urn:vendor:userName:7 in orderList.csv',
    'urn:vendor:userName:7 in orderList.csv',
    '40000',
    undefined,
  ],
])(
  'the words of the platform reach the caller of %s whole: %s',
  async (id, message, detail, code, errors) => {
    const operation = caseOf(id);
    await sandbox.fault({ operation: operation.upstream, times: 1, action: { code, message } });
    const { body } = await send(gateway, operation, { undocumented: true });
    expect(body).toMatchObject({ code: 'upstream-rejected', detail });
    expect(body['errors']).toEqual(errors);
    const line = (await gateway.log()).findLast((each) => each.includes('"event":"request"'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ detail, upstreamMessage: message });
  },
);

it("the platform's message never reaches caller or log with a secret of the order in it", async () => {
  const password = newSecret('l');
  const order = caseOf('placeOrder');
  const body = structuredClone(order.body) as {
    items: [{ assets: [{ products: [{ passwords?: string[] }] }] }];
  };
  body.items[0].assets[0].products[0].passwords = [password];
  const words = `secrets: ${password} ${sandbox.appSecret}`;
  await sandbox.fault({ operation: order.upstream, action: { code: '13004', message: words, cause: words } });
  const spoken = await send(gateway, { ...order, body });
  expect(spoken.body['detail']).toBe('secrets: [secret] [secret]');
  const log = (await gateway.log()).join('\n');
  expect(log).toContain('secrets: [secret] [secret]');
  for (const secret of [password, sandbox.appSecret]) expect(log).not.toContain(secret);
});
