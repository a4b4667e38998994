import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newSecret } from '../../test/support/canary.ts';
import { validatorOf } from '../../test/support/contract.ts';
import { endings } from '../../test/support/endings.ts';
import { orderOf } from '../../test/support/order-body.ts';
import { until } from '../../test/support/redis.ts';
import { useStack } from '../../test/support/stack.ts';
import { program } from '../src/cli/program.ts';
import { eventTypes, sampleOf } from '../src/cli/sample-events.ts';
import { verifyWebhook } from '../src/webhooks.ts';
import { type Ended, runCommand } from './support/run-command.ts';
import { problem, ScriptedGateway } from './support/scripted-gateway.ts';

/** Single objects, any operation, webhooks, profiles and what helps to find a mistake, by the command `licensing`. */

const { sandbox, gateway } = useStack({ environment: { WEBHOOK_HOSTS: '127.0.0.1' } });
const { atEnd } = endings();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'licensing-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const access = () => ({ LICENSING_URL: gateway.url, LICENSING_API_KEY: gateway.key });
/** `line` is divided at its spaces. */
const licensing = (line: string, ...more: string[]) => runCommand(access(), [...line.split(' '), ...more]);
const fileWith = (name: string, content: string, mode = 0o600) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
};
/** The first event that a receiver got, if it is signed with this secret. */
const firstOf = ({ requests: [first] }: ScriptedGateway, secret: string) =>
  verifyWebhook(first?.body ?? '', first?.headers ?? {}, secret);
const jsonOf = ({ code, out, err }: Ended) => {
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Record<string, unknown>;
};

it('one asset is shown by its id', async () => {
  expect(jsonOf(await licensing('assets get ent-harbour ast-1001 --json'))).toMatchObject({
    assetId: 'ast-1001',
    licenseType: 'softkey',
  });
  expect((await licensing('assets get ent-harbour ast-1001')).out).toMatch(/^assetId +ast-1001$/m);
});

describe('members', () => {
  it('one member is added, changed and deleted, or only shown what would be sent', async () => {
    const password = newSecret('m');
    const withPassword = (...words: string[]) =>
      runCommand({ ...access(), LICENSING_MEMBER_PASSWORD: password }, words);
    const add = ['members', 'add', 'ent-harbour', '--account', 'lin', '--name', '林小雨', '--json'];
    const dry = await withPassword(...add, '--dry-run');
    expect(jsonOf(dry)).toMatchObject({ wouldSend: [{ operation: 'addMembers' }] });
    expect(await sandbox.journal('addMembers')).toEqual([]);
    const added = await withPassword(...add);
    const { memberGlobalId } = jsonOf(added) as { memberGlobalId: string };
    expect(dry.out + added.out).not.toContain(password);

    const update = `members update ent-harbour ${memberGlobalId} --account lin --name Lin --json`;
    expect((await licensing(`${update} --dry-run`)).out).toContain('"wouldSend"');
    expect(await licensing(`${update} --remark`, 'by hand')).toEqual({ code: 0, out: '', err: '' });
    expect(jsonOf(await licensing(`members get ent-harbour ${memberGlobalId} --json`))).toMatchObject({
      name: 'Lin',
      remark: 'by hand',
    });

    const remove = `members delete ent-harbour ${memberGlobalId}`;
    expect((await licensing(`${remove} --dry-run --json`)).out).toContain('"wouldSend"');
    expect(await sandbox.journal('deleteMember')).toEqual([]);
    expect(await licensing(remove)).toEqual({ code: 0, out: '', err: '' });
    expect((await licensing(`members get ent-harbour ${memberGlobalId}`)).err).toContain(
      'code member-not-found',
    );
  });

  it('one that is not added has exit code 2, and its password comes from no command line', async () => {
    const add = ['members', 'add', 'ent-harbour', '--account', 'anna', '--name', 'Anna'];
    expect(await runCommand(access(), add)).toEqual({
      code: 2,
      out: '',
      err: 'Set LICENSING_MEMBER_PASSWORD or LICENSING_MEMBER_PASSWORD_FILE\n',
    });
    const path = fileWith('password', `${newSecret('m')}\n`);
    const refused = await runCommand({ ...access(), LICENSING_MEMBER_PASSWORD_FILE: path }, add);
    expect(refused).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/\ncode \S+\n$/) });
  });
});

