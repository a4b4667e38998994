import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../sandbox/random.ts';
import { newSecret } from '../support/canary.ts';
import { ImportStage } from './stage.ts';

/** Of every import: rows that the platform refuses, and accounts that exist before. */
const REFUSED_EVERY = 97;
const EXISTING = 3;
const POLL_MS = 150;
/** A run that takes longer hangs. */
const GIVE_UP_MS = 240_000;

export interface ImportChaosOptions {
  readonly imports: number;
  readonly rows: number;
  readonly processes: number;
  readonly kills: number;
  readonly redisKills: number;
  readonly seed: number;
  readonly faults: boolean;
  readonly variant?: string | undefined;
}

export interface ImportReport {
  readonly seconds: number;
  readonly rows: number;
  readonly states: Readonly<Record<string, number>>;
  readonly kills: number;
  readonly redisKills: number;
  readonly spoiled: number;
  readonly violations: readonly string[];
}

interface Job {
  readonly jobId: string;
  readonly state: string;
  readonly total: number;
  readonly done: number;
}

interface Row {
  readonly account: string;
  readonly status: string;
  readonly memberGlobalId: string | null;
}

interface Planned {
  readonly enterprise: string;
  readonly file: string;
  readonly existing: ReadonlySet<string>;
  readonly refused: ReadonlySet<string>;
}

const ENDS = new Set(['succeeded', 'completed', 'cancelled', 'failed']);
const HEADER = 'account,password,name,departmentId,remark,passwordMobile';
const CSV = { 'content-type': 'text/csv' };

/** Imports of several enterprises at once while processes and the store are killed, and what became of every row. */
export async function runImportChaos(options: ImportChaosOptions): Promise<ImportReport> {
  const started = performance.now();
  const stage = await ImportStage.set(options);
  const violations: string[] = [];
  const states: Record<string, number> = {};
  try {
    const planned: Planned[] = [];
    for (let index = 0; index < options.imports; index++)
      planned.push(await plan(stage, index, options.rows));
    await atOnce(stage, options.imports, violations);
    const over = new AbortController();
    const killing = killAll(stage, options, over.signal);
    const ended = Promise.all(
      planned.map(async (each) => {
        const job = await importFile(stage, each, violations);
        states[job.state] = (states[job.state] ?? 0) + 1;
        return job;
      }),
    );
    const jobs = await Promise.race([ended, sleep(GIVE_UP_MS).then(() => undefined)]);
    over.abort();
    await killing;
    if (!jobs) violations.push('a job did not end');
    for (const [index, job] of (jobs ?? []).entries())
      await judge(stage, planned[index] as Planned, job, violations);
    await bounded(stage, planned[0] as Planned, violations);
    const waiting = await stage.waitingKeys();
    if (waiting.length > 0) violations.push(`${waiting.length} jobs have ended and keep their passwords`);
    return {
      seconds: (performance.now() - started) / 1_000,
      rows: options.imports * options.rows,
      states,
      kills: stage.kills,
      redisKills: stage.redisKills,
      spoiled: await stage.sandbox.spoiled(),
      violations,
    };
  } finally {
    await stage.clear();
  }
}

async function plan(stage: ImportStage, index: number, rows: number): Promise<Planned> {
  const enterprise = await stage.enterprise(index);
  const accounts = Array.from({ length: rows }, (_, row) => `a${index}x${row}`);
  const existing = accounts.slice(0, EXISTING);
  await stage.answer(
    `/v1/enterprises/${enterprise}/members`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        members: existing.map((account) => ({ account, password: newSecret('m'), name: 'Here before' })),
      }),
    },
    [201, 207],
  );
  const refused = new Set(accounts.filter((_, row) => row % REFUSED_EVERY === REFUSED_EVERY - 1));
  const lines = accounts.map(
    (account) => `${account},${newSecret('m')},Name,,,${refused.has(account) ? 'none' : ''}`,
  );
  return { enterprise, file: [HEADER, ...lines, ''].join('\n'), existing: new Set(existing), refused };
}

