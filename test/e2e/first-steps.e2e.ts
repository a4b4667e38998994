import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { NODE_PATH } from '../support/gateway-process.ts';
import { freePort } from '../support/redis.ts';

/**
 * What a newcomer types: the commands of the documents, in the order of the documents, in a fresh clone. Left out are `npm ci`
 * (`node_modules` is linked) and `npm test` (it is this run).
 */

const clone = mkdtempSync(join(tmpdir(), 'first-steps-'));
const at = (path: string) => join(clone, path);
const read = (path: string) => readFileSync(at(path), 'utf8');
const git = (...args: string[]) =>
  execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
const { atEnd } = endings();
/** The time of a build on a slow machine. */
const LONG_MS = 900_000;
const NOT_BUILT = 'The gateway is not built: npm run build\n';
const ports = { PORT: '', MANAGEMENT_PORT: '', SANDBOX_PORT: '' };

beforeAll(async () => {
  git('clone', '--quiet', '--shared', '.', clone);
  // The clone is what a commit of the present state would give.
  for (const path of [
    ...git('diff', '--name-only', 'HEAD'),
    ...git('ls-files', '-o', '--exclude-standard'),
  ]) {
    rmSync(at(path), { force: true });
    if (existsSync(path)) cpSync(path, at(path));
  }
  const inClone = ['-C', clone, '-c', 'user.name=clone', '-c', 'user.email=clone@example.com'];
  git(...inClone, 'add', '--all');
  git(...inClone, 'commit', '--quiet', '--allow-empty', '--message', 'the present state');
  symlinkSync(resolve('node_modules'), at('node_modules'));
  for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = String(await freePort());
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

/** The blocks of a document for a shell, with the addresses of this run. */
function blocksOf(path: string): string[] {
  return [...read(path).matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) =>
    block
      .replaceAll('npm ci && ', '')
      .replaceAll('<id>', 'ent-harbour')
      .replaceAll('<code>', 'crm')
      .replaceAll(':3000', `:${ports.PORT}`),
  );
}

interface Typed {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly code: Promise<number | null>;
  /** Resolves when this is printed, with all output so far; rejects when the command ends before that. */
  printed(what: string): Promise<string>;
}

function type(script: string, environment: Record<string, string> = {}): Typed {
  const child = spawn('bash', ['-ec', script], {
    cwd: clone,
    env: { PATH: NODE_PATH, HOME: process.env['HOME'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, which gets Ctrl-C.
    detached: true,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const code = once(child, 'close').then(([ended]) => ended as number | null);
  atEnd(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), 'SIGKILL');
    await code;
  });
  const printed = async (what: string) => {
    const gone = code.then(() => Promise.reject(new Error(`It ended without "${what}": ${text}`)));
    while (!text.includes(what))
      await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), gone]);
    gone.catch(() => undefined);
    return text;
  };
  return { child, output: () => text, code, printed };
}

/** Runs it to its end, which has to be good. Returns what it printed. */
async function typed(script: string, environment?: Record<string, string>): Promise<string> {
  const { output, code } = type(script, environment);
  expect([await code, output()]).toEqual([0, output()]);
  return output();
}

async function interrupt({ child, code }: Typed): Promise<number | null> {
  process.kill(-(child.pid as number), 'SIGINT');
  return code;
}

function edit(path: string, change: (text: string) => string): void {
  writeFileSync(at(path), change(read(path)));
}