describe('api', () => {
  it('calls any operation with fields as text or JSON, and prints its answer', async () => {
    const asset = ['--field', 'enterpriseGlobalId=ent-harbour', '--field', 'assetId=ast-1001'];
    const { code, out } = await licensing('api getAsset', ...asset);
    expect([code, JSON.parse(out)]).toMatchObject([0, { assetId: 'ast-1001' }]);
    // People get a line a field.
    expect(out).toMatch(/^ {2}"assetId": "ast-1001",$/m);
    expect((await licensing('api getAsset --json', ...asset)).out.split('\n')).toHaveLength(2);
    expect(
      jsonOf(
        await licensing('api listAssets --json --field enterpriseGlobalId=ent-harbour --field pageSize:=1'),
      ),
    ).toMatchObject({ items: [{}], pageSize: 1 });
    const locks = 'api disableLocks --field enterpriseGlobalId=ent-harbour --field';
    expect(jsonOf(await licensing(locks, 'assetNums:=["8000001003"]'))).toMatchObject({
      items: [{ assetNum: '8000001003', status: 'succeeded' }],
    });
  });

  it('has exit code 1 where not all succeeded, or an order is not settled', async () => {
    const locks = 'api disableLocks --json --field enterpriseGlobalId=ent-harbour --field';
    const { code, out } = await licensing(locks, 'assetNums:=["8999999999"]');
    expect([code, JSON.parse(out)]).toMatchObject([1, { failed: 1 }]);
    const action = { reset: 'before-headers' };
    await sandbox.fault({ operation: 'batchOrder', times: 1, action });
    await gateway.post('/v1/license-orders', orderOf('api-doubt'));
    const order = await licensing('api getOrder --field channelCode=crm --field channelOrderId=api-doubt');
    expect([order.code, JSON.parse(order.out)]).toMatchObject([1, { state: 'in_doubt' }]);
  });

  it('takes the whole input from a file or the standard input', async () => {
    const input = JSON.stringify(orderOf('by-api'));
    const path = fileWith('order.json', input);
    expect(jsonOf(await licensing('api placeOrder --json --input', path))).toMatchObject({
      channelOrderId: 'by-api',
      state: 'succeeded',
    });
    const again = await runCommand(access(), ['api', 'placeOrder', '--json', '--input', '-'], { input });
    expect(jsonOf(again)).toMatchObject({ channelOrderId: 'by-api' });
    expect((await sandbox.journal('batchOrder')).length).toBe(1);
  });

  it('says what is wrong, and which operation is meant', async () => {
    for (const [line, err] of [
      ['getOrdr', 'No operation getOrdr; did you mean getOrder? `licensing api --help` lists them.\n'],
      [
        'importMembers',
        'importMembers carries a file or a stream, which other commands do: licensing help members\n',
      ],
      ['getJob', 'getJob needs jobId, a text\n'],
      ['getJob --field jobId', '--field has to be name=text or name:=JSON\n'],
      [
        'getJob --field jobId:=[9007199254740993]',
        '--field jobId: 0 is a number that JSON here would round. Write it as a text, in quotes\n',
      ],
      ['getJob --field jobId:=x', '--field jobId:= has to be followed by JSON, such as true, 5 or ["*"]\n'],
    ] as const)
      expect([line, await licensing(`api ${line}`)]).toEqual([line, { code: 2, out: '', err }]);
    expect((await licensing('api getCaller --field colour=red')).err).toContain('  colour: ');
    expect((await licensing('api --help')).out).toMatch(/^ {2}getOrder +GET \/v1\/license-orders\/\{/m);
  });
});

it('webhooks are created, listed, and their deliveries shown and sent again', async () => {
  const receiver = await ScriptedGateway.start();
  atEnd(() => receiver.close());
  receiver.play({ status: 500 }, ...Array.from({ length: 9 }, () => ({ status: 204 })));
  const url = `${receiver.url}/hook`;
  const created = jsonOf(
    await licensing(`webhooks create ${url} --type license-order.succeeded --description by-hand --json`),
  );
  const { webhookId, secret } = created as { webhookId: string; secret: string };
  expect(created).toMatchObject({ url, types: ['license-order.succeeded'], description: 'by-hand' });
  expect((await licensing('webhooks list')).out).toMatch(
    new RegExp(`^${webhookId} +${url} +license-order`, 'm'),
  );
  expect((await gateway.post('/v1/license-orders', orderOf('delivered-1'))).status).toBe(201);
  await until('the event has come', () => receiver.requests.length > 0);
  const { id } = await firstOf(receiver, secret);
  const deliveries = async () =>
    jsonOf(await licensing(`webhooks deliveries ${webhookId} --json`)) as {
      eventId: string;
      attempts: number;
    };
  await until('its failure is told', async () => (await deliveries()).attempts === 1);
  expect(await deliveries()).toMatchObject({ eventId: id, lastStatus: 500, state: 'pending' });
  expect(await licensing(`webhooks redeliver ${webhookId} ${id}`)).toEqual({ code: 0, out: '', err: '' });
  await until('it has come again', () => receiver.requests.length > 1);
  const delivered = `webhooks deliveries ${webhookId} --state delivered`;
  await until('it is taken', async () => (await licensing(delivered)).out.includes(id));
  // Operations that have no body.
  for (const [operation, shown] of [
    ['testWebhook', { error: null, status: 204 }],
    ['rotateWebhookSecret', { secret: expect.stringMatching(/^whsec_/) }],
  ] as const)
    expect(jsonOf(await licensing(`api ${operation} --json --field webhookId=${webhookId}`))).toMatchObject(
      shown,
    );
  expect((await licensing('webhooks deliveries none')).err).toContain('code webhook-not-found');
});

const ID: unknown = expect.any(String);

describe('trigger', () => {
  it('sends an event of any type to a receiver, signed, and as the API describes it', async () => {
    const receiver = await ScriptedGateway.start();
    atEnd(() => receiver.close());
    const secret = `whsec_${newSecret('c', 32)}`;
    receiver.play({ status: 204 });
    const line = ['trigger', 'license-order.in-doubt', '--forward-to', `${receiver.url}/hook`];
    // No gateway and no key.
    expect(await runCommand({ LICENSING_WEBHOOK_SECRET: secret }, line)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(/ {2}license-order\.in-doubt {2}crm\/SAMPLE-1 {2}204\n$/),
    });
    expect(await firstOf(receiver, secret)).toMatchObject({ type: 'license-order.in-doubt' });

    const [isEvent, isTest] = ['Event', 'TestEvent'].map((name) =>
      validatorOf({ $ref: `#/components/schemas/${name}` }),
    );
    const { components } = JSON.parse(readFileSync('config/openapi.json', 'utf8')) as {
      components: { schemas: { EventType: { enum: string[] } } };
    };
    expect(eventTypes.argChoices).toEqual([...components.schemas.EventType.enum, 'webhook.test']);
    for (const type of eventTypes.argChoices ?? []) {
      const event = sampleOf(type);
      const validate = type === 'webhook.test' ? isTest : isEvent;
      expect([event.type, validate?.(event), validate?.errors]).toEqual([type, true, null]);
    }
  });

  it.each([
    ['license-order.in-doubt', { settledAt: null, items: [{ licenseOrderId: null, customerId: null }] }],
    ['license-order.scheduled', { settledAt: null, items: [{ licenseOrderId: null, customerId: null }] }],
    ['license-order.accepted', { syncMode: 'async', settledAt: null, items: [{ licenseOrderId: ID }] }],
    ['license-order.incomplete', { settledAt: null }],
    ['license-order.succeeded', { settledAt: ID, items: [{ licenseOrderId: ID, customerId: ID }] }],
    ['job.failed', { problem: { code: 'upstream-unavailable' } }],
    ['job.succeeded', { problem: null }],
    ['estate.ending', { memberGlobalId: ID }],
  ])('says of %s what an event of the gateway says', (type, data) => {
    expect(sampleOf(type).data).toMatchObject(data);
  });

  it('prints a new secret where none is given, and has exit code 1 where the event is not taken', async () => {
    const receiver = await ScriptedGateway.start();
    atEnd(() => receiver.close());
    receiver.play({ status: 400 });
    const line = `trigger job.failed --forward-to ${receiver.url}`;
    const { code, out } = await licensing(line);
    expect([code, out]).toEqual([1, expect.stringMatching(/ {2}job\.failed {2}sample-job {2}400\n$/)]);
    const [secret = ''] = /whsec_\S+/.exec(out) ?? [];
    expect(await firstOf(receiver, secret)).toMatchObject({ type: 'job.failed' });
    const json = await licensing(line, '--json');
    expect(JSON.parse(json.out)).toMatchObject({
      event: { type: 'job.failed' },
      answer: expect.stringContaining('not reached'),
    });
    expect((await licensing('trigger job.faild --forward-to http://127.0.0.1:9/')).err).toBe(
      'No event type job.faild; did you mean job.failed?\n',
    );
  });
});

