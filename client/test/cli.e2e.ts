import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestGateway } from '../../test/support/gateway.ts';
import { newSecret } from '../../test/support/canary.ts';
import { orderOf } from '../../test/support/order-body.ts';
import { TestSandbox } from '../../test/support/sandbox.ts';

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let sandbox: TestSandbox;
let gateway: TestGateway;
/** The command writes failed rows of a job beside itself. */
const folder = mkdtempSync(join(tmpdir(), 'licensing-'));

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  gateway = await TestGateway.start(sandbox);
});
afterAll(async () => {
  await gateway.stop();
  await sandbox.close();
  rmSync(folder, { recursive: true });
});

/** Runs the built command (`npm run build:client`), as a shell would. */
function licensing(...argv: string[]): Promise<Ended> {
  return withEnvironment({ LICENSING_URL: gateway.url, LICENSING_API_KEY: gateway.key }, ...argv);
}

function withEnvironment(env: Record<string, string>, ...argv: string[]): Promise<Ended> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [resolve('client/dist/cli/main.js'), ...argv],
      { env, cwd: folder },
      (_, out, err) => done({ code: child.exitCode ?? -1, out, err }),
    );
  });
}

describe('the command licensing', () => {
  it('shows what a key may do, as lines for people and JSON for machines', async () => {
    const [people, machines] = await Promise.all([licensing('whoami'), licensing('whoami', '--json')]);
    expect(people.out).toMatch(/^name +tester$/m);
    expect(JSON.parse(machines.out)).toMatchObject({ name: 'tester', enterprises: ['*'] });
    expect([people.code, machines.code]).toEqual([0, 0]);
    expect(people.out + machines.out).not.toContain(gateway.key);
  });

  it('lists assets and members, over all pages', async () => {
    const [table, lines, members] = await Promise.all([
      licensing('assets', 'list', 'ent-harbour', '--type', 'softkey'),
      licensing('assets', 'list', 'ent-harbour', '--json'),
      licensing('members', 'list', 'ent-harbour', '--as', 'anna', '--keyword', 'anna'),
    ]);
    expect(table.out.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual(['ASSET ID', 'ast-1001', '']);
    expect(table.out.split('\n')[0]).toMatch(/ {2}MEMBER GLOBAL ID$/);
    expect(lines.out.trim().split('\n').length).toBeGreaterThan(10);
    for (const line of lines.out.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('assetId');
    expect(members.out).toContain('anna@harbour');
    expect((await sandbox.journal('listMembers')).length).toBeGreaterThan(0);
  });

  it('shows an order in doubt with exit code 1, and settles it', async () => {
    await sandbox.fault({
      operation: 'batchOrder',
      times: 1,
      phase: 'after',
      action: { reset: 'before-headers' },
    });
    await gateway.post('/v1/license-orders', orderOf('cli-1'));
    const doubt = await licensing('orders', 'get', 'crm', 'cli-1');
    expect(doubt.out).toMatch(/^state +in_doubt$/m);
    expect(doubt.code).toBe(1);
    expect((await licensing('orders', 'settle', 'crm', 'cli-1', '--as', 'succeeded')).err).toBe(
      'orders settle needs --as and --reason\n',
    );
    const settled = await licensing(
      'orders',
      'settle',
      'crm',
      'cli-1',
      '--as',
      'succeeded',
      '--reason',
      'seen there',
      '--json',
    );
    expect(JSON.parse(settled.out)).toMatchObject({ state: 'succeeded', reason: 'seen there' });
    const again = await licensing(
      'orders',
      'settle',
      'crm',
      'cli-1',
      '--as',
      'not_placed',
      '--reason',
      'seen there',
    );
    expect(again).toMatchObject({
      code: 2,
      err: expect.stringMatching(/code order-not-settleable, request \S+\n$/),
    });
    expect((await licensing('orders', 'list', '--state', 'succeeded')).out).toContain('cli-1');
  });

  it('imports members of a file with its progress, keeps the rows that failed, and exports all', async () => {
    const file = join(folder, 'members.csv');
    const rows = [
      'account,password,name',
      ...['cli1', 'anna'].map((account) => `${account},${newSecret('m')},${account}`),
    ];
    writeFileSync(file, rows.join('\n'));
    const plan = await licensing(
      'members',
      'import',
      file,
      '--enterprise',
      'ent-harbour',
      '--validate-only',
      '--json',
    );
    expect(JSON.parse(plan.out)).toMatchObject({ add: 1, unchanged: 0, fail: ['anna'] });
    const run = await licensing('members', 'import', file, '--enterprise', 'ent-harbour');
    const { jobId } = JSON.parse((await licensing('jobs', 'list', '--json')).out) as { jobId: string };
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
    const again = await licensing(
      'members',
      'import',
      file,
      '--enterprise',
      'ent-harbour',
      '--mode',
      'upsert',
      '--json',
    );
    expect([again.code, JSON.parse(again.out.trim().split('\n').at(-1) ?? '')]).toMatchObject([
      0,
      { state: 'succeeded' },
    ]);
    const refused = await licensing(
      'members',
      'import',
      file,
      '--enterprise',
      'ent-harbour',
      '--mode',
      'other',
    );
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('validation-failed') });
    expect((await licensing('members', 'export', '--enterprise', 'ent-harbour')).out).toMatch(/cli1/);
  });

  it('says in which row and column a file is wrong, and sends no file that it cannot read', async () => {
    const file = join(folder, 'members.csv');
    const into = ['--enterprise', 'ent-harbour'];
    writeFileSync(file, `account,password,name\nfine1,${newSecret('m')},Fine\nnot fine,${newSecret('m')},\n`);
    const { code, err } = await licensing('members', 'import', file, ...into);
    expect(code).toBe(2);
    expect(err).toContain('  row 2 (line 3), account: must be 1 to 62 letters and digits\n');
    expect(err).toContain('  row 2 (line 3), name: is required');
    writeFileSync(file, 'account,password\n');
    expect((await licensing('members', 'import', file, ...into)).err).toContain(
      '  header, name: is required',
    );
    writeFileSync(file, '');
    expect((await licensing('members', 'import', file, ...into)).err).toContain(
      '  body: must be a file in text/csv or application/x-ndjson, with at least one row',
    );
    for (const path of [join(folder, 'no-such-file'), folder]) {
      const unread = await licensing('members', 'import', path, ...into);
      expect([unread.code, unread.err]).toEqual([2, expect.stringContaining(path)]);
    }
  });

  it.each([
    [
      'CSV',
      'csv',
      (account: string, password: string) =>
        `account;password;remark;name\n${account};${password};"one; ""two""";A  Name\n`,
    ],
    [
      'JSON lines',
      'ndjson',
      (account: string, password: string) =>
        `${JSON.stringify({ account, password, remark: 'one; "two"', name: 'A  Name' }).replace(/\}$/, ',"departmentId":9007199254741001}')}\n`,
    ],
  ])('takes the file of failed rows in %s again once it is mended', async (_, ending, fileOf) => {
    const file = join(folder, `mended.${ending}`);
    const failedFile = `${file}.failed.${ending}`;
    const into = ['--enterprise', 'ent-harbour'];
    const account = `mended${ending}`;
    await sandbox.reset();
    writeFileSync(file, fileOf('bo', newSecret('m')));
    expect((await licensing('members', 'import', file, ...into)).code).toBe(1);
    const failed = readFileSync(failedFile, 'utf8');
    expect(failed).toContain('"failed"'.slice(ending === 'csv' ? 1 : 0, ending === 'csv' ? -1 : undefined));
    // As it is, it fails again, and says so in the same columns.
    const { jobId } = JSON.parse((await licensing('jobs', 'list', '--json')).out.split('\n')[0] ?? '') as {
      jobId: string;
    };
    const again = await licensing('jobs', 'retry', jobId, failedFile);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('1 row failed')]);
    expect(readFileSync(`${failedFile}.failed.${ending}`, 'utf8')).toBe(failed);
    const mended = failed.replace('bo', account);
    // As another program saves it.
    const saved =
      ending === 'csv'
        ? mended.replace(/status;code;message/, '"status";"code";"message"')
        : mended.replaceAll(/,"(status|code|message)":/g, ', "$1": ');
    expect(saved).not.toBe(mended);
    writeFileSync(failedFile, saved);
    expect(await licensing('members', 'import', failedFile, ...into)).toMatchObject({ code: 0 });
    const { out } = await licensing('members', 'list', 'ent-harbour', '--keyword', account, '--json');
    expect(JSON.parse(out)).toMatchObject({
      name: 'A  Name',
      remark: 'one; "two"',
      ...(ending === 'ndjson' && { departmentId: '9007199254741001' }),
    });
  });

  it('shows, retries and cancels jobs', async () => {
    const file = join(folder, 'members.csv');
    const write = (...accounts: string[]) =>
      writeFileSync(
        file,
        ['account,password,name', ...accounts.map((each) => `${each},${newSecret('m')},${each}`)].join('\n'),
      );
    write('jobs1', 'anna');
    await licensing('members', 'import', file, '--enterprise', 'ent-harbour');
    const { out } = await licensing('jobs', 'list', '--json', '--state', 'completed');
    const { jobId } = JSON.parse(out.split('\n')[0] ?? '') as { jobId: string };
    const watched = await licensing('jobs', 'watch', jobId, '--json');
    expect([watched.code, JSON.parse(watched.out)]).toMatchObject([
      1,
      { jobId, state: 'completed', failed: 1 },
    ]);
    write('jobs1');
    const wrong = await licensing('jobs', 'retry', jobId, file);
    expect([wrong.code, wrong.err]).toEqual([
      2,
      expect.stringContaining('  row 1 (line 2), account: must be the account of a row that failed'),
    ]);
    write('anna');
    const again = await licensing('jobs', 'retry', jobId, file);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining(`1 row failed: ${file}.failed.csv`)]);
    expect(await licensing('jobs', 'cancel', jobId)).toMatchObject({ code: 0, err: '' });
    expect(await licensing('jobs', 'watch', 'none')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^No such job: .*\ncode job-not-found/),
    });
  });

  it('tells a refusal with its faults and code, as JSON where that was asked for', async () => {
    const refused = await licensing('orders', 'list', '--state', 'gone', '--json');
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.err)).toMatchObject({
      code: 'validation-failed',
      errors: [{ parameter: 'state' }],
    });
    expect((await licensing('orders', 'list', '--state', 'gone')).err).toContain('  state: ');
  });

  it('tells apart wrong usage (2), and no gateway (3)', async () => {
    for (const argv of [
      ['nonsense'],
      ['assets'],
      ['assets', 'list'],
      ['whoami', '--nonsense'],
      ['completion', 'tcsh'],
    ]) {
      const { code, err } = await licensing(...argv);
      expect([argv, code, err.length > 10]).toEqual([argv, 2, true]);
    }
    expect(await withEnvironment({}, 'whoami')).toMatchObject({
      code: 2,
      err: expect.stringContaining('LICENSING_API_KEY'),
    });
    const nowhere = await withEnvironment(
      { LICENSING_URL: 'http://no-such-host.invalid', LICENSING_API_KEY: 'k' },
      'whoami',
    );
    expect(nowhere).toMatchObject({ code: 3, err: expect.stringContaining('No connection to the gateway') });
  });

  it('explains itself', async () => {
    const [all, one] = await Promise.all([licensing('--help'), licensing('orders', 'settle', '--help')]);
    expect([all.code, one.code]).toEqual([0, 0]);
    expect(all.out).toContain('orders settle <channel> <number>');
    expect(one.out).toContain('--reason <…>');
    expect(one.out).toMatch(/--as <…> +what became of it\n/);
    const same = async (as: string, ...others: string[][]) => {
      for (const argv of others)
        expect([argv, await licensing(...argv)]).toEqual([argv, { code: 0, out: as, err: '' }]);
    };
    await same(all.out, ['-h'], ['help'], ['help', '--help']);
    await same(one.out, ['orders', 'settle', '-h'], ['help', 'orders', 'settle']);
    const group = await licensing('jobs', '--help');
    expect(group.out).toMatch(/^ {2}jobs watch /m);
    expect(group.out).not.toContain('orders settle');
    await same(group.out, ['help', 'jobs'], ['jobs', '-h']);
    const { version } = JSON.parse(readFileSync('client/package.json', 'utf8')) as { version: string };
    await same(`${version}\n`, ['--version'], ['-V']);
  });

  it('says what is wrong with a command line in its own words', async () => {
    for (const [argv, err] of [
      [
        ['assets', 'list', 'ent-harbour', '--tpye', 'softkey'],
        'assets list has no option --tpye; did you mean --type?',
      ],
      [['whoami', '--nonsense'], 'whoami has no option --nonsense'],
      [['whoami', '--url'], '--url needs a value; one that begins with - is given as --url=<value>'],
      [
        ['whoami', '--url', '--json'],
        '--url needs a value; one that begins with - is given as --url=<value>',
      ],
      [['whoami', '--json=yes'], '--json takes no value'],
      [
        ['asets', 'list'],
        'No command "asets list"; did you mean assets list? `licensing --help` lists them.',
      ],
    ] as const)
      expect([argv, await licensing(...argv)]).toEqual([argv, { code: 2, out: '', err: `${err}\n` }]);
    // Options may stand before the command.
    expect(await licensing('--url', gateway.url, '--json', 'whoami')).toMatchObject({ code: 0, err: '' });
  });

  it('completes in bash', async () => {
    const { out } = await licensing('completion', 'bash');
    const offered = (words: string[]) =>
      spawnSync(
        'bash',
        [
          '-c',
          `${out}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _licensing; echo "\${COMPREPLY[@]}"`,
        ],
        { encoding: 'utf8' },
      ).stdout.trim();
    expect(offered(['licensing', 'or'])).toBe('orders');
    expect(offered(['licensing', 'orders', ''])).toBe('list get settle');
    expect(offered(['licensing', 'orders', 'settle', '--re'])).toBe('--reason');
    expect(offered(['licensing', 'orders', 'list', '--state', 'in_'])).toBe('in_doubt');
    expect(offered(['licensing', 'orders', 'settle', '--as', ''])).toBe('succeeded not_placed');
    // Of the other commands it is the alias of a user.
    expect(offered(['licensing', 'members', 'list', '--as', 'succ'])).toBe('');
    for (const shell of ['fish', 'zsh'])
      expect((await licensing('completion', shell)).out).toContain('settle');
  });
});