describe('G23 the first steps, as the documents have them', () => {
  const app = { key: newSecret('a'), secret: newSecret('s'), password: newSecret('u') };
  const platform = () => `http://127.0.0.1:${ports.SANDBOX_PORT}`;
  const settings = (more: Record<string, string> = {}) =>
    Object.entries({
      UPSTREAM_BASE_URL: platform(),
      UPSTREAM_TOKEN_URL: `${platform()}/oauth/token`,
      UPSTREAM_APP_KEY: app.key,
      UPSTREAM_APP_SECRET: app.secret,
      CALLERS_FILE: 'config/callers.json',
      UPSTREAM_USERS_FILE: 'config/users.json',
      PORT: ports.PORT,
      MANAGEMENT_PORT: ports.MANAGEMENT_PORT,
      ...more,
    })
      .map(([name, value]) => `\n${name}=${value}`)
      .join('');
  const users = JSON.stringify({ default: { username: 'admin@harbour', password: app.password } });

  it.each(['start', 'database-init', 'conformance', 'check:generated', 'pack:sandbox'])(
    'npm run %s says that nothing is built yet',
    async (name) => {
      const { output, code } = type(`npm run -s ${name}`);
      expect([await code, output()]).toEqual([1, NOT_BUILT]);
    },
  );

  it(
    'README: the demo builds, shows the log of its preparation, and then what to try',
    async () => {
      const [commands = ''] = blocksOf('README.md');
      expect(commands.split('\n').map((line) => line.split('#')[0]?.trim())).toEqual([
        'npm run demo',
        'npm test',
        '',
      ]);
      const demo = type('npm run -s demo', ports);
      const printed = await demo.printed('Ctrl-C ends both');
      expect(printed).toMatch(/^Building the gateway, [a-z ]+\.* done\n/);
      expect(printed.indexOf('API key')).toBeGreaterThan(printed.lastIndexOf('createJob'));
      expect(printed.indexOf('API key')).toBeGreaterThan(printed.lastIndexOf('settleOrder 200'));
      expect(printed).toContain('settleOrder 200');
      const [, request = ''] = /^ {2}(curl -s .+)$/m.exec(printed) ?? [];
      expect(JSON.parse(await typed(request))).toMatchObject({ items: expect.any(Array) });
      expect(await interrupt(demo)).toBe(0);
    },
    LONG_MS,
  );

  it(
    'first-day.md: from the settings to the first call',
    async () => {
      const [build = '', load = '', ask = '', write = '', newKey = '', start = '', call = ''] =
        blocksOf('docs/first-day.md');
      const sandbox = type('exec npm run -s sandbox', {
        SANDBOX_PORT: ports.SANDBOX_PORT,
        SANDBOX_APP_KEY: app.key,
        SANDBOX_APP_SECRET: app.secret,
        SANDBOX_ADMIN_PASSWORD: app.password,
      });
      await sandbox.printed(ports.SANDBOX_PORT);
      const builtAt = () => statSync(at('dist/bundle/gateway.js')).mtimeMs;
      const before = builtAt();
      await typed(build);
      // The demo has built the same sources.
      expect(builtAt()).toBe(before);
      edit('.env', (text) => text + settings());
      writeFileSync(at('config/users.json'), users);
      for (const command of [ask, ...write.trim().split('\n')]) {
        const { code, output } = type(`${load}${command}`);
        expect([0, 1]).toContain(await code);
        expect(output()).toContain('platform-profile.json');
      }
      const made = await typed(newKey);
      const [key = '', entry = ''] = [/lgw_\S+/, /\{.*\}/].map((form) => form.exec(made)?.[0]);
      const own = {
        ...(JSON.parse(entry) as object),
        scopes: ['orders:read', 'members:read', 'gaps:read'],
        ...{ enterprises: ['ent-harbour'], users: ['default'] },
      };
      edit('config/callers.json', (text) => {
        const { callers } = JSON.parse(text) as { callers: object[] };
        return JSON.stringify({ callers: [...callers, own] });
      });
      const gateway = type(`${load}${start}`);
      await gateway.printed('"event":"listening"');
      const [assets, members] = (await typed(call.replace(/^KEY=.*$/m, `KEY=${key}`).replaceAll(/$/gm, '\n')))
        .split(/(?<=\})(?=\{)/)
        .map((text) => JSON.parse(text) as { items: object[] });
      expect([assets?.items[0], members?.items[0]]).toMatchObject([
        { assetId: expect.any(String) },
        { memberGlobalId: expect.any(String) },
      ]);
      await interrupt(gateway);

      // The database comes after the build, and before the start.
      const [setUp = ''] = blocksOf('docs/operating.md');
      const [copies = '', rest = ''] = setUp.split(/^(?=set -a)/m);
      await typed(copies);
      edit('.env', (text) =>
        [
          text,
          settings({ DATABASE_URL: `sqlite:${at('gateway.db')}`, ENCRYPTION_KEYS: newEncryptionKey() }),
        ].join(''),
      );
      writeFileSync(at('config/users.json'), users);
      const operated = type(rest.replace('npm run database-init', '$& -- --yes'));
      expect(await operated.printed('"event":"listening"')).toContain(
        'The database has no tables of the gateway.',
      );
      await interrupt(operated);
      await interrupt(sandbox);
    },
    LONG_MS,
  );

  it(
    'CONTRIBUTING: `npm run dev` compiles what runs, and leaves the bundle of `npm start` as it was',
    async () => {
      const before = read('dist/bundle/gateway.js');
      const dev = type('npm run -s dev', ports);
      await dev.printed('Ctrl-C ends both');
      expect(await interrupt(dev)).toBe(0);
      expect(read('dist/bundle/gateway.js') === before).toBe(true);
      edit('README.md', (text) => `${text}\nOne line more.\n`);
      expect(await typed('npm run -s check:fast')).toMatch(
        /^ok {5}check:format \([\d.]+ s\)\nAll in order, in \d+ s\.\n$/,
      );
    },
    LONG_MS,
  );
});