describe('K71 a profile', () => {
  const profiles = (over: object = {}) => ({
    here: { url: gateway.url, apiKey: gateway.key, as: 'anna', ...over },
  });
  const withFile = (path: string, ...words: string[]) =>
    runCommand({ LICENSING_PROFILES: path, LICENSING_URL: 'http://no-such-host.invalid' }, words);

  it('names gateway, key and user, and wins over the environment', async () => {
    const path = fileWith('profiles.json', JSON.stringify(profiles()));
    const who = ['whoami', '--profile', 'here', '--json'];
    expect(jsonOf(await withFile(path, ...who))).toMatchObject({ name: 'tester' });
    expect(jsonOf(await withFile(path, '--profile', 'here', 'whoami', '--json'))).toMatchObject({
      name: 'tester',
    });
    const home = { HOME: folder, XDG_CONFIG_HOME: '' };
    expect(JSON.parse((await runCommand(home, who)).err)).toEqual({
      detail: `${folder}/.config/licensing/profiles.json cannot be read: ENOENT`,
    });
    await withFile(path, 'members', 'list', 'ent-harbour', '--profile', 'here');
    const [first] = await sandbox.journal('listMembers');
    expect(JSON.stringify(first)).toContain('anna');
  });

  it.each(['640', '604'])('of a file that others may read (%s) is refused, as ssh does', async (rights) => {
    const path = fileWith('open.json', JSON.stringify(profiles()), Number.parseInt(rights, 8));
    expect(await withFile(path, 'whoami', '--profile', 'here')).toEqual({
      code: 2,
      out: '',
      err: `Permissions 0${rights} of ${path} are too open: it holds keys, so only you may read it. Run chmod 600 ${path}\n`,
    });
  });

  it('that is wrong is told by its field, and never by what is in it', async () => {
    const key = newSecret('k');
    const told = async (content: string, name = 'here') => {
      const path = fileWith('wrong.json', content);
      const { code, out, err } = await withFile(path, 'whoami', '--profile', name);
      expect([code, out]).toEqual([2, '']);
      expect(err).not.toContain(key);
      return err.replaceAll(path, 'FILE');
    };
    // The profiles themselves are where the name of their file belongs.
    expect(await withFile(JSON.stringify(profiles()), 'whoami', '--profile', 'here')).toEqual({
      code: 2,
      out: '',
      err: 'LICENSING_PROFILES cannot be read: ENOENT\n',
    });
    expect(await told(`{ "here": { "apiKey": ${key} } }`)).toBe('FILE is not JSON\n');
    expect(await told('[]')).toBe('FILE has to be a JSON object\n');
    expect(await told(`{ "here": "${key}" }`)).toBe('Profile here in FILE has to be a JSON object\n');
    const text = JSON.stringify(profiles());
    expect(await told(text, 'hre')).toBe('FILE has no profile hre; did you mean here?\n');
    expect(await told(text, 'production')).toBe('FILE has no profile production; it has here\n');
    expect(await told(text, 'toString')).toBe('FILE has no profile toString; it has here\n');
    expect(await told(JSON.stringify(profiles({ apikey: key })))).toBe(
      'Profile here in FILE has the field apikey; a profile has url, apiKey, as\n',
    );
    expect(await told(JSON.stringify(profiles({ url: key })))).toBe(
      'Profile here in FILE: url has to be an http or https URL\n',
    );
    expect(await told(JSON.stringify(profiles({ apiKey: undefined })))).toBe(
      'Profile here in FILE: apiKey has to be a text\n',
    );
  });
});

