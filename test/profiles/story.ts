import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { emptyDatabase } from '../support/database.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { orderOf } from '../support/order-body.ts';
import { attemptsOf } from '../support/reconciliation-attempts.ts';
import { comesTrue, until } from '../support/redis.ts';
import type { TestSandbox } from '../support/sandbox.ts';
import { ALWAYS_TOLD, type Played } from './draw.ts';

const HARBOUR = '/v1/enterprises/ent-harbour';
const ORDERS = '/v1/license-orders';
/** Beside those of the seed: several pages of the smallest size, and more than one of the next. */
const FURTHER = 55;
const HEADER = 'account,password,name,departmentId,remark,passwordMobile';

interface Employee {
  readonly globalId: string;
  readonly enterpriseGlobalId: string;
  readonly userName: string;
  readonly name: string;
  readonly remark: string | null;
  readonly passwordMobile: string | null;
  readonly departmentId: string | null;
  readonly deleted: boolean;
}

/** Gives the enterprise as many members as the story needs, and keeps that under the name `story`. */
export async function enlarge(sandbox: TestSandbox): Promise<void> {
  const state = await sandbox.control<{ employees: object[] }>('GET', '/state');
  const further = Array.from({ length: FURTHER }, (_, index) => ({
    ...{ id: `${70_000 + index}`, userId: `${80_000 + index}`, globalId: `mem-more-${index}` },
    ...{ enterpriseGlobalId: 'ent-harbour', userName: `more${index}@harbour`, name: `More ${index}` },
    ...{ remark: `remark ${index}`, passwordMobile: `1380000${1_000 + index}` },
  }));
  await sandbox.control('PUT', '/state', { ...state, employees: [...state.employees, ...further] });
  await sandbox.control('POST', '/snapshots/story');
}

/** Lets the clock of a gateway follow that of its sandbox. */
const FOLLOWS = `--import=${new URL('../../scripts/demo-clock.ts', import.meta.url).href}`;
/** The times until the next three attempts to find an order are due. */
const UNTIL_ATTEMPTS_MS = [15_000, 60_000, 300_000];

/**
 * Plays the story on a platform with this profile. Returns what is wrong, in words; nothing where all is true. `isKilled`: the gateway is
 * killed during its import, and another one goes on. `isLate`: time passes, and accepted orders have to end as the platform ends them.
 */
export async function playProfile(
  sandbox: TestSandbox,
  { isTold, ...played }: Played,
  { isKilled = false, isLate = false }: { readonly isKilled?: boolean; readonly isLate?: boolean } = {},
): Promise<string[]> {
  await sandbox.control('POST', '/snapshots/story/restore');
  for (const path of ['/journal', '/faults']) await sandbox.control('DELETE', path);
  await sandbox.control('PUT', '/profile', played);
  const folder = mkdtempSync(join(tmpdir(), 'played-'));
  const file = join(folder, 'profile.json');
  const needed = Object.fromEntries(
    [...ALWAYS_TOLD, 'timestampUnit' as const].map((name) => [name, played[name]]),
  );
  writeFileSync(file, JSON.stringify({ version: 1, readings: isTold === 'yes' ? played : needed }));
  const database = await emptyDatabase('file');
  const environment = {
    PLATFORM_PROFILE_FILE: file,
    ...(isLate && { NODE_OPTIONS: FOLLOWS, DEMO_SANDBOX_CLOCK: `${sandbox.url}/__sandbox/clock` }),
    ...(isKilled && { DATABASE_URL: database.url, ENCRYPTION_KEYS: newEncryptionKey() }),
  };
  const grants = { enterprises: ['ent-harbour'], users: ['default'] };
  const callers = [{ name: 'bound', scopes: ['members:read', 'orders:read'], ...grants }];
  // Only a process of its own can be killed, or has a clock of its own.
  const isOwn = isKilled || isLate;
  const gateway = isOwn ? new TestGateway(callers) : await startInProcess(sandbox, environment, callers);
  let running: GatewayProcess | undefined;
  const start = () =>
    gateway.open(sandbox, environment, async (all) => (running = await startGatewayProcess(all)));
  const kill = async () => {
    await until('members are added', async () => (await sandbox.journal('addMembers')).length > 0);
    running?.child.kill('SIGKILL');
    await running?.ended;
    await start();
  };
  if (isOwn) await start();
  try {
    const story = new Story(sandbox, gateway, played, isTold === 'yes', isKilled ? kill : undefined);
    if (isLate) await story.endLate();
    return await story.play();
  } finally {
    await gateway.stop();
    await database.remove();
    rmSync(folder, { recursive: true });
  }
}

