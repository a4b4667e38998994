import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { TestSandbox } from '../support/sandbox.ts';

const HARBOUR = '/v1/enterprises/ent-harbour';
const ANNA = `${HARBOUR}/members/mem-harbour-anna/asset-nums`;

let sandbox: TestSandbox;
let gateway: TestGateway;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(async () => {
  await sandbox.reset();
  await gateway?.stop();
  // Cached for long, so that the cache does not notice a change that the test makes at the platform.
  gateway = await TestGateway.start(sandbox, { CACHE_TTL_MS: '60000' });
});
afterAll(async () => {
  await gateway.stop();
  await sandbox.close();
});

const set = (assetNums: string[], query = '', headers: Record<string, string> = {}): Promise<TestAnswer> =>
  gateway.request('PUT', ANNA + query, { body: { assetNums }, headers });
const change = (body: object, query = ''): Promise<TestAnswer> =>
  gateway.request('PATCH', ANNA + query, { body });

async function numbersOf(memberGlobalId: string): Promise<unknown[]> {
  const answer = await gateway.get(`${HARBOUR}/asset-nums?memberGlobalId=${memberGlobalId}`);
  return (answer.body['items'] as { assetNum: string }[]).map(({ assetNum }) => assetNum);
}

describe('the asset numbers of a member', () => {
  it('are set as a whole: only the difference is sent, and a repeat sends nothing', async () => {
    const first = await set(['8000001009', '8000001001']);
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      assigned: ['8000001009', '8000001001'],
      withdrawn: ['8000001002'],
      kept: [],
    });
    const again = await set(['8000001009', '8000001001']);
    expect(again.body).toEqual({ assigned: [], withdrawn: [], kept: ['8000001009', '8000001001'] });
    const sent = await sandbox.journal('changePrivileges');
    expect(sent.map(({ body }) => body)).toEqual([
      { addAssets: ['8000001009', '8000001001'], deleteAssets: ['8000001002'] },
    ]);
    expect((await numbersOf('mem-harbour-anna')).toSorted()).toEqual(['8000001001', '8000001009']);
  });

  it('are all withdrawn with an empty list', async () => {
    expect((await set([])).body).toEqual({ assigned: [], withdrawn: ['8000001002'], kept: [] });
    expect(await numbersOf('mem-harbour-anna')).toEqual([]);
  });

  it('are changed, without numbers that the member already has or no longer has', async () => {
    const answer = await change({ assign: ['8000001002', '8000001009'], withdraw: ['8000001001'] });
    expect(answer.body).toEqual({ assigned: ['8000001009'], withdrawn: [], kept: ['8000001002'] });
  });

  it('may be changed again after a lost response, which says that it is retryable', async () => {
    await sandbox.fault({
      operation: 'changePrivileges',
      times: 1,
      phase: 'after',
      action: { reset: 'before-headers' },
    });
    const lost = await change({ assign: ['8000001009'] });
    expect(lost.body).toMatchObject({
      status: 502,
      code: 'outcome-unknown',
      outcome: 'unknown',
      retryable: true,
    });
    const again = await change({ assign: ['8000001009'] });
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ assigned: [], withdrawn: [], kept: ['8000001009'] });
    expect(await sandbox.journal('changePrivileges')).toHaveLength(1);
  });

  it('of another member are named in a conflict, and nothing is sent', async () => {
    const [taken] = await numbersOf('mem-harbour-bo');
    for (const answer of [await change({ assign: ['8000001009', taken] }), await set([taken as string])]) {
      expect(answer.body).toMatchObject({
        status: 409,
        code: 'asset-assigned-twice',
        outcome: 'not_processed',
        conflicts: [{ assetNum: taken, memberGlobalId: 'mem-harbour-bo' }],
      });
    }
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });

  it('are only compared with validateOnly', async () => {
    const shown = await set(['8000001009'], '?validateOnly=true');
    expect(shown.body).toEqual({ assigned: ['8000001009'], withdrawn: ['8000001002'], kept: [] });
    const changed = await change({ withdraw: ['8000001002'] }, '?validateOnly=true');
    expect(changed.body).toEqual({ assigned: [], withdrawn: ['8000001002'], kept: [] });
    expect(await sandbox.journal('changePrivileges')).toEqual([]);
  });

  it('are protected by the ETag of an earlier list', async () => {
    const list = `${HARBOUR}/asset-nums?memberGlobalId=mem-harbour-anna`;
    const etag = String((await gateway.get(list)).headers.get('etag'));
    expect((await set(['8000001002', '8000001009'], '', { 'if-match': etag })).status).toBe(200);
    const late = await set([], '', { 'if-match': etag });
    expect(late.body).toMatchObject({ status: 412, code: 'precondition-failed', outcome: 'not_processed' });
    expect((await numbersOf('mem-harbour-anna')).toSorted()).toEqual(['8000001002', '8000001009']);
    const now = String((await gateway.get(list)).headers.get('etag'));
    expect((await set([], '', { 'if-match': now })).status).toBe(200);
  });

  it('keep a lock that is lent to the member, which is no right to withdraw', async () => {
    const path = `${HARBOUR}/members/mem-harbour-chen/asset-nums`;
    const answer = await gateway.request('PUT', path, { body: { assetNums: [] } });
    expect(answer.body['withdrawn']).not.toContain('8000001007');
  });
});
