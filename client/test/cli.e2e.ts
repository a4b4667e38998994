import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { endings } from '../../test/support/endings.ts';
import { newSecret } from '../../test/support/canary.ts';
import { orderOf } from '../../test/support/order-body.ts';
import { until } from '../../test/support/redis.ts';
import { useStack } from '../../test/support/stack.ts';
import { type Ended, runCommand } from './support/run-command.ts';
import { problem, ScriptedGateway } from './support/scripted-gateway.ts';

const { sandbox, gateway } = useStack({
  callers: [{ name: 'crm', scopes: ['orders:read'], budgets: { orders: 500 } }],
});
const { atEnd } = endings();
const execute = promisify(execFile);
/** The command writes failed rows of a job beside the file. */
let folder: string;
let file: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'licensing-'));
  file = join(folder, 'members.csv');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** `line` is divided at its spaces. */
function licensing(line: string, ...more: string[]): Promise<Ended> {
  return withEnvironment({ LICENSING_URL: gateway.url, LICENSING_API_KEY: gateway.key }, line, ...more);
}

function withEnvironment(env: Record<string, string>, line: string, ...more: string[]): Promise<Ended> {
  return runCommand(env, [...line.split(' '), ...more], { cwd: folder });
}

/** The members of these accounts as CSV. */
function rowsOf(...accounts: string[]): string[] {
  return ['account,password,name', ...accounts.map((each) => `${each},${newSecret('m')},${each}`)];
}

const INTO = ['--enterprise', 'ent-harbour'];
const imported = (path: string, ...more: string[]) => licensing('members import', path, ...INTO, ...more);

