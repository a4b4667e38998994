import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, describe, expect, it, jest } from '@jest/globals';

/** `npm run check:audit` with a registry of our own, and what the lock file holds. */

jest.setTimeout(180_000);

const folder = mkdtempSync(join(tmpdir(), 'audit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;
let registry: Server | undefined;
afterEach(() => {
  registry?.close();
  registry?.closeAllConnections();
});

/** A registry that knows of one advisory, or of none, or that does not answer the question. */
async function registryWith(severity: 'critical' | 'low' | undefined, status = 200): Promise<string> {
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

async function audit(url: string): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ['scripts/audit.ts'], {
    // Its cache remembers advisories by their ids.
    env: {
      PATH: process.env['PATH'],
      npm_config_registry: url,
      npm_config_cache: join(folder, String(count++)),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, error, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ]);
  return { code, output: out + error };
}

describe('S18 the audit of runtime dependencies', () => {
  it('fails where one is critical, and names it', async () => {
    const { code, output } = await audit(await registryWith('critical'));
    expect(output).toContain('critical: prom-client: a hole');
    expect(code).toBe(1);
  });

  it.each(['low', undefined] as const)('passes where the gravest is %s', async (severity) => {
    const { code, output } = await audit(await registryWith(severity));
    expect(output).toContain('no vulnerability');
    expect(code).toBe(0);
  });

  it.each([405, 404, 500])('passes and says so where the registry answers %i', async (status) => {
    const { code, output } = await audit(await registryWith(undefined, status));
    expect(output).toContain('NOT AUDITED');
    expect(code).toBe(0);
  });
});

it('S18 every dependency has one exact version, and every package of the lock file its hash', () => {
  interface Locked {
    readonly integrity?: string;
    readonly link?: boolean;
  }
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, object>;
  for (const path of ['package.json', 'bench/package.json']) {
    const { dependencies, devDependencies, optionalDependencies } = read(path);
    for (const [name, version] of Object.entries({
      ...dependencies,
      ...devDependencies,
      ...optionalDependencies,
    }))
      expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.]+)?$/)]);
  }
  const packages = Object.entries(read('package-lock.json')['packages'] as Record<string, Locked>);
  // What is fetched; the rest is in this repository.
  const fetched = packages.filter(([path, { link }]) => path.includes('node_modules/') && !link);
  expect(fetched.length).toBeGreaterThan(300);
  for (const [path, { integrity }] of fetched)
    expect([path, integrity]).toEqual([path, expect.stringMatching(/^sha512-/)]);
});