it('--debug tells each request on the standard error, and no secret', async () => {
  const { code, out, err } = await licensing(
    'members get ent-harbour mem-harbour-bo --as anna --debug --json',
  );
  expect([code, JSON.parse(out)]).toMatchObject([0, { memberGlobalId: 'mem-harbour-bo' }]);
  expect(err.split('\n')).toEqual([
    expect.stringMatching(
      new RegExp(`^> GET ${gateway.url}/v1/\\S+/mem-harbour-bo, x-request-id: \\S+, x-acting-user: anna$`),
    ),
    expect.stringMatching(/^< 200 after \d+ ms, /),
    '',
  ]);
  expect(err).not.toContain(gateway.key);
  const away = await runCommand(
    { LICENSING_URL: 'http://no-such-host.invalid', LICENSING_API_KEY: newSecret('k') },
    ['whoami', '--debug'],
  );
  expect(away.err).toMatch(/^> GET .*\n< no response after \d+ ms\n/);
});

it('a lost answer leaves the outcome of a write open, and not that of a read or a dry run', async () => {
  const server = await ScriptedGateway.start();
  atEnd(() => server.close());
  const env = { LICENSING_URL: server.url, LICENSING_API_KEY: 'k' };
  const disable = ['locks', 'disable', 'ent-harbour', '8000001003'];
  for (const [words, outcome] of [
    [disable, 'unknown'],
    [[...disable, '--dry-run'], 'not_processed'],
    [['assets', 'list', 'ent-harbour'], 'not_processed'],
  ] as const) {
    server.play('cut');
    const { code, err } = await runCommand(env, [...words, '--json']);
    expect([words, code, JSON.parse(err)]).toEqual([
      words,
      3,
      expect.objectContaining({ code: 'gateway-unreachable', outcome }),
    ]);
  }
});