describe('the command licensing', () => {
  it('shows what a key may do, as lines for people and JSON for machines', async () => {
    const [people, machines] = await Promise.all([licensing('whoami'), licensing('whoami --json')]);
    expect(people.out).toMatch(/^name +tester$/m);
    expect(JSON.parse(machines.out)).toMatchObject({ name: 'tester', enterprises: ['*'] });
    expect([people.code, machines.code]).toEqual([0, 0]);
    expect(people.out + machines.out).not.toContain(gateway.key);
  });

  it('lists assets and members, over all pages', async () => {
    const [table, lines, members] = await Promise.all([
      licensing('assets list ent-harbour --type softkey'),
      licensing('assets list ent-harbour --json'),
      licensing('members list ent-harbour --as anna --keyword anna'),
    ]);
    expect(table.out.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual(['ASSET ID', 'ast-1001', '']);
    expect(table.out.split('\n')[0]).toMatch(/ {2}MEMBER GLOBAL ID$/);
    expect(lines.out.trim().split('\n').length).toBeGreaterThan(10);
    for (const line of lines.out.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('assetId');
    expect(members.out).toContain('anna@harbour');
    expect((await sandbox.journal('listMembers')).length).toBeGreaterThan(0);
  });

  it('lists the assets that end within some days, or before a date', async () => {
    const endsOf = async (before: string) => {
      const { code, out, err } = await licensing('assets list ent-harbour --json --ends-before', before);
      expect([code, err]).toEqual([0, '']);
      const lines = out.split('\n').filter(Boolean);
      return lines.map((line) => Date.parse((JSON.parse(line) as { endsAt: string }).endsAt));
    };
    const all = await endsOf('9999-12-31');
    expect(all.length).toBeGreaterThan(1);
    const limit = Date.now() + 60 * 86_400_000;
    expect(await endsOf('60d')).toEqual(all.filter((end) => end < limit));
    expect((await endsOf('60d')).length).toBeLessThan(all.length);
    expect(await licensing('assets list ent-harbour --ends-before soon')).toMatchObject({
      code: 2,
      err: expect.stringContaining('  endsBefore: '),
    });
  });

  it('shows what is left of the budgets of a caller', async () => {
    // A shell of Windows leaves the return at the end of a variable.
    const key = { LICENSING_URL: gateway.url, LICENSING_API_KEY: `${gateway.keys['crm']}\r` };
    const { code, out } = await withEnvironment(key, 'budgets --json');
    expect([code, JSON.parse(out)]).toEqual([
      0,
      {
        month: new Date().toISOString().slice(0, 7),
        ...{ budget: 'orders', limit: 500, used: 0 },
        resetsAt: expect.stringMatching(/-01T00:00:00.000Z$/),
      },
    ]);
  });

  it('shows, begins and ends a maintenance', async () => {
    const end = new Date(Date.now() + 3_600_000).toISOString();
    const start = (...more: string[]) => licensing('maintenance start orders', '--until', end, ...more);
    expect((await start()).err).toBe('maintenance start needs --reason\n');
    const started = await start('--reason', 'an update', '--json');
    expect(JSON.parse(started.out)).toMatchObject({
      active: true,
      stops: 'orders',
      until: end,
      reason: 'an update',
    });
    expect((await licensing('maintenance show')).out).toMatch(/^stops +orders$/m);
    expect(await licensing('maintenance start reads', '--until', end, '--reason', 'x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('/stops'),
    });
    expect((await licensing('maintenance end')).code).toBe(0);
    expect(JSON.parse((await licensing('maintenance show --json')).out)).toMatchObject({ active: false });
  });

  it('shows one member, by the global id', async () => {
    const { out } = await licensing('members get ent-harbour mem-harbour-bo');
    expect(out).toMatch(/^memberGlobalId +mem-harbour-bo$/m);
    const { out: json } = await licensing('members get ent-harbour mem-harbour-bo --as anna --json');
    expect(JSON.parse(json)).toMatchObject({ memberGlobalId: 'mem-harbour-bo' });
    expect(await licensing('members get ent-harbour mem-nobody')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/code member-not-found, request /),
    });
  });

  it('disables and enables locks, with exit code 1 where not all succeeded', async () => {
    const dry = await licensing('locks disable ent-harbour 8000001003 --dry-run --json');
    expect(JSON.parse(dry.out)).toMatchObject({
      wouldSend: [{ operation: 'disableLocks' }],
      effects: [{ kind: 'lock-disabled', assetNum: '8000001003' }],
    });
    expect((await licensing('locks enable ent-harbour 8000001003 --dry-run')).out).toContain('enableLocks');
    expect(await sandbox.journal('disableLocks')).toEqual([]);
    expect(await licensing('locks disable ent-harbour 8000001003 8999999999')).toEqual({
      code: 1,
      out: 'ASSET NUM   STATUS\n8000001003  succeeded\n8999999999  not_found\n',
      err: '',
    });
    const enabled = await licensing('locks enable ent-harbour 8000001003 --json');
    expect([enabled.code, JSON.parse(enabled.out)]).toEqual([
      0,
      { assetNum: '8000001003', status: 'succeeded' },
    ]);
    expect((await sandbox.journal('enableLocks')).length).toBe(1);
    expect(await licensing('locks disable ent-harbour')).toEqual({
      code: 2,
      out: '',
      err: 'licensing locks disable <enterprise> <number...>: 1 of 2 given\n',
    });
  });

  it("shows where the platform's answers depart from its interface", async () => {
    await sandbox.fault({
      operation: 'listAssets',
      times: 1,
      action: { odd: { pointer: '/data/0/licenseType', value: 'hologram' } },
    });
    await gateway.get('/v1/enterprises/ent-harbour/assets', { headers: { 'cache-control': 'no-cache' } });
    const [table, lines] = await Promise.all([licensing('gaps'), licensing('gaps --json')]);
    expect(table.out).toMatch(/^OPERATION +PATH +KIND +COUNT +FIRST SEEN AT +LAST SEEN AT\n/);
    expect(table.out).toMatch(/^listAssets .* unknown-word +1 /m);
    expect(JSON.parse(lines.out.split('\n')[0] ?? '')).toMatchObject({ operation: 'listAssets', count: 1 });
  });

  describe('places an order', () => {
    const fileWith = (content: string) => {
      const path = join(folder, 'order.json');
      writeFileSync(path, content);
      return path;
    };
    const orderFile = (...of: Parameters<typeof orderOf>) => fileWith(JSON.stringify(orderOf(...of)));

    it('of a file or of the standard input, once under its number, or only shows it', async () => {
      const path = orderFile('placed-1');
      const dry = await licensing('orders place --dry-run --json', path);
      expect([dry.code, JSON.parse(dry.out)]).toMatchObject([
        0,
        { wouldSend: [{ operation: 'batchOrder' }], effects: [] },
      ]);
      expect(await sandbox.journal('batchOrder')).toEqual([]);
      const first = await licensing('orders place', path);
      expect([first.code, first.err]).toEqual([0, '']);
      expect(first.out).toMatch(/^state +succeeded$/m);
      expect(first.out).toMatch(/^SEQUENCE +ORDER TYPE +ENTERPRISE GLOBAL ID +LICENSE ORDER ID/m);
      const key = { LICENSING_URL: gateway.url, LICENSING_API_KEY: gateway.key };
      const again = await runCommand(key, ['orders', 'place', '-', '--json'], {
        input: readFileSync(path, 'utf8'),
      });
      expect([again.code, JSON.parse(again.out)]).toMatchObject([
        0,
        { channelOrderId: 'placed-1', state: 'succeeded', items: [{ sequence: 1 }] },
      ]);
      expect((await sandbox.journal('batchOrder')).length).toBe(1);
    });

    it('for a later day, lists what waits, what is due first first, and cancels it', async () => {
      const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
      const later = await licensing('orders place', orderFile('later-1'), '--at', day(9), '--json');
      expect([later.code, JSON.parse(later.out)]).toMatchObject([
        0,
        { state: 'scheduled', notBefore: `${day(9)}T00:00:00.000Z` },
      ]);
      const at = `${day(8)}T08:00:00+01:00`;
      expect((await licensing('orders place', orderFile('later-2'), '--at', at)).out).toMatch(
        /^notBefore +\d{4}-\d\d-\d\dT07:00:00.000Z$/m,
      );
      const wrong = await licensing('orders place', orderFile('later-3'), '--at', 'tomorrow');
      expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('/notBefore: must be')]);
      const rows = (await licensing('orders scheduled')).out.split('\n').map((line) => line.split(/ {2,}/));
      expect(rows.map(([, number]) => number)).toEqual(['CHANNEL ORDER ID', 'later-2', 'later-1', undefined]);
      const cancel = () => licensing('orders cancel crm later-1');
      for (let time = 0; time < 2; time++) expect(await cancel()).toMatchObject({ code: 0, out: '' });
      await licensing('orders cancel crm later-2');
      expect((await licensing('orders list --state cancelled')).out).toContain('later-1');
      await licensing('orders place', orderFile('later-1'));
      expect(await cancel()).toMatchObject({
        code: 2,
        err: expect.stringContaining('code order-not-cancellable'),
      });
    });

    it('unless something is wrong with it, of which each fault has a line', async () => {
      const wrong = await licensing('orders place', orderFile('wrong-1', { colour: 'red', items: [{}] }));
      expect([wrong.code, wrong.out]).toEqual([2, '']);
      expect(wrong.err).toMatch(/^ {2}\/colour: .+$/m);
      expect(wrong.err).toMatch(/^ {2}\/items\/0\/orderType: .+$/m);
      for (const [content, told] of [
        ['{ "items": [}', 'is not JSON: Unexpected token'],
        ['[]', 'has to hold one order, a JSON object'],
        ['{ "validateOnly": true }', 'validateOnly is no field of an order; --dry-run does that'],
      ] as const)
        expect(await licensing('orders place', fileWith(content))).toMatchObject({
          code: 2,
          err: expect.stringContaining(told),
        });
      const missing = join(folder, 'no-such-file');
      expect((await licensing('orders place', missing)).err).toBe(`${missing} cannot be read: ENOENT\n`);
      expect(await sandbox.journal('batchOrder')).toEqual([]);
    });

    it('for the user that --as names', async () => {
      for (const more of [[], ['--dry-run']])
        expect(await licensing('orders place --as nobody', orderFile('as-1'), ...more)).toMatchObject({
          code: 2,
          err: expect.stringContaining('\ncode forbidden, '),
        });
      expect(await sandbox.journal('batchOrder')).toEqual([]);
    });

    it('and says so where it is placed and the answer lacks something', async () => {
      const action = { patch: { data: [{ sequence: 7, licenseOrderId: '1' }] } };
      await sandbox.fault({ operation: 'batchOrder', times: 1, action });
      const { code, err } = await licensing('orders place', orderFile('incomplete-1'));
      expect(code).toBe(1);
      expect(err).toContain(
        'The order is placed, but the answer of the platform lacks something. Look later with licensing orders get crm incomplete-1.',
      );
      expect(err).not.toContain('in doubt');
    });

    it('unless a number of it would be rounded, which is named', async () => {
      const order = JSON.stringify(orderOf('rounded-1', { notes: 1 })).replace('1}', '9007199254740993}');
      const path = fileWith(order);
      expect(await licensing('orders place', path)).toEqual({
        code: 2,
        out: '',
        err: `${path}: notes is a number that JSON here would round. Write it as a text, in quotes\n`,
      });
    });

    it('unless a field of it is there twice', async () => {
      const order = JSON.stringify(orderOf('twice-1', { notes: 'a:\\":"b' })).replace(/}$/, ',"items":[]}');
      const path = fileWith(order);
      const err = `${path}: a field of an object is there twice\n`;
      expect(await licensing('orders place', path)).toEqual({ code: 2, out: '', err });
    });

    it('and says what to do in words that a shell takes, whatever is in the number', async () => {
      await sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });
      const { err } = await licensing('orders place', orderFile("SO 1 $(id)'s"));
      const [, command = ''] = /Look later with licensing (.*)\. Do not/.exec(err) ?? [];
      const { stdout } = spawnSync('sh', ['-c', `printf '<%s>' ${command}`], { encoding: 'utf8' });
      expect(stdout).toBe("<orders><get><crm><SO 1 $(id)'s>");
    });

    it('and says what to do with one in doubt', async () => {
      const action = { reset: 'before-headers' };
      await sandbox.fault({ operation: 'batchOrder', times: 1, phase: 'after', action });
      const { code, err } = await licensing('orders place', orderFile('doubt-1'));
      expect(code).toBe(3);
      expect(err).toContain('Look later with licensing orders get crm doubt-1.');
      expect(err).not.toContain('Look before you repeat it');
    });

    it('and asks again under the same number, and no other, where the answer is lost', async () => {
      const silent = await ScriptedGateway.start();
      atEnd(() => silent.close());
      const key = { LICENSING_URL: silent.url, LICENSING_API_KEY: 'k' };
      const path = orderFile('lost-1');
      for (const more of [[], ['--json']]) {
        silent.play('cut', 'cut', 'cut');
        const { code, out, err } = await withEnvironment(key, 'orders place', path, ...more);
        expect([code, out]).toEqual([3, '']);
        const advice = `It is not known whether crm lost-1 was placed. Run the same command again`;
        if (more.length === 0) expect(err).toContain(`\n${advice}`);
        else
          expect(JSON.parse(err)).toMatchObject({
            outcome: 'unknown',
            advice: expect.stringContaining(advice),
          });
        const keys = silent.requests.map(({ headers }) => headers['idempotency-key']);
        expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
        for (const { body } of silent.requests)
          expect(JSON.parse(body)).toMatchObject({ channelOrderId: 'lost-1' });
      }
    });
  });

  it('shows an order in doubt with exit code 1, and settles it', async () => {
    const action = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'batchOrder', times: 1, phase: 'after', action });
    await gateway.post('/v1/license-orders', orderOf('cli-1'));
    const doubt = await licensing('orders get crm cli-1');
    expect(doubt.out).toMatch(/^state +in_doubt$/m);
    expect(doubt.code).toBe(1);
    const settle = (as: string, ...more: string[]) =>
      licensing(`orders settle crm cli-1 --as ${as}`, ...more);
    expect((await settle('succeeded')).err).toBe('orders settle needs --reason\n');
    expect((await licensing('orders settle crm cli-1')).err).toBe('orders settle needs --as and --reason\n');
    const settled = await settle('succeeded', '--reason', 'seen there', '--json');
    expect(JSON.parse(settled.out)).toMatchObject({ state: 'succeeded', reason: 'seen there' });
    expect(await settle('not_placed', '--reason', 'seen there')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/code order-not-settleable, request \S+\n$/),
    });
    expect((await licensing('orders list --state succeeded')).out).toContain('cli-1');
  });

  it('imports members of a file with its progress, keeps the rows that failed, and exports all', async () => {
    const rows = rowsOf('cli1', 'anna');
    writeFileSync(file, rows.join('\n'));
    const plan = await imported(file, '--validate-only', '--json');
    expect((await imported(file, '--dry-run', '--json')).out).toBe(plan.out);
    expect((await imported(file, '--dry-run')).err).toMatch(
      /^The platform checks passwords only when it adds /,
    );
    expect(JSON.parse(plan.out)).toMatchObject({
      ...{ add: 1, unchanged: 0 },
      impossible: [{ row: 2, account: 'anna' }],
    });
    const run = await imported(file);
    const { out } = await licensing('jobs list --json --state completed');
    const { jobId } = JSON.parse(out.split('\n')[0] ?? '') as { jobId: string };
    expect([run.code, run.err.split('\n')]).toEqual([
      1,
      [
        `Job ${jobId} goes on without this command; licensing jobs watch ${jobId} shows it again`,
        `1 row failed: ${file}.failed.csv`,
        '',
      ],
    ]);
    expect(run.out).toMatch(/^succeeded +1$/m);
    const [header, row, end] = readFileSync(`${file}.failed.csv`, 'utf8').split('\r\n');
    expect(header).toBe(`${rows[0]},status,code,message`);
    expect(row?.startsWith(`${rows[2]},failed,`)).toBe(true);
    expect(end).toBe('');
    expect(statSync(`${file}.failed.csv`).mode & 0o777).toBe(0o600);

    const watched = await licensing(`jobs watch ${jobId} --json`);
    expect([watched.code, JSON.parse(watched.out)]).toMatchObject([
      1,
      { jobId, state: 'completed', failed: 1 },
    ]);
    expect(await licensing(`jobs cancel ${jobId}`)).toMatchObject({ code: 0, err: '' });
    const other = join(folder, 'other.csv');
    writeFileSync(other, rowsOf('cli1').join('\n'));
    expect(await licensing(`jobs retry ${jobId}`, other)).toMatchObject({
      code: 2,
      err: expect.stringContaining('  row 1 (line 2), account: must be the account of a row that failed'),
    });
    const again = await imported(file, '--mode', 'upsert', '--json');
    expect([again.code, JSON.parse(again.out.trim().split('\n').at(-1) ?? '')]).toMatchObject([
      0,
      { state: 'succeeded' },
    ]);
    expect((await licensing('members export', ...INTO)).out).toMatch(/cli1/);
  });

  it('keeps the rows that were never sent where the import is cancelled', async () => {
    const path = join(folder, 'cancelled.csv');
    const [header, ...rows] = rowsOf('anna', 'never1');
    writeFileSync(path, [header, ...rows].join('\n'));
    const rules = await sandbox.fault({ operation: 'listMembers', action: { hang: true } });
    const run = imported(path, '--mode', 'upsert');
    await until(
      'the import reads the members',
      async () => (await sandbox.journal('listMembers')).length > 0,
    );
    const [newest = ''] = (await licensing('jobs list --json')).out.split('\n');
    const { jobId } = JSON.parse(newest) as { jobId: string };
    expect((await licensing(`jobs cancel ${jobId}`)).code).toBe(0);
    await sandbox.heal(rules);
    // The call that hangs is cut off.
    await sandbox.control('PUT', '/state', await sandbox.control<object>('GET', '/state'));
    const { code, err } = await run;
    const left = `${path}.failed.csv`;
    expect([code, err.split('\n').slice(1)]).toEqual([1, [`0 rows failed, 2 not sent: ${left}`, '']]);
    expect(readFileSync(left, 'utf8').split('\r\n')).toEqual([
      `${header},status,code,message`,
      ...rows.map((row) => `${row},pending,,`),
      '',
    ]);
    expect(await licensing(`jobs retry ${jobId}`, left)).toMatchObject({ code: 0 });
    expect((await licensing(`jobs watch ${jobId} --json`)).err).toContain('0 rows failed, 2 not sent: job-');
  });

  it('shows on a terminal how far an import or an export is, whose output goes to a file', async () => {
    const onTerminal = `
import os, subprocess, sys
far, near = os.openpty()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=near)
os.close(near)
try:
    while part := os.read(far, 4096): sys.stdout.buffer.write(part)
except OSError: pass
sys.exit(child.wait())`;
    writeFileSync(file, rowsOf('bar1', 'bar2').join('\n'));
    const env = { ...process.env, LICENSING_URL: gateway.url, LICENSING_API_KEY: gateway.key };
    const last: string[] = [];
    for (const words of [['import', file], ['export']]) {
      const command = [process.execPath, resolve('client/dist/cli/main.js'), 'members', ...words, ...INTO];
      const { stdout } = await execute('python3', ['-c', onTerminal, ...command], { env });
      last.push(stdout.split('\r').findLast((part) => part.startsWith('█')) ?? stdout);
    }
    const { total } = await gateway
      .get('/v1/enterprises/ent-harbour/members')
      .then(({ body }) => body as { total: number });
    expect(last).toEqual([
      expect.stringMatching(/^█{30} 100 % {2}2 of 2, 0 failed, succeeded +$/),
      expect.stringMatching(new RegExp(`^█{30} 100 % {2}${total} of ${total} +$`)),
    ]);
  });

  it('ends with 3 where an export breaks off', async () => {
    await sandbox.fault({ operation: 'listMembers', action: { odd: { pointer: '/data/list/2/globalId' } } });
    expect(await licensing('members export', ...INTO)).toMatchObject({
      code: 3,
      out: expect.stringContaining('#incomplete,upstream-contract-violation,'),
      err: expect.stringContaining(' was lost before the answer ended'),
    });
  });

  it('tells the deletions that failed, which have no row in the file', async () => {
    const all = join(folder, 'all.csv');
    const { out: listed } = await licensing('members list ent-harbour --json');
    const members = listed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, string>);
    const left = members.filter(({ userName = '' }) => !userName.startsWith('anna'));
    expect(left).toHaveLength(members.length - 1);
    writeFileSync(
      all,
      [
        'account,name',
        ...left.map(({ userName = '', name }) => `${userName.replace(/@.*/, '')},${name}`),
      ].join('\n'),
    );
    await sandbox.fault({ operation: 'deleteMember', action: { code: '13004' } });
    const upsert = ['--mode', 'upsert', '--delete-missing', '--max-deletes', '1'];
    const { code, err } = await imported(all, ...upsert);
    expect([code, err.split('\n').slice(1)]).toEqual([
      1,
      [expect.stringMatching(/^Deletion of anna failed: \S/), ''],
    ]);
    expect(readdirSync(folder)).not.toContain('all.csv.failed.csv');
  });

  it('does not say that nothing happened once a job has begun', async () => {
    const path = join(folder, 'begun.csv');
    writeFileSync(path, rowsOf('anna').join('\n'));
    // A folder is where the failed rows would be written.
    mkdirSync(`${path}.failed.csv`);
    const { code, err } = await imported(path);
    expect(code).toBe(1);
    expect(err).toMatch(/licensing jobs watch \S+ shows the job\n$/);
  });

  it('K69 takes the secret of deliveries from the environment or a file, and from no command line', async () => {
    const listen = 'webhooks listen --forward-to http://127.0.0.1:9/';
    const secret = newSecret('c');
    const refused = await licensing(listen, '--secret', secret);
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toMatch(/^--secret is not taken, .*: set LICENSING_WEBHOOK_SECRET or LICENSING_W/);
    expect(refused.err).not.toContain(secret);
    const empty = join(folder, 'secret');
    writeFileSync(empty, '\n');
    const key = { LICENSING_URL: gateway.url, LICENSING_API_KEY: gateway.key };
    for (const [env, err] of [
      [{ LICENSING_WEBHOOK_SECRET: '' }, 'LICENSING_WEBHOOK_SECRET is empty\n'],
      [
        { LICENSING_WEBHOOK_SECRET: 'whsec_?' },
        'LICENSING_WEBHOOK_SECRET: the secret of a webhook is whsec_ and base64\n',
      ],
      [{ LICENSING_WEBHOOK_SECRET_FILE: empty }, `LICENSING_WEBHOOK_SECRET_FILE ${empty} is empty\n`],
    ] as const)
      expect(await withEnvironment({ ...key, ...env }, listen)).toEqual({ code: 2, out: '', err });
  });

  it('ends a watch with 1 where rows failed and their file cannot be written', async () => {
    const path = join(folder, 'unwritable.csv');
    writeFileSync(path, rowsOf('anna').join('\n'));
    await imported(path);
    const [newest = ''] = (await licensing('jobs list --json')).out.split('\n');
    const { jobId } = JSON.parse(newest) as { jobId: string };
    mkdirSync(join(folder, `job-${jobId}.failed.csv`));
    const { code, out, err } = await licensing(`jobs watch ${jobId}`);
    expect([code, out]).toEqual([1, expect.stringMatching(/^failed +1$/m)]);
    expect(err).toMatch(/^job-\S+ cannot be written: \S+\n.* licensing jobs watch \S+ shows the job\n$/);
  });

  it('names the failed rows of a file of failed rows by a number', async () => {
    const again = join(folder, 'again.csv');
    writeFileSync(again, rowsOf('anna').join('\n'));
    const made = [again, `${again}.failed.csv`, `${again}.failed-2.csv`, `${again}.failed-3.csv`];
    for (const [index, path] of made.slice(0, -1).entries())
      expect((await imported(path)).err).toContain(`1 row failed: ${made[index + 1]}\n`);
  });

  it('says in which row and column a file is wrong, and sends no file that it cannot read', async () => {
    const told = async (content: string) => {
      writeFileSync(file, content);
      return imported(file);
    };
    const [header, fine] = rowsOf('fine1');
    const wrong = await told(`${header}\n${fine}\nnot fine,${newSecret('m')},\n`);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('  row 2 (line 3), account: must be 1 to 62 letters and digits\n');
    expect(wrong.err).toContain('  row 2 (line 3), name: is required');
    expect((await told('account,password\n')).err).toContain('  header, name: is required');
    expect((await told('')).err).toContain(
      '  body: must be a file in text/csv or application/x-ndjson, with at least one row',
    );
    for (const path of [join(folder, 'no-such-file'), folder])
      expect(await imported(path)).toMatchObject({ code: 2, err: expect.stringContaining(path) });
  });

  it.each([
    [
      'csv',
      'userName,name\r\nanna@harbour,Anna Berg\r\n\r\n zoe@harbour ,Zoe\r\n',
      ' zoe@harbour ,Zoe,failed,',
    ],
    [
      'ndjson',
      '{"userName":"anna@harbour"}\n \n{"userName":"zoe@harbour"}\n',
      '{"userName":"zoe@harbour","status":',
    ],
  ])('keeps the failed rows of an exported file in %s by their numbers', async (ending, rows, kept) => {
    const path = join(folder, `exported.${ending}`);
    writeFileSync(path, rows);
    expect((await imported(path, '--mode', 'upsert')).code).toBe(1);
    const failed = readFileSync(`${path}.failed.${ending}`, 'utf8');
    expect(failed).toContain(kept);
    expect(failed).not.toContain('anna');
  });

  it.each(['csv', 'ndjson'] as const)(
    'takes the failed rows in %s again once they are mended',
    async (ending) => {
      const path = join(folder, `mended.${ending}`);
      const failedFile = `${path}.failed.${ending}`;
      const account = `mended${ending}`;
      const password = newSecret('m');
      const ofJson = JSON.stringify({ account: 'bo', password, remark: 'one; "two"', name: 'A  Name' });
      const files = {
        // An empty line does not count, not even before the header.
        csv: `\naccount;password;remark;name\nbo;${password};"one; ""two""";A  Name\n`,
        ndjson: ofJson.replace(/\}$/, ',"departmentId":9007199254741001}\n'),
      };
      writeFileSync(path, files[ending]);
      expect((await imported(path)).code).toBe(1);
      const failed = readFileSync(failedFile, 'utf8');
      expect(failed).toMatch(ending === 'csv' ? /;failed;/ : /:"failed",/);
      // The unchanged file fails again, and reports its failures in the same columns.
      const [newest = ''] = (await licensing('jobs list --json')).out.split('\n');
      const { jobId } = JSON.parse(newest) as { jobId: string };
      const again = await licensing(`jobs retry ${jobId}`, failedFile);
      expect([again.code, again.err]).toEqual([1, expect.stringContaining('1 row failed')]);
      expect(readFileSync(`${path}.failed-2.${ending}`, 'utf8')).toBe(failed);
      const mended = failed.replace('bo', account);
      // Another program saves the file in this form.
      const saved =
        ending === 'csv'
          ? mended.replace(/status;code;message/, '"status";"code";"message"')
          : mended.replaceAll(/,"(status|code|message)":/g, ', "$1": ');
      expect(saved).not.toBe(mended);
      writeFileSync(failedFile, saved);
      expect(await imported(failedFile)).toMatchObject({ code: 0 });
      const { out } = await licensing(`members list ent-harbour --keyword ${account} --json`);
      expect(JSON.parse(out)).toMatchObject({
        name: 'A  Name',
        remark: 'one; "two"',
        ...(ending === 'ndjson' && { departmentId: '9007199254741001' }),
      });
    },
  );

  it('refuses failed rows that a spreadsheet has saved in another encoding, and keeps its mark of UTF-8', async () => {
    const path = join(folder, 'sheet.csv');
    const failedFile = `${path}.failed.csv`;
    const [header, row = ''] = rowsOf('anna');
    // Without this mark, a spreadsheet does not take the file for UTF-8.
    writeFileSync(path, `\uFEFF${header}\n${row.replace(/anna$/, 'Zoë')}`);
    expect((await imported(path)).code).toBe(1);
    const mended = readFileSync(failedFile, 'utf8').replace('anna', 'sheet1');
    expect(mended.startsWith(`\uFEFF${header}`)).toBe(true);
    const calls = (await sandbox.journal('addMembers')).length;
    const asJson = '{"account":"x","name":"Zoë","status":"failed","code":null,"message":null}\n';
    for (const [to, text] of [
      [failedFile, mended.slice(1)],
      [`${path}.ndjson`, asJson],
    ] as const) {
      writeFileSync(to, text, 'latin1');
      const err = `${to} is not in UTF-8, so names and passwords would change. Save it in UTF-8 (in a spreadsheet: "CSV UTF-8")\n`;
      expect(await imported(to)).toEqual({ code: 2, out: '', err });
    }
    expect((await sandbox.journal('addMembers')).length).toBe(calls);
    writeFileSync(failedFile, mended);
    expect(await imported(failedFile)).toMatchObject({ code: 0 });
    const { out } = await licensing('members list ent-harbour --keyword sheet1 --json');
    expect(JSON.parse(out)).toMatchObject({ name: 'Zoë' });
  });

  describe('K68 what a terminal would obey', () => {
    // The title of the window, a colour by one character of C1, a turn of direction, a backspace, and one beyond 16 bits.
    const EVIL = 'x\u001b]0;owned\u0007\u009b31m\u202e\b\u{e0041}y';
    const LEFT = 'x�]0;owned��31m���y';
    const stream = { 'content-type': 'text/event-stream' };
    const event = { time: EVIL, type: EVIL, subject: EVIL, data: {} };
    const item = { assetId: EVIL, assignment: { memberGlobalId: EVIL } };
    const refused = problem(422, EVIL, {
      title: EVIL,
      detail: EVIL,
      errors: [{ pointer: EVIL, detail: EVIL }],
    });
    let evil: ScriptedGateway;
    beforeAll(async () => (evil = await ScriptedGateway.start()));
    afterAll(() => evil.close());
    const told = async (line: string, ...more: string[]) => {
      const { out, err } = await withEnvironment(
        { LICENSING_URL: evil.url, LICENSING_API_KEY: 'k' },
        line,
        ...more,
      );
      expect([line, (out + err).replaceAll('\n', '').match(/[\p{Cc}\p{Cf}]/gu)]).toEqual([line, null]);
      return out + err;
    };

    it.each([
      ['a list', 'assets list e', [{ status: 200, body: { items: [item], page: 1, totalPages: 1 } }]],
      ['one thing', 'members get e m', [{ status: 200, body: { name: EVIL } }]],
      ['a refusal', 'orders get c n', [refused]],
      [
        'events',
        'events tail',
        [{ status: 200, text: `data: ${JSON.stringify(event)}\n\n`, headers: stream }, refused],
      ],
    ] as const)('is not printed of %s, and JSON keeps it in another form', async (_, line, acts) => {
      evil.play(...acts);
      expect(await told(line)).toContain(LEFT);
      evil.play(...acts);
      const [json = ''] = (await told(line, '--json')).split('\n');
      const deep = (value: unknown): unknown[] =>
        typeof value === 'object' && value !== null ? Object.values(value).flatMap(deep) : [value];
      expect(deep(JSON.parse(json))).toContain(EVIL);
    });

    it('is not printed of words of the command line either', async () => {
      expect(await told(EVIL, EVIL)).toContain(LEFT);
      expect(await told('whoami', `--${EVIL}`)).toContain(LEFT);
      expect(await told('orders place', join(folder, EVIL))).toContain(LEFT);
      expect(await told('whoami --url', EVIL)).toContain(LEFT);
    });

    it('stays in an export as CSV, which another program reads, and has another form in JSON lines', async () => {
      const csv = { status: 200, text: `name\r\n${EVIL}\r\n`, headers: { 'content-type': 'text/csv' } };
      const key = { LICENSING_URL: evil.url, LICENSING_API_KEY: 'k' };
      evil.play(csv);
      expect((await withEnvironment(key, 'members export --enterprise e')).out).toBe(csv.text);
      evil.play({ ...csv, text: `${JSON.stringify({ name: EVIL })}\n` });
      expect(JSON.parse(await told('members export --enterprise e --json'))).toEqual({ name: EVIL });
    });

    it('reaches a terminal through two functions of one file', () => {
      const cli = readdirSync('client/src/cli').filter((name) =>
        /\bprocess\.std(out|err)\.write|console\./.test(readFileSync(join('client/src/cli', name), 'utf8')),
      );
      expect(cli).toEqual(['output.ts']);
    });
  });

  it('tells a refusal with its faults and code, as JSON where that was asked for', async () => {
    const refused = await licensing('orders list --state gone --json');
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.err)).toMatchObject({
      code: 'validation-failed',
      errors: [{ parameter: 'state' }],
    });
    expect((await licensing('orders list --state gone')).err).toContain('  state: ');
    expect((await licensing('events tail --after zzz')).err).toContain('\n  --after: must be ');
    expect(await licensing('jobs watch none')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^No such job: .*\ncode job-not-found/),
    });
  });

  it('says where to go on with events where the cursor is too old', async () => {
    const old = await ScriptedGateway.start();
    atEnd(() => old.close());
    old.play(problem(410, 'events-expired', { outcome: 'not_processed', oldest: 'a-cursor' }));
    const key = { LICENSING_URL: old.url, LICENSING_API_KEY: 'k' };
    expect(await withEnvironment(key, 'events tail --after an-older-one')).toMatchObject({
      code: 2,
      err: expect.stringContaining('\nGo on with --after a-cursor\n'),
    });
  });

  it('tells apart wrong usage (2), in its own words, and no gateway (3)', async () => {
    const dash = 'one that begins with - is given as --url=<value>';
    for (const [line, err] of [
      ['members export', 'members export needs --enterprise\n'],
      ['completion tcsh', 'completion knows bash, zsh, fish\n'],
      ['assets list', 'licensing assets list <enterprise>: 0 of 1 given\n'],
      ['assets list x --tpye softkey', 'assets list has no option --tpye; did you mean --type?\n'],
      ['whoami --nonsense', 'whoami has no option --nonsense\n'],
      ['whoami --url', `--url needs a value; ${dash}\n`],
      ['whoami --json=yes', '--json takes no value\n'],
      ['oders', 'No command "oders"; did you mean orders? `licensing --help` lists them.\n'],
      [
        'orders lst --help',
        'No command "orders lst"; did you mean orders list? `licensing --help` lists them.\n',
      ],
      ['whoami more', 'licensing whoami: 1 of 0 given\n'],
      ['gaps --limit 0', '--limit has to be a whole number from 1 to 999999999, and is 0\n'],
      [
        'members import a.csv --enterprise ent-harbour --max-deletes 0x64',
        '--max-deletes has to be a whole number from 0 to 999999999, and is 0x64\n',
      ],
      ['asets list', 'No command "asets list"; did you mean assets list? `licensing --help` lists them.\n'],
    ] as const)
      expect([line, await licensing(line)]).toEqual([line, { code: 2, out: '', err }]);
    // A program that reads JSON can read these lines.
    for (const [line, detail] of [
      ['whoami --nonsense --json', 'whoami has no option --nonsense'],
      ['whoami --url --json', `--url needs a value; ${dash}`],
    ] as const)
      expect(JSON.parse((await licensing(line)).err)).toEqual({ detail });
    // Options may stand before the command.
    expect(await licensing(`--url ${gateway.url} --json whoami`)).toMatchObject({ code: 0, err: '' });
    expect(await withEnvironment({}, 'whoami')).toMatchObject({
      code: 2,
      err: expect.stringContaining('LICENSING_API_KEY'),
    });
    for (const [env, line, told] of [
      // A variable may have a secret by mistake, and this output may go into a log.
      [{ LICENSING_URL: 'nope' }, 'whoami', 'LICENSING_URL is no http or https URL\n'],
      [{}, 'whoami --url localhost:3000', '--url is no http or https URL: localhost:3000\n'],
      [
        { LICENSING_URL: gateway.url, LICENSING_API_KEY_FILE: '/nope' },
        'whoami',
        'LICENSING_API_KEY_FILE cannot be read (ENOENT)\n',
      ],
    ] as const)
      expect(await withEnvironment({ LICENSING_API_KEY: 'k', ...env }, line)).toEqual({
        code: 2,
        out: '',
        err: told,
      });
    const nowhere = { LICENSING_URL: 'http://no-such-host.invalid', LICENSING_API_KEY: 'k' };
    expect(await withEnvironment(nowhere, 'whoami')).toMatchObject({
      code: 3,
      err: expect.stringContaining('No connection to the gateway'),
    });
  });

  it('explains itself', async () => {
    const same = async (as: string, ...lines: string[]) => {
      for (const line of lines)
        expect([line, await licensing(line)]).toEqual([line, { code: 0, out: as, err: '' }]);
    };
    const { out: all } = await licensing('--help');
    expect(all).toContain('orders settle <channel> <number>');
    await same(all, 'help', '-h');
    const { out: one } = await licensing('orders settle --help');
    expect(one).toMatch(/--reason <…> .* \(required\)\n/);
    expect(one).toMatch(/--as <succeeded\|not_placed> +what became of it \(required\)\n/);
    expect((await licensing('help orders list')).out).toMatch(
      /--state <…> +only in this state: scheduled, sending, /,
    );
    await same(one, 'help orders settle');
    const { out: group } = await licensing('jobs --help');
    expect(group).toMatch(/^ {2}jobs watch /m);
    expect(group).not.toContain('orders settle');
    await same(group, 'help jobs');
    const { version } = JSON.parse(readFileSync('client/package.json', 'utf8')) as { version: string };
    await same(`${version}\n`, '--version', '-v', '-V');
    // Each group has a help that lists its commands.
    const groups = new Set(all.match(/(?<=^ {2})[a-z]+(?= [a-z])/gm));
    expect([...groups]).toEqual([
      ...['assets', 'members', 'locks', 'estate', 'jobs', 'events', 'webhooks', 'orders', 'maintenance'],
    ]);
    for (const name of groups)
      expect(await licensing(`${name} -h`)).toMatchObject({
        code: 0,
        out: expect.stringMatching(new RegExp(`^ {2}${name} [a-z]+ .+$`, 'm')),
      });
  });

  it('completes in bash', async () => {
    const { out } = await licensing('completion bash');
    const offered = (line: string) => {
      const words = line.split(' ');
      const set = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`;
      const script = `${out}\n${set}; _licensing; echo "\${COMPREPLY[@]}"`;
      return spawnSync('bash', ['-c', script], { encoding: 'utf8' }).stdout.trim();
    };
    expect(offered('licensing or')).toBe('orders');
    expect(offered('licensing orders ')).toBe('place list scheduled cancel get settle');
    expect(offered('licensing orders settle --re')).toBe('--reason');
    expect(offered('licensing orders list --state in_')).toBe('in_doubt');
    expect(offered('licensing orders settle --as ')).toBe('succeeded not_placed');
    // The other commands complete the aliases of users.
    expect(offered('licensing members list --as succ')).toBe('');
    expect(offered('licensing asse')).toBe('assets');
    expect(offered('licensing webhooks re')).toBe('redeliver');
    expect(offered('licensing trigger job.f')).toBe('job.failed');
    expect(offered('licensing api getO')).toBe('getOrder getOrderAssets getOverview');
    expect(offered('licensing completion z')).toBe('zsh');
    // The shell offers files.
    expect(offered('licensing orders place ')).toBe('');
    // The other shells ask the same program.
    const [ask = ''] = /'.*' '__complete'/.exec(out) ?? [];
    expect(ask).toContain('main.js');
    for (const shell of ['fish', 'zsh']) expect((await licensing(`completion ${shell}`)).out).toContain(ask);
    // Fish shows what an offer means.
    expect((await licensing('__complete orders settle --re')).out).toMatch(/^--reason\thow you found out/);
  });
});
