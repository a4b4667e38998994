import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';

/** `npm run check:audit` with a registry of our own, and the content of the lock file. */

const folder = mkdtempSync(join(tmpdir(), 'audit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
let registry: Server | undefined;
afterEach(() => {
  registry?.close();
  registry?.closeAllConnections();
});

/** A registry that knows one advisory, knows none, or has no audit. */
async function registryWith(severity?: string, status = 200): Promise<string> {
  registry = createServer((request, response) => {
    request.resume();
    const [name, version] = ['prom-client', '15.1.3'];
    const advisory = {
      id: 1,
      url: 'https://a.invalid/1',
      title: 'a hole',
      severity,
      vulnerable_versions: '*',
    };
    const versions = { [version]: { name, version } };
    const answer = request.url?.includes('/advisories/bulk')
      ? severity && { [name]: [advisory] }
      : { name, versions, 'dist-tags': { latest: version } };
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
  }).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  return `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
}

async function audit(url: string, environment: Record<string, string>) {
  const child = spawn(process.execPath, ['scripts/audit.ts'], {
    // The cache remembers advisories by their ids.
    env: {
      PATH: process.env['PATH'],
      ...environment,
      npm_config_registry: url,
      npm_config_cache: join(folder, String(count++)),
    },
  });
  const ended = once(child, 'close') as Promise<[number]>;
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, output: out + error };
}

describe('S18 the audit of runtime dependencies', () => {
  it.each<[string, Parameters<typeof registryWith>, Record<string, string>, number, string]>([
    ['one is critical', ['critical'], {}, 1, 'critical: prom-client: a hole'],
    ['the worst advisory is low', ['low'], {}, 0, 'no vulnerability'],
    [
      'the registry fails, and the CI expects it to answer',
      [undefined, 500],
      { CI: 'true', AUDIT_NETWORK: 'expected' },
      1,
      'NOT AUDITED',
    ],
  ])('where %s, ends with a code and says why', async (_, registryIs, environment, code, why) => {
    const ended = await audit(await registryWith(...registryIs), environment);
    expect(ended).toEqual({ code, output: expect.stringContaining(why) });
  });
});

it('S18 every dependency has one exact version, and every package of the lock file its hash', () => {
  interface Locked {
    readonly integrity?: string;
    readonly link?: boolean;
  }
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, object>;
  for (const path of ['package.json', 'bench/package.json', 'sandbox-package/package.json']) {
    const { dependencies, devDependencies, optionalDependencies } = read(path);
    const all = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
    for (const [name, version] of all)
      expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.-]+)?$/)]);
  }
  const packages = Object.entries(read('package-lock.json')['packages'] as Record<string, Locked>);
  // Packages that npm downloads; the others are in this repository.
  const fetched = packages.filter(([path, { link }]) => path.includes('node_modules/') && !link);
  expect(fetched.length).toBeGreaterThan(300);
  for (const [path, { integrity }] of fetched)
    expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
});

describe('G7 the containers', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const compose = readFileSync('docker-compose.yml', 'utf8');
  /** The part of a top-level entry or a service, by its indentation. */
  const partOf = (head: string) => {
    const indent = /^ */.exec(head)?.[0].length ?? 0;
    const lines = compose.slice(compose.indexOf(`\n${head}`) + 1).split('\n');
    const end = lines.findIndex((line, index) => index > 0 && /\S/.test(line) && line.search(/\S/) <= indent);
    return lines.slice(0, end).join('\n');
  };

  it('start from images with a digest', () => {
    const defaults = [
      ...dockerfile.matchAll(/^ARG NODE_IMAGE=(\S+)/gm),
      ...compose.matchAll(/^ *image: \$\{\w+_IMAGE:-(\S+)\}/gm),
    ].map(([, name = '']) => name);
    expect(defaults).toHaveLength(3);
    // The names include the registry, which not every engine adds.
    for (const name of defaults)
      expect(name).toMatch(/^docker\.io\/library\/[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
    expect([...compose.matchAll(/^ *image: /gm)]).toHaveLength(2);
    const stages = [...dockerfile.matchAll(/^FROM (\S+) AS (\S+)$/gm)];
    const known = ['${NODE_IMAGE}', 'scratch', ...stages.map(([, , stage = '']) => stage)];
    for (const [, from = ''] of stages) expect(known).toContain(from);
  });

  it('have no package manager, nor a program that takes the rights of another user', () => {
    const removed = dockerfile.slice(dockerfile.indexOf('AS bare'), dockerfile.indexOf('AS runtime'));
    for (const each of ['bin/npm', 'bin/apt*', 'bin/dpkg*', 'chmod a-s']) expect(removed).toContain(each);
    expect(dockerfile).toContain('FROM scratch AS runtime');
  });

  it.each([
    [
      'x-hardened: &hardened',
      [
        'read_only: true',
        'cap_drop: [ALL]',
        'no-new-privileges:true',
        'pids_limit: ',
        'cpus: ',
        'mem_limit: ',
      ],
    ],
    ['  database:', ['<<: *hardened', "user: '999:999'", 'networks: [store]']],
    [
      '  redis:',
      ['<<: *hardened', "user: '999:999'", 'networks: [store]', '--protected-mode', '--dir\n      - /data'],
    ],
    ...['gateway', 'sandbox'].map((name): [string, string[]] => [
      `  ${name}:`,
      ['<<: *hardened', "user: '${SECRETS_UID:-1000}"],
    ]),
  ])('have limits, and only the rights that they need: %s', (part, lines) => {
    for (const line of lines) expect(partOf(part)).toContain(line);
  });

  it('publish only the ports that people call, and only on this machine', () => {
    const published = [...compose.matchAll(/ports: \[(.+)\]/g)].flatMap(([, ports = '']) =>
      ports.split(', '),
    );
    expect(published).toEqual([
      "'127.0.0.1:${PORT:-3000}:3000'",
      "'127.0.0.1:${MANAGEMENT_PORT:-9464}:9464'",
      "'127.0.0.1:${SANDBOX_PORT:-4000}:4000'",
    ]);
    expect(readFileSync('config/sandbox.env', 'utf8')).toMatch(/^DATABASE_INIT=manual$/m);
  });
});

it('G8 npm run compose-secrets writes files that only their owner may read, and replaces none without --force', () => {
  const run = (...options: string[]) =>
    spawnSync(process.execPath, [resolve('scripts/compose-secrets.ts'), ...options], {
      cwd: folder,
      encoding: 'utf8',
    });
  expect(run().status).toBe(0);
  const home = join(folder, '.compose');
  const files = readdirSync(home);
  const contents = () => files.map((name) => readFileSync(join(home, name), 'utf8'));
  const first = contents();
  expect(files.length).toBeGreaterThan(4);
  for (const name of files) expect(statSync(join(home, name)).mode & 0o777).toBe(0o600);
  const again = run();
  expect(again.status).toBe(1);
  expect(again.stderr).toContain('.compose/ has secrets already');
  expect(again.stderr).toContain('cannot read the orders');
  expect(contents()).toEqual(first);
  expect(run('--force').status).toBe(0);
  expect(contents()).not.toEqual(first);
});
