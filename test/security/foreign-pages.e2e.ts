import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { useStack } from '../support/stack.ts';

/** What a page of another site can send from the browser of a person who reaches the management listener or the sandbox. */

const { sandbox, gateway } = useStack();

/** `fetch` would set these headers itself, and change such a path as `/../`. */
async function statusOf(
  base: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<number | undefined> {
  const asked = httpRequest(base, { path, method, headers, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  await once(response.resume(), 'end');
  return response.statusCode;
}

const FOREIGN: readonly Record<string, string>[] = [
  { host: 'evil.example' },
  { host: 'localhost.evil.example' },
  { host: 'metrics.licensing.svc.evil.example' },
  { origin: 'http://evil.example' },
  { origin: 'null' },
  { origin: 'http://127.0.0.1:1' },
  { 'sec-fetch-site': 'cross-site' },
  // A page of the public listener, which has another port.
  { 'sec-fetch-site': 'same-site' },
];
/** A name of one label, or of a cluster: the internet has none. */
const OF_CLUSTER = ['gateway:9464', 'gateway.licensing.svc:9464', '10-0-0-7.licensing.pod.cluster.local'];
const OWN = ['localhost', 'localhost:1', '127.0.0.1:9464', '[::1]:9464', '[fd00::7]'];

const LINK = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };

describe('S23 on the management listener', () => {
  const SETTLEMENT = '/console/api/v1/license-orders/crm/SO-1/settlement';
  const PAGES = ['/metrics', '/', '/console', '/console/console.js', '/console/runbook', '/nothing'];
  const CALLS = [
    ...[...PAGES, '/console/state', '/console/orders'].map((path) => ['GET', path] as const),
    ['POST', SETTLEMENT] as const,
  ];
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method?: string) =>
    statusOf(gateway.managementUrl, path, headers, method);

  it.each(FOREIGN)('S21 %p is 403 everywhere, also for a settlement (DNS rebinding)', async (headers) => {
    const all = CALLS.map(async ([method, path]) => [method, path, await ask(path, headers, method)]);
    expect(await Promise.all(all)).toEqual(CALLS.map((call) => [...call, 403]));
  });

  it.each(OF_CLUSTER)(
    'Prometheus reads /metrics as %s, and no browser reads the console so',
    async (host) => {
      expect(await ask('/metrics', { host })).toBe(200);
      expect(await ask('/console', { host })).toBe(403);
      expect(await ask('/metrics', { host, origin: 'http://evil.example' })).toBe(403);
    },
  );

  it('a link of a dashboard leads to it, and it is called by its own names and that of its machine', async () => {
    for (const path of ['/metrics', '/console', '/console/runbook'])
      expect([path, await ask(path, LINK)]).toEqual([path, 200]);
    expect(await ask('/console/state', LINK)).toBe(403);
    expect(await ask('/metrics', { host: `${hostname()}:9464` })).toBe(200);
    for (const host of OWN) expect([host, await ask('/console/state', { host })]).toEqual([host, 200]);
  });

  it('S21 the console changes nothing without a credential, passes on its own operations only, and runs no foreign script', async () => {
    expect(await ask(SETTLEMENT, {}, 'POST')).toBe(401);
    expect(await ask('/console/state', {}, 'POST')).toBe(405);
    for (const path of [
      '/api/v1/license-orders',
      '/api/v1/callers',
      '/api//v1/callers/me',
      '/../metrics',
      '/nothing',
    ])
      expect([path, await ask(`/console${path}`, { 'x-api-key': gateway.key })]).toEqual([path, 404]);
    expect(await statusOf(gateway.url, '/console', {})).not.toBe(200);
    const { headers } = await fetch(`${gateway.managementUrl}/console`);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

describe('S23 on the control side of the sandbox', () => {
  const CALLS = [
    ['GET', ''],
    ['GET', '/state'],
    ['GET', '/health'],
    ['POST', '/faults'],
    ['PUT', '/clock'],
    ['POST', '/reset'],
    ['PUT', '/users'],
  ] as const;
  const ask = (path: string, headers: Readonly<Record<string, string>>, method?: string) =>
    statusOf(sandbox.url, path, headers, method);

  it.each(FOREIGN)('%p is 403, and nothing is changed', async (headers) => {
    const all = CALLS.map(async ([method, path]) => [
      method,
      path,
      await ask(`/__sandbox${path}`, headers, method),
    ]);
    expect(await Promise.all(all)).toEqual(CALLS.map((call) => [...call, 403]));
  });

  it('a link leads to its page, it is called by its own names, and the platform by any', async () => {
    expect(await ask('/__sandbox', { ...LINK, accept: 'text/html' })).toBe(200);
    expect(await ask('/__sandbox/reset', LINK, 'POST')).toBe(403);
    for (const host of [...OWN, ...OF_CLUSTER])
      expect([host, await ask('/__sandbox/state', { host })]).toEqual([host, 200]);
    expect(await ask('/oauth/token', { host: 'platform.example' }, 'POST')).not.toBe(403);
  });
});
