import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FaultProxy } from '../../test/support/fault-proxy.ts';
import { TestGateway } from '../../test/support/gateway.ts';
import { newSecret } from '../../test/support/canary.ts';
import { TestSandbox } from '../../test/support/sandbox.ts';
import { isProblem, type Job, Licensing } from '../src/licensing.ts';

const HARBOUR = { enterpriseGlobalId: 'ent-harbour' };

let sandbox: TestSandbox;
let gateway: TestGateway;
let proxy: FaultProxy;
let licensing: Licensing;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  gateway = await TestGateway.start(sandbox);
  proxy = await FaultProxy.start(Number(new URL(gateway.url).port));
  licensing = new Licensing({ baseUrl: proxy.url, apiKey: gateway.key });
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await proxy.close();
  await gateway.stop();
  await sandbox.close();
});

/** A file with these accounts. */
function file(...accounts: string[]): string {
  return [
    'account,password,name',
    ...accounts.map((account) => `${account},${newSecret('m')},${account}`),
  ].join('\n');
}

describe('an import', () => {
  it('goes on by itself, is watched up to its end, and tells each row', async () => {
    const job = await licensing.members.import(HARBOUR, file('new1', 'anna', 'new2'));
    const seen: Job[] = [];
    for await (const progress of job) seen.push(progress);
    expect(seen.at(-1)).toMatchObject({
      jobId: job.jobId,
      state: 'completed',
      total: 3,
      done: 3,
      succeeded: 2,
      failed: 1,
    });
    const failed = [];
    for await (const row of job.failedRows()) failed.push([row.row, row.account]);
    expect(failed).toEqual([[2, 'anna']]);
    expect(await licensing.jobs.get({ jobId: job.jobId })).toMatchObject({ state: 'completed' });
    expect((await licensing.jobs.follow(job.jobId).done()).done).toBe(3);
  });

  it('from a stream is sent as it comes', async () => {
    const stream = new Blob([file('streamed')]).stream();
    const job = await licensing.members.import({ ...HARBOUR, mode: 'upsert' }, stream);
    expect(await job.done()).toMatchObject({ state: 'succeeded', succeeded: 1 });
  });

  it('is watched on after the connection was lost', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 1_500 } });
    const job = await licensing.members.import(HARBOUR, file('later'));
    const states: string[] = [];
    for await (const { state } of job) {
      states.push(state);
      if (states.length > 1) continue;
      await proxy.add({ toxic: 'down' });
      await proxy.clear();
    }
    expect(states.at(-1)).toBe('succeeded');
    expect(await sandbox.journal('addMembers')).toHaveLength(1);
  });

  it('is refused with the faults of the file, and shown before it is done', async () => {
    const refused = await licensing.members
      .import(HARBOUR, 'account,name\nonly,a\n')
      .catch((error: unknown) => error);
    expect(isProblem(refused, 'validation-failed') && refused.errors.length).toBeGreaterThan(0);
    expect(await licensing.members.previewImport(HARBOUR, file('new9', 'anna'))).toMatchObject({
      add: 1,
      unchanged: 0,
      fail: ['anna'],
    });
    const missing = await licensing.jobs
      .follow('no-such-job')
      .done()
      .catch((error: unknown) => error);
    expect(isProblem(missing, 'job-not-found')).toBe(true);
  });
});

it('an export is a stream of the members', async () => {
  const text = await new Response(
    await licensing.as('anna').members.export(HARBOUR, { format: 'ndjson' }),
  ).text();
  const members = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { memberGlobalId: string });
  expect(members.map(({ memberGlobalId }) => memberGlobalId)).toContain('mem-harbour-anna');
});