async function killAll(
  stage: ImportStage,
  { kills, redisKills, processes, seed }: ImportChaosOptions,
  over: AbortSignal,
): Promise<void> {
  const random = new SeededRandom(seed);
  const all = [
    ...Array.from({ length: kills }, () => 'gateway' as const),
    ...Array.from({ length: redisKills }, () => 'redis' as const),
  ];
  const order = all
    .map((what) => ({ what, place: random.next() }))
    .sort((one, other) => one.place - other.place);
  for (const { what } of order) {
    await sleep(250 + random.next() * 500, undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return;
    await (what === 'redis' ? stage.killStore() : stage.killGateway(Math.floor(random.next() * processes)));
  }
}

/** Sends the file until it is accepted, as a usual caller does, and watches the job until it ends. */
async function importFile(
  stage: ImportStage,
  { enterprise, file }: Planned,
  violations: string[],
): Promise<Job> {
  const path = `/v1/enterprises/${enterprise}/member-imports`;
  const mine = async () =>
    (await stage.answer<{ items: Job[] }>(`/v1/jobs?enterpriseGlobalId=${enterprise}`)).items[0];
  const send = () => stage.ask(path, { method: 'POST', headers: CSV, body: file });
  let job: Job | undefined;
  while (!job) {
    const response = await send();
    job = response?.status === 202 ? ((await response.json()) as Job) : await mine();
    if (!job) await sleep(POLL_MS);
  }
  let done = 0;
  while (!stage.hasEnded) {
    const response = await stage.ask(`/v1/jobs/${job.jobId}`);
    if (response?.status === 200) {
      job = (await response.json()) as Job;
      if (job.done < done) violations.push(`${job.jobId} went back from ${done} to ${job.done}`);
      done = job.done;
      if (ENDS.has(job.state)) break;
    }
    await sleep(POLL_MS);
  }
  return job;
}

/** Several imports of one enterprise at the same moment: one of them is accepted. */
async function atOnce(stage: ImportStage, index: number, violations: string[]): Promise<void> {
  const enterprise = await stage.enterprise(index);
  const body = `${HEADER}\nfirst,${newSecret('m')},First,,,\n`;
  const path = `/v1/enterprises/${enterprise}/member-imports`;
  const sent = Array.from({ length: 6 }, () => stage.ask(path, { method: 'POST', headers: CSV, body }));
  await Promise.all(sent);
  const read = () =>
    stage.answer<{ items: { createdAt: string; finishedAt: string | null }[] }>(
      `/v1/jobs?enterpriseGlobalId=${enterprise}`,
    );
  let jobs = (await read()).items;
  while (jobs.some(({ finishedAt }) => finishedAt === null)) jobs = (await read()).items;
  // Newest first: each was accepted after the one before it had ended.
  for (const [index, { createdAt }] of jobs.slice(0, -1).entries())
    if (createdAt < (jobs[index + 1]?.finishedAt ?? ''))
      violations.push(`${enterprise} had two imports at once`);
}

async function lines<T>(stage: ImportStage, path: string): Promise<T[]> {
  for (;;) {
    const response = await stage.ask(path, { headers: { accept: 'application/x-ndjson' } });
    if (response?.status === 200)
      return (await response.text())
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as T);
    await sleep(POLL_MS);
  }
}

/** What each row says must be what the platform has. */
async function judge(stage: ImportStage, planned: Planned, job: Job, violations: string[]): Promise<void> {
  const { enterprise, existing, refused } = planned;
  const rows = await lines<Row>(stage, `/v1/jobs/${job.jobId}/rows`);
  const members = await lines<{ userName: string; memberGlobalId: string; name: string }>(
    stage,
    `/v1/enterprises/${enterprise}/members/export`,
  );
  const found = new Map<string, { memberGlobalId: string; name: string }>();
  for (const member of members) {
    const account = member.userName.replace(/@.*/, '');
    if (found.has(account)) violations.push(`${enterprise} has ${account} twice`);
    found.set(account, member);
  }
  if (rows.length !== job.total || job.done !== job.total)
    violations.push(`${job.jobId} ${job.state} has ${rows.length} rows, ${job.done} done of ${job.total}`);
  for (const { account, status, memberGlobalId } of rows) {
    const member = found.get(account);
    const expected = existing.has(account) || refused.has(account) ? 'failed' : 'added';
    if (status !== expected) violations.push(`${account} is ${status}, and should be ${expected}`);
    const isAdded = member !== undefined && member.name === 'Name';
    if (isAdded !== (status === 'added'))
      violations.push(`${account} is ${status}, and ${isAdded ? 'was' : 'was not'} added`);
    if (status === 'added' && member && member.memberGlobalId !== memberGlobalId)
      violations.push(`${account} has another member than its row says`);
  }
}

/** With members beyond `maxDeletes` nothing is deleted. */
async function bounded(stage: ImportStage, { enterprise }: Planned, violations: string[]): Promise<void> {
  const path = `/v1/enterprises/${enterprise}/member-imports?mode=upsert&deleteMissing=true&maxDeletes=1`;
  const body = `${HEADER}\nonly,${newSecret('m')},Only,,,\n`;
  const answer = await stage.answer<{ code?: string }>(
    path,
    { method: 'POST', headers: CSV, body },
    [202, 422],
  );
  if (answer.code !== 'too-many-deletes')
    violations.push(`${enterprise}: an import may delete more than maxDeletes`);
}
