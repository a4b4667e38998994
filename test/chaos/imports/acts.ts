import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../../sandbox/random.ts';
import { newSecret } from '../../support/canary.ts';
import { until } from '../../support/redis.ts';
import type { Act, Sizes } from '../engine.ts';
import { falseRows, hasEnded, type Job, membersOf } from './check.ts';
import { type ImportFile, mixedFile, newMembers, rowOf, textOf } from './file.ts';
import type { ImportStage } from './stage.ts';

export interface ImportSizes extends Sizes {
  readonly processes: number;
  readonly imports: number;
  readonly rows: number;
  /** kill -9 of gateways, and crashes of the database. */
  readonly kills: number;
  readonly databaseKills: number;
}

const CSV = { 'content-type': 'text/csv' };
const PAUSE_MS = 150;
/** A job that does not change for so long has been forgotten. Processes that die keep it for some seconds only. */
const FORGOTTEN_MS = 120_000;
const ROWS_PER_CALL = 100;
/** A caller may have this number of imports. */
const IMPORTS_AT_A_TIME = 5;

/** What the platform does to calls, each with some probability, before or after it carried them out. */
const FAULTS = [
  { phase: 'after', action: { reset: 'before-headers' } },
  { phase: 'before', action: { reset: 'before-headers' } },
  { phase: 'after', action: { code: '500', message: 'network exception, retry' } },
  { phase: 'before', action: { code: '500', message: 'network exception, retry' } },
  { phase: 'after', action: { truncate: 40 } },
  { phase: 'before', action: { delayMs: 1_400 } },
  { phase: 'after', action: { hang: true } },
] as const;
const PROBABILITY = 0.03;
const WRITES = ['addMembers', 'editMember', 'deleteMember'];
/** Long enough for a process to be killed meanwhile, on either side of the change. */
const SLOW = [
  { phase: 'before', action: { delayMs: 250 }, probability: 0.5 },
  { phase: 'after', action: { delayMs: 250 } },
] as const;

function importsOf(enterprise: string, query = ''): string {
  return `/v1/enterprises/${enterprise}/member-imports${query}`;
}

/** Sends the file until it is accepted, as a usual caller does. A response may have been lost. */
async function accepted(stage: ImportStage, { enterprise, text, query }: ImportFile): Promise<Job> {
  for (;;) {
    const response = await stage.ask(importsOf(enterprise, query), {
      method: 'POST',
      headers: CSV,
      body: text,
    });
    if (response?.status === 202) return (await response.json()) as Job;
    if (response?.status === 400 || response?.status === 422) throw new Error(await response.text());
    const [job] = await jobsOf(stage, enterprise);
    if (job) return job;
    await sleep(PAUSE_MS);
  }
}

/** Newest first. */
async function jobsOf(stage: ImportStage, enterprise: string): Promise<readonly Job[]> {
  return (await stage.answer<{ items: Job[] }>(`/v1/jobs?enterpriseGlobalId=${enterprise}`)).items;
}

/** Follows the job's events to its end, over the ends of processes. */
async function ended(stage: ImportStage, first: Job, violations: string[]): Promise<Job> {
  let job = first;
  let seen = 0;
  let changedAt = performance.now();
  while (!hasEnded(job)) {
    for await (const { id, data } of stage.events(job.jobId, seen)) {
      const next = JSON.parse(data) as Job;
      if (next.done < job.done || id < seen)
        violations.push(`${job.jobId} went back from ${job.done} (${seen}) to ${next.done} (${id})`);
      if (id > seen) changedAt = performance.now();
      job = next;
      seen = id;
    }
    if (performance.now() - changedAt > FORGOTTEN_MS) {
      violations.push(
        `${job.jobId} did not end: ${JSON.stringify({ ...job, store: await stage.stored(job.jobId) })}`,
      );
      return job;
    }
    if (!hasEnded(job)) await sleep(PAUSE_MS);
  }
  return job;
}

async function wholeImport(stage: ImportStage, file: ImportFile, violations: string[]): Promise<Job> {
  const job = await ended(stage, await accepted(stage, file), violations);
  violations.push(...(await falseRows(stage, file, job)));
  return job;
}

