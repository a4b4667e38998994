import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { installPacked, type Packed, run, stageOf } from '../support/packed-sandbox.ts';
import { freePort, until } from '../support/redis.ts';

/** The package as a team gets it: the tarball of `npm run pack:sandbox`, installed beside the client in a project of its own, offline. */

const START_SECONDS = 3;
const PACKED_BYTES = 3_000_000;
/** The ticks of the kernel in a second. */
const TICKS = 100;

interface Started {
  readonly url: string;
  readonly apiKey: string;
  readonly sandbox: { readonly url: string; readonly seed: number };
}

const folder = mkdtempSync(join(tmpdir(), 'sandbox-package-'));
const project = join(folder, 'project');
const inside = join(project, 'node_modules/@licensing-gateway/sandbox');
/** Where the program puts its files. */
const temporary = join(folder, 'temporary');
const children: ChildProcess[] = [];
let packed: Packed;
const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, any>;
const { version, engines } = read('package.json');

const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

beforeAll(async () => {
  mkdirSync(temporary);
  packed = await installPacked(folder, project);
});
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** The command that npm has linked. */
function start(...options: readonly string[]): { child: ChildProcess; output: () => string } {
  const child = spawn(join(project, 'node_modules/.bin/licensing-sandbox'), options, {
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return { child, output: () => output };
}

async function printed({ child, output }: ReturnType<typeof start>, what: string): Promise<string> {
  const gone = once(child, 'exit').then(() => {
    throw new Error(`It ended before it printed ${what}`);
  });
  while (!output().includes(what)) await Promise.race([once(child.stdout ?? child, 'data'), gone]);
  gone.catch(() => {});
  return output();
}

/** How it ends, and what it leaves. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  const gone = once(child, 'exit');
  child.kill(signal);
  const [code] = (await gone) as [number];
  return { code, left: readdirSync(temporary) };
}

const isServed = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  );

/** What the process and those that it started have used of a processor. */
function processorSeconds(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields.split(' ').slice(11, 13).map(Number) as [number, number];
  const below = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return below
    .map(Number)
    .map(processorSeconds)
    .reduce((sum, seconds) => sum + seconds, (user + system) / TICKS);
}

describe('the package', () => {
  it('is installed without a registry, and has what it runs and nothing else', () => {
    const names = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(names).toEqual(['@licensing-gateway']);
    expect(readdirSync(inside).sort()).toEqual(['README.md', 'dist', 'package.json', 'start.cjs']);
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'dist/main.js',
        'dist/THIRD-PARTY-LICENSES.txt',
        'dist/manual/docs/recipes.md',
      ]),
    );
    expect(paths.filter((path) => /\.(map|ts)$|spec|e2e/.test(path))).toEqual([]);
    expect(packed.size).toBeLessThan(PACKED_BYTES);
  });

  it('has the version of the gateway and of the client, and needs the Node that the gateway needs', () => {
    const own = read('sandbox-package/package.json');
    expect(own).toMatchObject({ version, engines });
    expect(read('client/package.json')['peerDependencies']).toMatchObject({
      '@licensing-gateway/sandbox': version,
    });
    expect(own).not.toHaveProperty('dependencies');
  });

  it('has one command, which npx finds by the name of the package, and which ends with npx', async () => {
    const command = ['--offline', '@licensing-gateway/sandbox', '--json'];
    const child = spawn('npx', command, { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const { url } = JSON.parse(line.toString()) as Started;
    expect(await isServed(url)).toBe(true);
    child.kill('SIGTERM');
    await until('the gateway has ended', async () => !(await isServed(url)));
  });

  it('starts within its time, tells programs where it is, and ends without a trace', async () => {
    const started = start('--json', '--seed', '7');
    const line = await printed(started, '\n');
    // The time by the clock would be that of the machine's other work too.
    expect(processorSeconds(started.child.pid ?? 0)).toBeLessThan(START_SECONDS);
    const { url, apiKey, sandbox } = JSON.parse(line) as Started;
    expect(sandbox.seed).toBe(7);
    const assets = await fetch(`${url}/v1/enterprises/ent-harbour/assets`, {
      headers: { 'x-api-key': apiKey },
    });
    expect(assets.status).toBe(200);
    for (const page of [`${url}/docs`, `${sandbox.url}/__sandbox/health`])
      expect((await fetch(page)).status).toBe(200);
    expect(await end(started.child, 'SIGTERM')).toEqual({ code: 0, left: [] });
    for (const gone of [url, sandbox.url]) expect(await isServed(gone)).toBe(false);
    expect(started.output()).toBe(line);
  });

  it('has an image with the same entry, whose options may be followed by others', async () => {
    const stage = stageOf('sandbox-package');
    const [, entry = ''] = /^ENTRYPOINT (.+)$/m.exec(stage) ?? [];
    expect([...stage.matchAll(/app\/sandbox-package\/(\S+)/g)].map(([, name]) => name).sort()).toEqual(
      readdirSync(inside)
        .filter((name) => name !== 'README.md')
        .sort(),
    );
    const [program, entryFile, ...options] = JSON.parse(entry) as string[];
    expect([program, entryFile]).toEqual(['node', 'start.cjs']);
    const started = start(...options, '--port', '0', '--sandbox-port', '0', '--sandbox-only', '--json');
    const { sandbox } = JSON.parse(await printed(started, '\n')) as Started;
    expect((await fetch(`${sandbox.url}/__sandbox/health`)).status).toBe(200);
    expect(await end(started.child, 'SIGTERM')).toEqual({ code: 0, left: [] });
  });

  it('tells people, and takes ports, a profile, a state and a user', async () => {
    const [port, sandboxPort] = [await freePort(), await freePort()];
    const profile = file(
      'profile.json',
      '{ "version": 1, "readings": { "maxPageSize": 50 }, "notAsked": [] }',
    );
    const enterprise = { globalId: 'ent-own', enterpriseId: '1', name: 'Own', suffix: '@own' };
    const kim = { id: '11', globalId: 'mem-kim', userId: '12', userName: 'kim@own', name: 'Kim' };
    const employees = [{ ...kim, enterpriseGlobalId: 'ent-own' }];
    const state = file('state.json', JSON.stringify({ enterprises: [enterprise], employees }));
    const files = ['--profile', profile, '--state', state, '--user', 'kim@own'];
    const started = start('--port', `${port}`, '--sandbox-port', `${sandboxPort}`, ...files);
    const text = await printed(started, 'Ctrl-C ends both');
    expect(text).toMatch(new RegExp(`Gateway +http://127.0.0.1:${port}\n[^]*API key +lgw_`));
    expect(text).toContain('kim@own, password ');
    const told = async (path: string) =>
      (await fetch(`http://127.0.0.1:${sandboxPort}/__sandbox/${path}`)).json();
    expect(await told('profile')).toMatchObject({ maxPageSize: 50 });
    expect(await told('state')).toMatchObject({ enterprises: [{ globalId: 'ent-own' }] });
    // A terminal that is closed sends this signal.
    expect(await end(started.child, 'SIGHUP')).toEqual({ code: 0, left: [] });
    expect(await isServed(`http://127.0.0.1:${port}/health/live`)).toBe(false);
  });
});

it('a test that is killed leaves nothing running', async () => {
  writeFileSync(
    join(project, 'killed.js'),
    `import { startGateway } from '@licensing-gateway/client/testing';
     console.log((await startGateway()).url);`,
  );
  const child = spawn(process.execPath, ['killed.js'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const url = line.toString().trim();
  expect(await isServed(url)).toBe(true);
  child.kill('SIGKILL');
  await until('the gateway has ended', async () => !(await isServed(url)));
});

describe('what cannot be started', () => {
  const refused = (options: readonly string[], environment: Record<string, string> = {}) =>
    run(process.execPath, [join(inside, 'start.cjs'), ...options], {
      env: { PATH: process.env['PATH'] ?? '', TMPDIR: temporary, ...environment },
    }).then(
      () => 'It started',
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) =>
        `${code} ${stdout}${stderr}`,
    );

  it('is told in one sentence', async () => {
    const busy = createServer().listen(0, '127.0.0.1');
    await once(busy, 'listening');
    const { port } = busy.address() as { port: number };
    const lacking = file('lacking.json', '{ "assets": [{}] }');
    const unknown = file('unknown.json', '{ "readings": { "pages": 3 } }');
    const broken = file('broken.json', '{ "assets": [');
    const older =
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })";
    const rows: readonly [string, readonly string[], Record<string, string>?][] = [
      ["Unknown option '--speed': --help lists the options.", ['--speed']],
      ['--port must be a whole number from 0 to 65535, not "http".', ['--port', 'http']],
      [
        '--port is for the gateway, and --sandbox-only starts none: use --sandbox-port.',
        ['--sandbox-only', '--port', '5305'],
      ],
      ['--port needs a value that does not begin with "-".', ['--port', '-1']],
      ['--user nobody@x is no member in the seed who can log in.', ['--user', 'nobody@x']],
      [`Port ${port} is in use: choose another one by --port.`, ['--port', `${port}`]],
      [`Port ${port} is in use: choose another one by --sandbox-port.`, ['--sandbox-port', `${port}`]],
      [`--state ${lacking}: /assets/0/id is required.`, ['--state', lacking]],
      [`--state ${broken} is not JSON.`, ['--state', broken]],
      ['--state /nowhere cannot be read (ENOENT).', ['--state', '/nowhere']],
      [`--profile ${unknown}: /readings/pages is not a field; known: `, ['--profile', unknown]],
      [
        'The gateway needs three small files in /nowhere, which cannot be written to (ENOENT)',
        [],
        { TMPDIR: '/nowhere' },
      ],
      [
        '@licensing-gateway/sandbox needs Node 24.9 or newer, and this is Node 18.20.4.',
        [],
        { NODE_OPTIONS: `--require ${file('older.cjs', older)}` },
      ],
    ];
    const told = await Promise.all(rows.map(([, options, environment]) => refused(options, environment)));
    busy.close();
    for (const [at, [sentence]] of rows.entries()) {
      expect(told[at]).toMatch(/^2 .+\.\n$/);
      expect(told[at]).toContain(`2 ${sentence}`);
    }
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('says so on an older Node, which has to parse the entry file', () => {
    const code = readFileSync('sandbox-package/start.cjs', 'utf8');
    expect(code).not.toMatch(/=>|`|\?[.?]|\b(const|let|class|async|await|export)\b|^import /m);
  });
});

it.each([
  [
    'Jest',
    ['--experimental-vm-modules', resolve('node_modules/jest/bin/jest.js'), '--rootDir=.'],
    '@jest/globals',
  ],
  ['Vitest', [resolve('node_modules/vitest/vitest.mjs'), 'run'], 'vitest'],
])('the test of the README runs in %s', async (name, command, library) => {
  const readme = readFileSync(join(inside, 'README.md'), 'utf8');
  const code = [...readme.matchAll(/```js\n([^]*?)```/g)].map(([, block = '']) => block);
  const own = join(project, name);
  mkdirSync(own);
  expect(code).toHaveLength(1);
  const sample = code.join('').replace("from 'vitest'; // or '@jest/globals'", `from '${library}';`);
  expect(sample).toContain(`from '${library}';\n`);
  // The start may take longer on a slow machine than these libraries give a test or a hook.
  expect(sample).toMatch(/^const gateway = await startGateway\(\);[^]*\n\}, 30_000\);\n$/m);
  writeFileSync(join(own, 'harbour.test.js'), sample);
  if (name === 'Vitest') symlinkSync(resolve('node_modules/vitest'), join(project, 'node_modules/vitest'));
  const env = { PATH: process.env['PATH'] ?? '', TMPDIR: temporary, NO_COLOR: '1' };
  const { stdout, stderr } = await run(process.execPath, [...command, `${name}/`], { cwd: project, env });
  expect(stdout + stderr).toMatch(/Tests:? +1 passed/);
});
