import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { NODE_PATH } from '../support/gateway-process.ts';
import { orderOf } from '../support/order-body.ts';
import { freePort, until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** The programs of examples/other-languages, in each language whose tools this machine has, against the shipped gateway and the sandbox. */

const run = promisify(execFile);
const page = readFileSync('docs/other-languages.md', 'utf8');

/** The files of each language. */
const programs = globSync('examples/other-languages/**/*.*').map((path) => ({
  ...{ language: path.split('/')[2], file: basename(path), text: readFileSync(path, 'utf8') },
}));
/** The command that makes a webhook. */
const [, newWebhook = ''] = /^(curl -s \$LICENSING_URL\/v1\/webhooks .*?)^export /ms.exec(page) ?? [];
/** The port of the receivers on the page. */
const PAGE_PORT = '8080';
const PROGRAMS = ['buy', 'assets', 'feed', 'receiver'] as const;
type Program = (typeof PROGRAMS)[number];
/** The most lines of a program, without imports, empty lines and lines that only close something. */
const MAX_LINES = 30;

interface Language {
  readonly title: string;
  readonly language: string;
  /** Why this machine cannot run the programs; undefined where it can. */
  readonly notRun: string | undefined;
  /** Run in the folder of the programs before any of them. */
  readonly builds: readonly (readonly string[])[];
  readonly command: (program: Program) => readonly string[];
}

/** The number that follows `before` in what the command prints; 0 where there is no such command. */
function versionOf(command: string, argument: string, before: string): number {
  try {
    const printed = execFileSync(command, [argument], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number(printed.split(before)[1]?.match(/^\d+/)?.[0] ?? 0);
  } catch {
    return 0;
  }
}

/** The newest jar of each part of Jackson that Debian's packages or Maven have put on this machine. */
const jackson = ['annotations', 'core', 'databind'].flatMap((part) =>
  globSync([
    `/usr/share/java/jackson-${part}.jar`,
    `${homedir()}/.m2/repository/com/fasterxml/jackson/core/jackson-${part}/*/jackson-${part}-*[0-9].jar`,
  ])
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .slice(-1),
);

function whyNoJava(): string | undefined {
  if (versionOf('javac', '--version', 'javac ') < 17) return 'there is no JDK of Java 17 or newer';
  return jackson.length < 3 ? 'the jars of Jackson are not installed' : undefined;
}

const className = (program: string) => program.replace(/^./, (letter) => letter.toUpperCase());
const goFiles = (program: Program) => [program, program === 'receiver' ? 'webhook' : 'licensing'];
const languages: readonly Language[] = [
  {
    title: 'Python',
    language: 'python',
    notRun: undefined, // scripts/ensure-tools.ts installs it
    builds: [],
    command: (program) => ['python3', `${program}.py`],
  },
  {
    title: 'Go',
    language: 'go',
    notRun: versionOf('go', 'version', 'go version go1.') < 19 ? 'there is no Go 1.19 or newer' : undefined,
    builds: PROGRAMS.map((program) => ['go', 'build', ...goFiles(program).map((name) => `${name}.go`)]),
    command: (program) => [`./${program}`],
  },
  {
    title: 'Java',
    language: 'java',
    notRun: whyNoJava(),
    builds: [
      [
        'javac',
        '-cp',
        jackson.join(':'),
        ...['Licensing', 'Webhook', ...PROGRAMS.map(className)].map((name) => `${name}.java`),
      ],
    ],
    // Half a second of a program is not worth the better compiler.
    command: (program) => [
      ...['java', '-XX:TieredStopAtLevel=1', '-cp', [...jackson, '.'].join(':')],
      className(program),
    ],
  },
  {
    title: 'C#',
    language: 'csharp',
    notRun: 'the test cannot run them',
    builds: [],
    command: () => [],
  },
];
for (const { title, notRun } of languages)
  if (notRun !== undefined)
    process.stderr.write(`examples/other-languages: the programs in ${title} were not run: ${notRun}.\n`);

const folder = mkdtempSync(join(tmpdir(), 'other-languages-'));
const { gateway, sandbox } = useStack({ environment: { WEBHOOK_HOSTS: '127.0.0.1' } });
const environment = () => ({
  PATH: NODE_PATH,
  HOME: homedir(),
  LICENSING_URL: gateway.url,
  LICENSING_API_KEY: gateway.key,
});

afterAll(() => rmSync(folder, { recursive: true }));

it('each language has the same programs, short ones', () => {
  const said = (line: string) =>
    !/^\s*(import\b.*|using [\w.]+;|package \w+|from .* import .*|"[\w/]+"|[\s(){};,\]]*)$/.test(line);
  const files = (of: string) => programs.filter(({ language }) => language === of);
  for (const { language } of languages) {
    const names = files(language).map(({ file }) => file.split('.')[0]?.toLowerCase());
    expect(names).toEqual(
      expect.arrayContaining(['licensing', 'buy', 'assets', 'feed', 'webhook', 'receiver']),
    );
    for (const { file, text } of files(language))
      expect([file, text.split('\n').filter(said).length <= MAX_LINES]).toEqual([file, true]);
  }
});

describe.each(languages.filter(({ notRun }) => notRun === undefined))(
  'the programs in $title',
  ({ title, language, builds, command }) => {
    const own = mkdtempSync(join(folder, `${language}-`));
    let port: number;

    beforeAll(async () => {
      port = await freePort();
      for (const { file, text } of programs.filter((each) => each.language === language))
        writeFileSync(join(own, file), text.replaceAll(PAGE_PORT, String(port)));
      for (const [tool = '', ...values] of builds) await run(tool, values, { cwd: own, env: environment() });
    });

    async function printed(program: Program, ...values: string[]): Promise<string[]> {
      const [tool = '', ...rest] = command(program);
      const { stdout } = await run(tool, [...rest, ...values], { cwd: own, env: environment() });
      return stdout.split('\n').slice(0, -1);
    }

    it('buy once under a number, and tell a problem with its outcome', async () => {
      const first = await printed('buy', `${title}-1`);
      expect(first).toEqual([expect.stringMatching(/^succeeded \d{16,}$/)]);
      expect(await printed('buy', `${title}-1`)).toEqual(first);
      expect(await printed('buy', '')).toEqual([
        expect.stringMatching(/^not_processed validation-failed [\w-]+$/),
      ]);
      await sandbox.fault({
        operation: 'batchOrder',
        phase: 'after',
        times: 1,
        action: { reset: 'before-headers' },
      });
      expect(await printed('buy', `${title}-2`)).toEqual([
        expect.stringMatching(/^unknown outcome-unknown [\w-]+$/),
      ]);
    });

    it('take the answer of a proxy for none of the gateway, and give the key to no server that it names', async () => {
      const requests: unknown[] = [];
      let status = 502;
      const proxy = createServer(({ url }, response) => {
        requests.push(url);
        const headers = { 'content-type': 'application/json', location: '/login' };
        response.writeHead(url === '/login' ? 200 : status, headers).end('{ "error": "log in" }');
      });
      await once(proxy.listen(0, '127.0.0.1'), 'listening');
      const [tool = '', ...rest] = command('buy');
      const env = {
        ...environment(),
        LICENSING_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
      };
      try {
        for (status of [502, 302])
          await expect(run(tool, [...rest, `${title}-5`], { cwd: own, env })).rejects.toMatchObject({
            stdout: '',
            stderr: expect.stringContaining(`${status}`),
          });
      } finally {
        proxy.close();
      }
      expect(requests).toEqual(['/v1/license-orders', '/v1/license-orders']);
    });

    it('read all pages of a list', async () => {
      const { body } = await gateway.get('/v1/enterprises/ent-harbour/assets?pageSize=1000');
      const all = (body['items'] as { assetNum: string }[]).map(({ assetNum }) => assetNum);
      expect(all.length).toBeGreaterThan(10);
      expect(await printed('assets')).toEqual(all);
    });

    it('read each event of the feed once', async () => {
      const placed = async (number: string) => {
        expect((await gateway.post('/v1/license-orders', orderOf(number))).status).toBe(201);
        return `license-order.succeeded crm/${number}`;
      };
      const first = await placed(`${title}-3`);
      expect((await printed('feed')).filter((line) => line === first)).toHaveLength(1);
      const second = await placed(`${title}-4`);
      const more = await printed('feed');
      expect([first, second].map((line) => more.includes(line))).toEqual([false, true]);
    });

    it('receive webhooks of the gateway, each event once, and nothing else', async () => {
      const { stdout } = await run('bash', ['-euc', newWebhook.replace(PAGE_PORT, String(port))], {
        env: environment(),
      });
      const { webhookId, secret } = JSON.parse(stdout) as Record<'webhookId' | 'secret', string>;
      const [tool = '', ...values] = command('receiver');
      const child = spawn(tool, values, { cwd: own, env: { ...environment(), WEBHOOK_SECRET: secret } });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      try {
        const address = `http://127.0.0.1:${port}/`;
        await until('the receiver listens', () => fetch(address).then(Boolean));
        const { body } = await gateway.request('POST', `/v1/webhooks/${webhookId}/test`);
        expect(body).toMatchObject({ status: 204, error: null });

        const signer = new Webhook(secret);
        const other = new Webhook(Buffer.from('of another').toString('base64'));
        const event = JSON.stringify({
          id: '1',
          type: 'license-order.succeeded',
          subject: 'crm/SO-1',
          data: 'Größe',
        });
        const now = new Date();
        const send = async (signature: string, text = event, at = now) => {
          const timestamp = String(Math.floor(at.getTime() / 1_000));
          const headers = {
            'webhook-id': '1',
            'webhook-timestamp': timestamp,
            'webhook-signature': signature,
          };
          return (await fetch(address, { method: 'POST', body: text, headers })).status;
        };
        const old = new Date(now.getTime() - 360_000);
        const genuine = signer.sign('1', now, event);
        expect({
          genuine: await send(genuine),
          repeated: await send(genuine),
          ofTwoSecrets: await send(`${other.sign('1', now, event)} ${genuine}`),
          changed: await send(genuine, event.replace('succeeded', 'rejected')),
          ofAnotherSecret: await send(other.sign('1', now, event)),
          old: await send(signer.sign('1', old, event), event, old),
          unsigned: (await fetch(address, { method: 'POST', body: event })).status,
        }).toEqual({
          ...{ genuine: 204, repeated: 204, ofTwoSecrets: 204 },
          ...{ changed: 400, ofAnotherSecret: 400, old: 400, unsigned: 400 },
        });
        await until('the receiver has printed the event', () => output.includes(' crm/SO-1\n'));
        expect(output.split('\n').filter((line) => line.endsWith(' crm/SO-1'))).toEqual([
          'license-order.succeeded crm/SO-1',
        ]);
        expect(output).toMatch(/^webhook\.test /m);
      } finally {
        const gone = once(child, 'exit');
        child.kill();
        await gone;
      }
    });

    it('accept no webhook while their secret is empty', async () => {
      const [tool = '', ...values] = command('receiver');
      const child = spawn(tool, values, { cwd: own, env: { ...environment(), WEBHOOK_SECRET: 'whsec_' } });
      try {
        const address = `http://127.0.0.1:${port}/`;
        await until('the receiver listens', () => fetch(address).then(Boolean));
        const timestamp = String(Math.floor(Date.now() / 1_000));
        const event = JSON.stringify({ id: '1', type: 'license-order.succeeded' });
        const signature = createHmac('sha256', '').update(`1.${timestamp}.${event}`).digest('base64');
        const headers = {
          ...{ 'webhook-id': '1', 'webhook-timestamp': timestamp },
          'webhook-signature': `v1,${signature}`,
        };
        const sent = fetch(address, { method: 'POST', body: event, headers });
        // A receiver may also fail with a key that its library refuses.
        expect(await sent.then(({ status }) => status >= 400).catch(() => true)).toBe(true);
      } finally {
        const gone = once(child, 'exit');
        child.kill();
        await gone;
      }
    });
  },
);

it('the tests with pytest start a sandbox of their own', async () => {
  const own = mkdtempSync(join(folder, 'pytest-'));
  for (const { file, text } of programs.filter(({ language }) => language === 'python'))
    writeFileSync(join(own, file), text);
  symlinkSync(resolve('node_modules'), join(own, 'node_modules'));
  const env = { PATH: NODE_PATH, HOME: homedir() };
  const { stdout } = await run('pytest', ['-q', '-p', 'no:cacheprovider'], { cwd: own, env });
  expect(stdout).toContain('2 passed');
});