it('an answer to a write that nothing can be read from leaves its outcome open', async () => {
  const server = await ScriptedGateway.start();
  atEnd(() => server.close());
  const env = { LICENSING_URL: server.url, LICENSING_API_KEY: 'k' };
  for (const [words, code, told] of [
    ['locks disable ent-harbour 1', 3, /\nIt may have been carried out\. Look before you repeat it\.\n$/],
    ['locks disable ent-harbour 1 --dry-run', 0, /^$/],
    ['members list ent-harbour', 2, /^.+\n$/],
  ] as const) {
    // A server in between answers for the gateway.
    server.play({ status: 200, body: { message: 'ok' } });
    expect([words, await runCommand(env, words.split(' '))]).toEqual([
      words,
      { code, out: expect.anything(), err: expect.stringMatching(told) },
    ]);
  }
});

it('a job whose rows break off ends with 3, and not as one that was refused', async () => {
  const server = await ScriptedGateway.start();
  atEnd(() => server.close());
  const job = JSON.stringify({ jobId: 'job-1', state: 'completed', total: 1, done: 1, failed: 1 });
  const headers = { 'content-type': 'text/event-stream' };
  const { body } = problem(503, 'dependency-unavailable') as { body: object };
  const env = { LICENSING_URL: server.url, LICENSING_API_KEY: 'k' };
  for (const [text, told] of [
    ['{', / was lost before the answer ended/],
    [`${JSON.stringify({ problem: body })}\n`, /\ncode dependency-unavailable, request /],
  ] as const) {
    server.play({ status: 200, text: `data: ${job}\n\n`, headers }, { status: 200, text, end: 'cut' });
    const { code, err } = await runCommand(env, ['jobs', 'watch', 'job-1']);
    expect([code, err]).toEqual([3, expect.stringMatching(told)]);
    expect(err).toContain('The job is completed, but not all of its rows could be read');
  }
});

it('an import that was carried out is not told as not processed where its rows cannot be read', async () => {
  const server = await ScriptedGateway.start();
  atEnd(() => server.close());
  const job = { jobId: 'job-1', state: 'completed', total: 1, done: 1, failed: 1 };
  const events = { status: 200, text: `data: ${JSON.stringify(job)}\n\n` };
  server.play({ status: 202, body: job }, events, problem(503, 'dependency-unavailable'));
  const env = { LICENSING_URL: server.url, LICENSING_API_KEY: 'k' };
  const file = fileWith('carried-out.csv', 'account,password,name\na,first-login-1,A\n');
  const { code, err } = await runCommand(env, [
    ...['members', 'import', file, '--enterprise', 'ent-harbour', '--json'],
  ]);
  expect(code).toBe(3);
  expect(JSON.parse(err)).toMatchObject({
    code: 'dependency-unavailable',
    outcome: 'unknown',
    advice: expect.stringContaining('The job is completed'),
  });
});