/** Adds members outside of imports, until the platform has done so: on a busy machine its response may come after the deadline. */
async function add(stage: ImportStage, enterprise: string, accounts: readonly string[]): Promise<void> {
  const members = accounts.map((account) => ({ account, password: newSecret('m'), name: 'Here before' }));
  const areAdded = async () => {
    const calls = await callsFor(stage, 'addMembers', enterprise);
    const carriedOut = JSON.stringify(calls.filter(({ committed }) => committed).map(({ body }) => body));
    return accounts.every((account) => carriedOut.includes(`"${account}"`));
  };
  await until(`${enterprise} has its members`, async () => {
    if (await areAdded()) return true;
    await stage.ask(`/v1/enterprises/${enterprise}/members`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ members }),
    });
    return areAdded();
  });
}

/** Calls of that operation for the enterprise, as the platform saw them. */
async function callsFor(stage: ImportStage, operation: string, enterprise: string) {
  return (await stage.sandbox.journal(operation)).filter(({ path }) => path.includes(enterprise));
}

export const acts = {
  /** The platform carries calls out, and the gateway gets no response that says so. */
  'lost-responses': async (stage) => {
    const violations: string[] = [];
    const enterprise = await stage.enterprise('lost');
    for (const action of [{ reset: 'before-headers' }, { truncate: 40 }, { hang: true }])
      await stage.sandbox.fault({
        ...{ operation: 'addMembers', match: { path: enterprise }, times: 1 },
        ...{ phase: 'after', action },
      });
    const file = newMembers(enterprise, 'lost', 3 * ROWS_PER_CALL);
    await wholeImport(stage, file, violations);
    return violations;
  },

  /** All processes are killed when the platform has carried a call out, and no process knows it. */
  'killed-before-the-record': async (stage) => {
    const violations: string[] = [];
    const enterprise = await stage.enterprise('killed');
    const operation = 'addMembers';
    const ids = await stage.sandbox.fault({
      ...{ operation, match: { path: enterprise }, times: 2 },
      ...{ phase: 'after', action: { hang: true } },
    });
    const file = newMembers(enterprise, 'killed', 3 * ROWS_PER_CALL);
    const job = await accepted(stage, file);
    await until('the platform has carried a call out', async () =>
      (await callsFor(stage, operation, enterprise)).some(({ committed }) => committed),
    );
    await stage.killGateways();
    // Only the calls of the processes that died get no response. Otherwise a call that is sent again and hangs would be looked up, with or
    // without a record.
    await stage.sandbox.heal(ids);
    violations.push(...(await falseRows(stage, file, await ended(stage, job, violations))));
    return violations;
  },

  /** Several imports of an enterprise at the same moment, by all processes: each is accepted when the one before it has ended. */
  'second-import': async (stage) => {
    const violations: string[] = [];
    const enterprise = await stage.enterprise('second');
    const action = { delayMs: 500 };
    await stage.sandbox.fault({ operation: 'addMembers', match: { path: enterprise }, action });
    const body = textOf([rowOf('second')]);
    const send = (gateway: number) =>
      stage.ask(importsOf(enterprise), { method: 'POST', headers: CSV, body }, gateway);
    await Promise.all(stage.fleet.gateways.flatMap((_, gateway) => [send(gateway), send(gateway)]));
    for (const job of await jobsOf(stage, enterprise)) await ended(stage, job, violations);
    const jobs = await jobsOf(stage, enterprise);
    for (const [index, { createdAt }] of jobs.slice(0, -1).entries())
      if (createdAt < (jobs[index + 1]?.finishedAt ?? ''))
        violations.push(`${enterprise} had two imports at once`);
    return violations;
  },

  /** This file lacks more members than may be deleted: when it arrives, or only when its plan is made. */
  'bounded-deletes': async (stage) => {
    const violations: string[] = [];
    const enterprise = await stage.enterprise('bounded');
    const query = (most: number) => `?mode=upsert&deleteMissing=true&maxDeletes=${most}`;
    const text = textOf([rowOf('bounded')]);
    const request = { method: 'POST', headers: CSV, body: text };
    await add(stage, enterprise, ['gone0', 'gone1']);
    const refused = await stage.answer<{ code?: string; jobId?: string }>(
      importsOf(enterprise, query(1)),
      request,
      [202, 422],
    );
    if (refused.code !== 'too-many-deletes') {
      violations.push(`${enterprise}: an import may delete more than maxDeletes`);
      await ended(stage, refused as Job, violations);
    }
    const known = (await membersOf(stage, enterprise)).size;
    const operation = 'listMembers';
    const before = (await callsFor(stage, operation, enterprise)).length;
    // The plan of the request reads the list, the plan of the job gets no response until there are more members.
    const ids = await stage.sandbox.fault({
      ...{ operation, match: { path: enterprise }, skip: 1 },
      action: { hang: true },
    });
    const job = await stage.answer<Job>(importsOf(enterprise, query(known)), request);
    await until(
      'the job makes its plan',
      async () => (await callsFor(stage, operation, enterprise)).length > before + 1,
    );
    await add(stage, enterprise, ['late0', 'late1']);
    await stage.sandbox.heal(ids);
    const end = await ended(stage, job, violations);
    const left = (await membersOf(stage, enterprise)).size;
    if (end.problem?.code !== 'too-many-deletes' || left !== known + 2)
      violations.push(`${enterprise}: a job (${end.state}) left ${left} of ${known + 2} members`);
    return violations;
  },

  /** The password of a row is deleted with the response of its call. */
  passwords: async (stage) => {
    const violations: string[] = [];
    const enterprise = await stage.enterprise('passwords');
    const file = newMembers(enterprise, 'pass', 2 * ROWS_PER_CALL);
    const body = { userList: [{ userName: `passx${ROWS_PER_CALL}` }] };
    await stage.sandbox.fault({
      ...{ operation: 'addMembers', match: { path: enterprise, body }, times: 1 },
      action: { delayMs: 900 },
    });
    const job = await accepted(stage, file);
    await until(
      'a call is answered',
      async () => (await stage.answer<Job>(`/v1/jobs/${job.jobId}`)).done >= ROWS_PER_CALL,
    );
    if ((await stage.waitingChunks(job.jobId)) > 1)
      violations.push(`${job.jobId} keeps passwords of members who were added`);
    violations.push(...(await falseRows(stage, file, await ended(stage, job, violations))));
    return violations;
  },

  /** Imports of several enterprises at once while processes and the database are killed, and the platform fails. Last, since it goes on failing. */
  crowd: async (stage, options) => {
    const violations: string[] = [];
    const { imports, rows, kills, databaseKills } = options;
    const files: ImportFile[] = [];
    for (let index = 0; index < imports + kills + databaseKills; index++) {
      const enterprise = await stage.enterprise(`crowd${index}`);
      const file = mixedFile(enterprise, `c${index}`, rows, index % 2 === 1);
      await add(stage, enterprise, file.before);
      files.push(file);
    }
    for (const rule of FAULTS)
      await stage.sandbox.fault({ ...rule, operation: WRITES, probability: PROBABILITY });
    for (const rule of SLOW) await stage.sandbox.fault({ ...rule, operation: 'addMembers' });
    const over = new AbortController();
    let isKilling = true;
    const killing = killAll(stage, options, over.signal).finally(() => (isKilling = false));
    const jobs = new Map<ImportFile, Job>();
    const next = files.values();
    // The lane makes more imports than wanted, if all kills need them.
    const lane = async () => {
      for (const file of next) {
        if (jobs.size >= imports && !isKilling) return;
        const job = await accepted(stage, file);
        jobs.set(file, job);
        jobs.set(file, await ended(stage, job, violations));
      }
    };
    try {
      await Promise.all(Array.from({ length: IMPORTS_AT_A_TIME }, lane));
    } finally {
      over.abort();
      await killing;
    }
    for (const [file, job] of jobs) {
      stage.count(`imports ${job.state}`);
      violations.push(...(await falseRows(stage, file, job)));
    }
    stage.count('rows', jobs.size * rows);
    return violations;
  },
} satisfies Record<string, Act<ImportStage, ImportSizes>>;

/** Kills gateways in the order of the seed, until all imports have ended. */
async function killAll(
  stage: ImportStage,
  { kills, databaseKills, processes, seed }: ImportSizes,
  over: AbortSignal,
): Promise<void> {
  const random = new SeededRandom(seed);
  const order = Array.from({ length: kills + databaseKills }, (_, index) => ({
    what: index < kills ? ('gateway' as const) : ('database' as const),
    place: random.next(),
  })).sort((one, other) => one.place - other.place);
  // A process that starts again is not killed meanwhile, and the others are.
  const starting = new Map<number, Promise<unknown>>();
  for (const { what } of order) {
    await sleep(250 + random.next() * 500, undefined, { signal: over }).catch(() => undefined);
    if (starting.size === processes) await Promise.race(starting.values());
    if (over.aborted) break;
    const running = Array.from({ length: processes }, (_, index) => index).filter(
      (each) => !starting.has(each),
    );
    const index = running[Math.floor(random.next() * running.length)] as number;
    if (what === 'database') {
      await stage.killDatabase();
    } else
      starting.set(
        index,
        stage.killGateway(index).finally(() => starting.delete(index)),
      );
  }
  await Promise.all(starting.values());
}