class Story {
  readonly #wrong: string[] = [];

  constructor(
    private readonly sandbox: TestSandbox,
    private readonly gateway: TestGateway,
    private readonly played: Omit<Played, 'isTold'>,
    private readonly isTold: boolean,
    private readonly kill: (() => Promise<void>) | undefined,
  ) {}

  async play(): Promise<string[]> {
    await this.#reads();
    await this.#exports();
    await this.#edits();
    // The story reads the gaps before a gateway is killed, which loses what it has not shared yet.
    await this.#gaps();
    await this.#imports();
    await this.#deletesMissing();
    await this.#orders();
    await this.#numbersAndLocks();
    return this.#wrong;
  }

  /** No accepted deletion is told as done that is not, and each one that is done is told. */
  async endLate(): Promise<void> {
    const { asyncOrders } = this.played;
    if (asyncOrders === 'refused') return;
    const item = {
      ...{ orderType: 'delete_asset', licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1009' },
      customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
      assets: [{ assetNums: ['8000001009'] }],
    };
    await this.#ask('POST', ORDERS, [202], orderOf('SO-late', { syncMode: 'async', items: [item] }));
    const stateOf = async () => (await this.gateway.get(`${ORDERS}/crm/SO-late`)).body['state'];
    const attempts = async () =>
      Object.values(await attemptsOf(this.gateway)).reduce((sum, count) => sum + count, 0);
    for (const [index, ms] of UNTIL_ATTEMPTS_MS.entries()) {
      await this.sandbox.advance(ms);
      const isDone = async () => (await attempts()) > index || (await stateOf()) === 'succeeded';
      await until('an attempt to find the order', isDone);
    }
    const { assets } = await this.sandbox.control<{ assets: { assetNum: string; revoked: boolean }[] }>(
      'GET',
      '/state',
    );
    const isGone = assets.find(({ assetNum }) => assetNum === '8000001009')?.revoked;
    const state = await stateOf();
    this.#expect('an accepted deletion is told as it is', state === (isGone ? 'succeeded' : 'accepted'), [
      ...[asyncOrders, isGone, state],
    ]);
  }

  #expect(what: string, isSo: boolean, seen?: unknown): void {
    if (!isSo) this.#wrong.push(`${what}: ${JSON.stringify(seen)?.slice(0, 400)}`);
  }

  async #ask(
    method: string,
    path: string,
    statuses: readonly number[],
    body?: unknown,
    key?: string,
  ): Promise<TestAnswer> {
    const answer = await this.gateway.request(method, path, { body, ...(key !== undefined && { key }) });
    this.#expect(`${method} ${path} is ${statuses.join(' or ')}`, statuses.includes(answer.status), [
      answer.status,
      answer.body,
    ]);
    return answer;
  }

  get #isMoving(): boolean {
    return this.played.movingList === 'yes';
  }

  /** The platform may clear a number that it does not show, and an edit leaves it out. */
  get #wouldLose(): boolean {
    const { mobiles, memberEdit } = this.played;
    return mobiles !== 'shown' && !(this.isTold && memberEdit === 'keeps');
  }

  /** The members at the platform itself, by their accounts. */
  async #members(): Promise<Map<string, Employee>> {
    const { employees } = await this.sandbox.control<{ employees: Employee[] }>('GET', '/state');
    const own = employees.filter((each) => each.enterpriseGlobalId === 'ent-harbour' && !each.deleted);
    return new Map(own.map((each) => [each.userName.replace(/@.*/, ''), each]));
  }

  async #reads(): Promise<void> {
    const all = await this.#members();
    const ids = new Set([...all.values()].map(({ globalId }) => globalId));
    const seen: string[] = [];
    for (let page = 1; page <= Math.ceil(all.size / 25); page++) {
      const { body } = await this.#ask('GET', `${HARBOUR}/members?page=${page}&pageSize=25`, [200]);
      const items = body['items'] as { memberGlobalId: string }[];
      seen.push(...items.map(({ memberGlobalId }) => memberGlobalId));
      const { total } = body;
      this.#expect('a total is true, or null', total === null || total === all.size, total);
    }
    if (!this.#isMoving)
      this.#expect(
        'pages together are the list',
        seen.length === ids.size && seen.every((id) => ids.has(id)),
        seen.length,
      );
    const missing = this.#isMoving ? [200, 503] : [200];
    await this.#ask('GET', `${HARBOUR}/members/mem-more-${FURTHER - 1}`, missing);
    await this.#ask('GET', `${HARBOUR}/members/mem-nowhere`, this.#isMoving ? [404, 503] : [404]);
    const overview = await this.#ask('GET', `${HARBOUR}/overview`, [200]);
    if (!this.#isMoving)
      this.#expect(
        'the overview counts all',
        (overview.body['members'] as { total: number } | null)?.total === all.size,
        overview.body['members'],
      );
    for (const path of ['assets', 'asset-nums', 'lent-locks'])
      await this.#ask('GET', `${HARBOUR}/${path}`, [200]);
    await this.#ask('GET', '/v1/customers?channelCode=crm', [200]);
    const none = await this.#ask('GET', '/v1/enterprises/ent-nowhere/assets', [200]);
    this.#expect(
      'an unknown enterprise has no assets',
      (none.body['items'] as unknown[] | undefined)?.length === 0,
      none.body,
    );
    const key = this.gateway.keys['bound'] as string;
    await this.#ask('GET', '/v1/enterprises/ent-meridian/assets', [403], undefined, key);
    await this.#ask(
      'GET',
      `${HARBOUR}/members/mem-meridian-noor`,
      this.#isMoving ? [404, 503] : [404],
      undefined,
      key,
    );
    const own = await this.#ask('GET', `${HARBOUR}/members?pageSize=200`, [200], undefined, key);
    const shown = own.body['items'] as { memberGlobalId: string }[];
    this.#expect(
      'no member of another enterprise is shown',
      shown.every(({ memberGlobalId }) => ids.has(memberGlobalId)),
    );
  }

  /** An export that the gateway cannot complete is broken off, and its last line says why. */
  async #exported(accept: string): Promise<{ status: number; text: string; isBroken: boolean }> {
    const headers = { 'x-api-key': this.gateway.key, accept };
    const response = await fetch(`${this.gateway.url}${HARBOUR}/members/export`, { headers });
    const decoder = new TextDecoder();
    let text = '';
    try {
      for await (const chunk of response.body ?? [])
        text += decoder.decode(chunk as Uint8Array, { stream: true });
    } catch {
      return { status: response.status, text, isBroken: true };
    }
    return { status: response.status, text, isBroken: response.status !== 200 };
  }

  async #exports(): Promise<void> {
    const all = await this.#members();
    for (const accept of ['application/x-ndjson', 'text/csv']) {
      const { status, text, isBroken } = await this.#exported(accept);
      const lines = text
        .trim()
        .split(/\r?\n/)
        .slice(accept === 'text/csv' ? 1 : 0);
      if (this.#isMoving && isBroken) {
        const says = status === 503 || /^#incomplete,|^\{"problem"/.test(lines.at(-1) ?? '');
        this.#expect(
          `the last line of an export as ${accept} says that it is broken off`,
          says,
          lines.at(-1),
        );
        continue;
      }
      const accounts = new Set(lines.map((line) => /([A-Za-z0-9]+?)[@.]?harbour/.exec(line)?.[1] ?? line));
      const isWhole = !isBroken && lines.length === all.size && accounts.size === all.size;
      this.#expect(`the export as ${accept} has every member once`, isWhole, [
        ...[status, lines.length, all.size, lines.at(-1)],
      ]);
    }
  }

  async #edits(): Promise<void> {
    const before = (await this.#members()).get('more0');
    const path = `${HARBOUR}/members/mem-more-0`;
    const moved = this.#isMoving ? [503] : [];
    const { status } = await this.#ask('PATCH', path, [this.#wouldLose ? 409 : 204, ...moved], {
      account: 'more0',
      name: 'Edited',
    });
    const after = (await this.#members()).get('more0');
    const name = status === 204 ? 'Edited' : before?.name;
    this.#expect(
      'an edit keeps what it leaves out',
      JSON.stringify(fieldsOf(after)) === JSON.stringify({ ...fieldsOf(before), name }),
      after,
    );
    const canClear = this.isTold && this.played.memberEdit === 'clears';
    const clearing = this.#wouldLose ? 409 : 204;
    const cleared = await this.#ask('PATCH', path, [canClear ? clearing : 400, ...moved], {
      account: 'more0',
      name: 'Edited',
      remark: null,
    });
    if (cleared.status === 204) {
      const { remark, passwordMobile } = fieldsOf((await this.#members()).get('more0'));
      this.#expect('null clears one field', remark === null && passwordMobile === before?.passwordMobile, [
        remark,
        passwordMobile,
      ]);
    }
  }

  async #imports(): Promise<void> {
    const all = await this.#members();
    const more = (index: number) => all.get(`more${index}`) as Employee;
    const same = [1, 2, 3]
      .map(more)
      .map(({ name }, index) => ({ account: `more${index + 1}`, name, remark: '' }));
    const different = [4, 5, 6].map((index) => ({
      account: `more${index}`,
      name: `Renamed ${index}`,
      remark: '',
    }));
    const fresh = [1, 2, 3].map((index) => ({
      account: `fresh${index}`,
      name: `Fresh ${index}`,
      remark: `new ${index}`,
    }));
    const rows = [...same, ...different, ...fresh];
    const lost = { operation: 'addMembers', phase: 'after', times: 1, action: { reset: 'before-headers' } };
    await this.sandbox.fault(lost);
    const body = [
      HEADER,
      ...rows.map(({ account, name, remark }) => `${account},${newSecret('m')},${name},,${remark},`),
      '',
    ].join('\r\n');
    const begun = await this.gateway.request('POST', `${HARBOUR}/member-imports?mode=upsert`, {
      body,
      headers: { 'content-type': 'text/csv' },
    });
    this.#expect('an import begins', begun.status === 202, begun.body);
    const job = `/v1/jobs/${String(begun.body['jobId'])}`;
    await this.kill?.();
    let ended: TestAnswer | undefined;
    await until('the import has ended', async () => {
      ended = await this.gateway.get(job);
      return ended.body['finishedAt'] !== null;
    });
    const { text } = await this.gateway.get(`${job}/rows`, { headers: { accept: 'application/x-ndjson' } });
    const lines = text.trim() === '' ? [] : text.trim().split('\n');
    const results = lines.map(
      (line) => JSON.parse(line) as { account: string; status: string; code: string | null },
    );
    const now = await this.#members();
    for (const { account, status, code } of results) {
      const row = rows.find((each) => each.account === account);
      const there = now.get(account);
      const isDone = there?.name === row?.name && (row?.remark === '' || there?.remark === row?.remark);
      const kept = all.get(account);
      const keeps =
        kept === undefined ||
        (there?.remark === kept.remark && there?.passwordMobile === kept.passwordMobile);
      const isTrue = ['added', 'updated', 'unchanged'].includes(status)
        ? isDone
        : !isDone || code === 'outcome-unknown';
      this.#expect(`the row ${account} is ${status}`, isTrue && keeps, [code, there]);
    }
    this.#expect('every row has a result', this.#isMoving || results.length === rows.length, [
      results.length,
      ended?.body,
    ]);
    const failed = results.filter(
      ({ status, code }) => status === 'failed' && !(this.#wouldLose && code === 'edit-would-lose'),
    );
    this.#expect('no row of a list that stands still fails', this.#isMoving || failed.length === 0, failed);
  }

  /** Deletes that one of the members who are not in the file, or nobody where accounts are not known for certain. */
  async #deletesMissing(): Promise<void> {
    const all = await this.#members();
    const missing = 'more7';
    const kept = [...all].filter(([account]) => account !== missing);
    const body = ['account,name', ...kept.map(([account, { name }]) => `${account},${name}`), ''].join(
      '\r\n',
    );
    const path = `${HARBOUR}/member-imports?mode=upsert&deleteMissing=true&maxDeletes=100`;
    const headers = { 'content-type': 'text/csv' };
    const begun = await this.gateway.request('POST', path, { body, headers });
    const refused = this.played.accountSuffix === 'joined' ? [409] : [];
    const isAnswered = [202, ...refused, ...(this.#isMoving ? [503] : [])].includes(begun.status);
    this.#expect('an import that deletes is accepted', isAnswered, begun.body);
    if (begun.status === 202) {
      const job = `/v1/jobs/${String(begun.body['jobId'])}`;
      const ended = async () => (await this.gateway.get(job)).body['finishedAt'] !== null;
      await until('the import that deletes has ended', ended);
    }
    const now = await this.#members();
    const gone = [...all.keys()].filter((account) => !now.has(account));
    const isRight =
      begun.status !== 202 || this.#isMoving ? [missing, ''].includes(gone.join()) : gone.join() === missing;
    this.#expect('only who is missing from the file is deleted', isRight, gone);
  }

  async #orders(): Promise<void> {
    const { asyncOrders, packagesInDeletion, maxOrdersPerBatch, negativeLimits } = this.played;
    const lost = { operation: 'batchOrder', phase: 'after', times: 1, action: { reset: 'before-headers' } };
    await this.sandbox.fault(lost);
    const doubted = orderOf('SO-doubt');
    await this.#ask('POST', ORDERS, [502], doubted);
    await this.#ask('POST', ORDERS, [409, 502], doubted);
    const whole = orderOf(
      'SO-whole',
      {},
      { limitConcurrent: 3, features: [{ code: 'a', trial: true, trialEndsAt: '2027-01-01T00:00:00Z' }] },
    );
    const isDate = this.played.featureTrialEnd === 'text' && !this.isTold;
    // The platform's answer without ids confirms nothing, unless the gateway knows that they come later.
    const isUnconfirmed = this.played.orderIds === 'later' && !this.isTold;
    const done = isUnconfirmed ? 502 : 201;
    const isSeconds = this.played.productTrialEnd === 'seconds' && !this.isTold;
    const placed = await this.#ask('POST', ORDERS, isDate ? [422] : [done], whole);
    if (placed.status === done) await this.#ask('POST', ORDERS, [done], whole);
    const trial = orderOf('SO-trial', {}, { trial: true, trialEndsAt: '2027-01-01T00:00:00Z' });
    await this.#ask('POST', ORDERS, isSeconds && this.played.timestampUnit === 'ms' ? [422] : [done], trial);
    const later = orderOf('SO-later', { syncMode: 'async' });
    await this.#ask('POST', ORDERS, asyncOrders === 'refused' ? [422] : [202], later);
    if (asyncOrders !== 'refused') await this.#ask('POST', ORDERS, [200, 202], later);
    await this.#ask(
      'POST',
      ORDERS,
      negativeLimits === 'refused' ? [422] : [done],
      orderOf('SO-open', {}, { limitConcurrent: -1 }),
    );
    const [item] = orderOf('').items;
    const takesTwo = maxOrdersPerBatch > 1;
    await this.#ask(
      'POST',
      ORDERS,
      takesTwo ? [done] : [this.isTold ? 400 : 422],
      orderOf('SO-two', { items: [item, item] }),
    );
    const deletion = orderOf('SO-gone', {
      items: [
        {
          ...{ orderType: 'delete_product', licenseType: 'cloud_account', srcLicenseOrderId: 'lic-5002' },
          customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
          assets: [{ assetNums: ['8000001002'], merchandises: [{ merchandiseNum: 'PKG-SUITE' }] }],
        },
      ],
    });
    const takesPackages = this.isTold && packagesInDeletion === 'taken';
    await this.#ask('POST', `${ORDERS}/dry-run`, [takesPackages ? 200 : 400], deletion);
    await this.#ask('POST', ORDERS, [takesPackages ? 201 : 400], deletion);
    const commits = (await this.sandbox.commits()).map(({ channelOrderId }) => channelOrderId);
    this.#expect('no order is placed twice', new Set(commits).size === commits.length, commits);
    this.#expect('the lost order is placed', commits.includes('SO-doubt'), commits);
  }

  async #numbersAndLocks(): Promise<void> {
    const { maxAssetNums, maxLocksPerCall, lockedTwice } = this.played;
    const tooMany = maxAssetNums < 5 && !this.isTold;
    const numbers = await this.#ask('POST', '/v1/asset-num-reservations', [tooMany ? 422 : 201], { size: 5 });
    if (!tooMany)
      this.#expect(
        'five numbers are reserved',
        (numbers.body['items'] as unknown[]).length === 5,
        numbers.body,
      );
    const assetNums = ['8000001003', '8000001006', '8000001007'];
    const tooManyLocks = maxLocksPerCall < 3 && !this.isTold;
    await this.#ask('POST', `${HARBOUR}/locks/disable`, [tooManyLocks ? 422 : 200], { assetNums });
    const again = lockedTwice === 'success' ? 200 : 207;
    await this.#ask('POST', `${HARBOUR}/locks/disable`, [tooManyLocks ? 422 : again], { assetNums });
    const path = `${HARBOUR}/members/mem-more-9`;
    await this.#ask('DELETE', path, [204]);
    await this.#ask('DELETE', path, [this.played.deletedTwice === 'success' ? 204 : 404]);
  }

  /** Every departure that the gateway met is noted, for all replicas after a moment. */
  async #gaps(): Promise<void> {
    const { maxPageSize, pageNumbers, pageTotal, pageFlags } = this.played;
    const due: [string, boolean, RegExp][] = [
      ['a smaller page', maxPageSize < 200 && !this.isTold, /^listMembers data\.pageSize limit$/],
      ['a number in a text', pageNumbers === 'text', /^listMembers data\.\w+ wrong-type$/],
      ['a missing total', pageTotal === 'absent', /^listMembers data\.total missing$/],
      ['missing flags', pageFlags === 'none', /^listMembers data\.hasNextPage missing$/],
    ];
    let gaps: string[] = [];
    const missing = () =>
      due.filter(([, isDue, form]) => isDue && !gaps.some((gap) => form.test(gap))).map(([what]) => what);
    const isNoted = async () => {
      const { body } = await this.gateway.get('/v1/gaps?pageSize=1000');
      gaps = (body['items'] as { operation: string; path: string; kind: string }[]).map(
        ({ operation, path, kind }) => `${operation} ${path} ${kind}`,
      );
      return missing().length === 0;
    };
    await comesTrue(isNoted);
    for (const what of missing()) this.#expect(`${what} is noted`, false, gaps);
  }
}

function fieldsOf(employee: Employee | undefined) {
  const { name, remark = null, passwordMobile = null, departmentId = null } = employee ?? {};
  return { name, remark, passwordMobile, departmentId };
}