describe('a reader of the output that goes away', () => {
  const job = { jobId: 'job-1', state: 'completed', total: 1, done: 1, failed: 1 };
  const row = { row: 1, account: 'a', status: 'failed', code: 'x', message: 'y' };
  /** The exit code of the command where nobody reads what it prints. */
  const unread = async (server: ScriptedGateway, ...words: string[]) => {
    const env = { LICENSING_URL: server.url, LICENSING_API_KEY: 'k' };
    const child = spawn(process.execPath, [resolve('client/dist/cli/main.js'), ...words], {
      env,
      cwd: folder,
    });
    child.stdout.destroy();
    child.stderr.destroy();
    const [code] = (await once(child, 'close')) as [number];
    return code;
  };

  it('changes no exit code', async () => {
    const server = await ScriptedGateway.start();
    atEnd(() => server.close());
    const record = { ...orderOf('unread'), state: 'in_doubt', items: [] };
    server.play({ status: 200, body: record });
    expect(await unread(server, 'orders', 'get', 'crm', 'unread')).toBe(1);
    server.play(problem(403, 'forbidden'));
    expect(await unread(server, 'whoami')).toBe(2);
    server.play({ status: 200, body: { items: [{}], page: 1, totalPages: 9 } });
    expect(await unread(server, 'jobs', 'list', '--json', '--limit', '1')).toBe(0);
  });

  it('does not end the watch of a job before its failed rows are written', async () => {
    const server = await ScriptedGateway.start();
    atEnd(() => server.close());
    const lines = [{ ...job, state: 'running' }, job].map((each) => `data: ${JSON.stringify(each)}\n\n`);
    const rows = { status: 200, headers: { 'content-type': 'application/x-ndjson' } };
    server.play(
      { status: 200, text: lines.join(''), headers: { 'content-type': 'text/event-stream' } },
      { ...rows, text: `${JSON.stringify(row)}\n` },
      { ...rows, text: '' },
    );
    expect(await unread(server, 'jobs', 'watch', 'job-1', '--json')).toBe(1);
    expect(readFileSync(join(folder, 'job-job-1.failed.csv'), 'utf8')).toContain('1,a,failed,x,y');
  });
});

describe('an output that cannot be written', () => {
  /** What the command tells where the disk of its output is full. */
  const onFullDisk = async (...words: string[]) => {
    const full = openSync('/dev/full', 'w');
    const main = resolve('client/dist/cli/main.js');
    const child = spawn(process.execPath, [main, ...words], {
      stdio: ['ignore', full, 'pipe'],
      env: access(),
    });
    closeSync(full);
    let err = '';
    child.stderr?.on('data', (piece: Buffer) => (err += piece.toString()));
    const [code] = (await once(child, 'close')) as [number];
    return { code, err };
  };
  const full = 'The output cannot be written: ENOSPC: no space left on device, write';

  it('is told with exit code 1', async () => {
    expect(await onFullDisk('whoami')).toEqual({ code: 1, err: `${full}\n` });
    const { code, err } = await onFullDisk('assets', 'list', 'ent-harbour', '--json');
    expect([code, JSON.parse(err)]).toEqual([1, { detail: full }]);
  });

  it('leaves no doubt that a write was carried out', async () => {
    const order = fileWith('full.json', JSON.stringify(orderOf('full-1')));
    const place = ['orders', 'place', order];
    expect(await onFullDisk(...place, '--dry-run')).toEqual({ code: 1, err: `${full}\n` });
    const advice = 'The change has been carried out. Look before you repeat it.';
    expect(await onFullDisk(...place)).toEqual({ code: 1, err: `${full}\n${advice}\n` });
    expect((await licensing('orders get crm full-1')).out).toMatch(/^state +succeeded$/m);
    const hook = ['webhooks', 'create', 'http://127.0.0.1:9/full', '--json'];
    expect(JSON.parse((await onFullDisk(...hook)).err)).toEqual({ detail: full, advice });
  });
});

it('a list within an object is a table below its fields, and an object is a field for each of its own', async () => {
  const estate = await ScriptedGateway.start();
  atEnd(() => estate.close());
  const body = {
    ...{ assets: 3, seenAt: null, endingByMonth: [], widths: [1, 2] },
    enterprises: [
      { enterpriseGlobalId: 'ent-a', state: 'whole', reason: null },
      { enterpriseGlobalId: 'ent-harbour', state: 'stale', reason: 'away' },
    ],
    byProduct: [{ productUri: 'draft.pro', licences: 7, sums: { used: 2 } }],
    maintenance: { stops: 'orders', active: true },
  };
  estate.play({ status: 200, body });
  const env = { LICENSING_URL: estate.url, LICENSING_API_KEY: 'k' };
  expect((await runCommand(env, ['estate', 'summary'])).out.split('\n')).toEqual([
    'assets              3',
    'seenAt              -',
    'endingByMonth       -',
    'widths              1, 2',
    'maintenance.stops   orders',
    'maintenance.active  yes',
    '',
    'enterprises',
    'ENTERPRISE GLOBAL ID  STATE  REASON',
    'ent-a                 whole  -',
    'ent-harbour           stale  away',
    '',
    'byProduct',
    'PRODUCT URI  LICENCES  SUMS',
    'draft.pro    7         {"used":2}',
    '',
  ]);
});

it('members are exported with cells for a spreadsheet', async () => {
  const members = await ScriptedGateway.start();
  atEnd(() => members.close());
  const csv = { status: 200, text: "name\r\n'=1\r\n", headers: { 'content-type': 'text/csv' } };
  members.play(csv, csv);
  const env = { LICENSING_URL: members.url, LICENSING_API_KEY: 'k' };
  const exported = (...more: string[]) =>
    runCommand(env, ['members', 'export', '--enterprise', 'ent-a', ...more]);
  expect(await exported('--cells', 'text')).toEqual({ code: 0, out: csv.text, err: '' });
  await exported();
  expect(members.requests.map(({ url }) => new URL(url, members.url).search)).toEqual(['?cells=text', '']);
});

it('--limit ends a list after so many items, and reads no page after them', async () => {
  const { out } = await licensing('assets list ent-harbour --json --limit 2');
  expect(out.trim().split('\n')).toHaveLength(2);
  const table = await licensing('members list ent-harbour --limit 1');
  expect(table.out.trim().split('\n')).toEqual([
    expect.stringMatching(/ONLINE$/),
    expect.stringMatching(/ (?:yes|no)$/),
  ]);
  const pages = await ScriptedGateway.start();
  atEnd(() => pages.close());
  pages.play({ status: 200, body: { items: [{}, {}], page: 1, totalPages: 9 } });
  const env = { LICENSING_URL: pages.url, LICENSING_API_KEY: 'k' };
  expect((await runCommand(env, ['jobs', 'list', '--json', '--limit', '2'])).out).toBe('{}\n{}\n');
  expect(pages.requests).toHaveLength(1);
});

it('a table is straight where its characters take two columns of a terminal, or none', async () => {
  const wide = await ScriptedGateway.start();
  atEnd(() => wide.close());
  // Two columns each; one with an accent of its own; two columns.
  const names = ['林小雨', 'Zoe\u0308', '😀', 'Bo'];
  const items = names.map((name) => ({ memberGlobalId: 'm', userName: name, name: 'x' }));
  wide.play({ status: 200, body: { items, page: 1, totalPages: 1 } });
  const env = { LICENSING_URL: wide.url, LICENSING_API_KEY: 'k' };
  const { out } = await runCommand(env, ['members', 'list', 'e']);
  const cells = out
    .split('\n')
    .slice(1, -1)
    .map((line) => /^m +(.*?)x /.exec(line)?.[1]);
  expect(cells).toEqual(['林小雨     ', 'Zoe\u0308        ', '😀         ', 'Bo         ']);
});

it('the page of the command names commands and options that there are', () => {
  const lines = [...readFileSync('client/docs/cli.md', 'utf8').matchAll(/^licensing (.+?)(?: {2,}#.*)?$/gm)];
  expect(lines.length).toBeGreaterThan(30);
  const commands = ({ commands: inner }: CommandUnknownOpts): readonly CommandUnknownOpts[] =>
    inner.flatMap((each) => [each, ...commands(each)]);
  const unnamed = new Set(commands(program).filter((each) => each.commands.length === 0));
  for (const [, line = ''] of lines) {
    const words = line.split(' ');
    const group = program.commands.find((each) => each.name() === words[0]);
    const command = group?.commands.find((each) => each.name() === words[1]) ?? group;
    const known = command?.options.map(({ long }) => long);
    expect([line, known]).toEqual([line, expect.arrayContaining(line.match(/(?<= )--[a-z-]+/g) ?? [])]);
    if (command) unnamed.delete(command);
  }
  // Named in the text, and not as a line to run.
  expect([...unnamed].map((each) => `${each.parent?.name()} ${each.name()}`)).toEqual([
    'locks enable',
    'jobs watch',
    'jobs cancel',
    'licensing completion',
  ]);
});
