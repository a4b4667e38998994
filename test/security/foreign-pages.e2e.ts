import { request as httpRequest } from 'node:http';
import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { useStack } from '../support/stack.ts';

/** What a page of another site can send from the browser of a person who reaches the management listener or the sandbox. */

const { sandbox, gateway } = useStack();

/** `fetch` would set these headers itself. */
function statusOf(url: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    request.once('error', reject).end();
  });
}

const FOREIGN: readonly Record<string, string>[] = [
  { host: 'evil.example' },
  { host: 'evil.example:9464' },
  { host: 'localhost.evil.example' },
  { host: '127.0.0.1.evil.example' },
  { host: 'metrics.licensing.svc.evil.example' },
  { host: 'svc.example' },
  { origin: 'http://evil.example' },
  { origin: 'null' },
  { origin: 'http://127.0.0.1:1' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
];
/** A name of one label, or of a cluster: the internet has none. */
const OF_CLUSTER = [
  'gateway:9464',
  'licensing-gateway.licensing.svc:9464',
  'licensing-gateway.licensing.svc.cluster.local',
  '10-0-0-7.licensing.pod.cluster.local:9464',
];
const OWN = ['localhost', 'localhost:1', '127.0.0.1:9464', '10.1.2.3:9464', '[::1]:9464', '[fd00::7]'];

describe('S23 on the management listener', () => {
  const PATHS = ['/metrics', '/', '/console', '/console/state', '/console/console.js', '/nothing'];

  it.each(FOREIGN)('%p is 403 everywhere', async (headers) => {
    const all = PATHS.map(async (path) => [path, await statusOf(gateway.managementUrl + path, headers)]);
    expect(await Promise.all(all)).toEqual(PATHS.map((path) => [path, 403]));
  });

  it.each(OF_CLUSTER)(
    'Prometheus reads /metrics as %s, and no browser reads the console so',
    async (host) => {
      expect(await statusOf(`${gateway.managementUrl}/metrics`, { host })).toBe(200);
      expect(await statusOf(`${gateway.managementUrl}/console`, { host })).toBe(403);
      expect(
        await statusOf(`${gateway.managementUrl}/metrics`, { host, origin: 'http://evil.example' }),
      ).toBe(403);
    },
  );

  it.each(OWN)('%s is a name of it', async (host) => {
    for (const path of ['/metrics', '/console'])
      expect([path, await statusOf(gateway.managementUrl + path, { host })]).toEqual([path, 200]);
  });

  it('a link of a dashboard leads to it, and a scraper knows it by the name of its machine', async () => {
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    for (const path of ['/metrics', '/console'])
      expect([path, await statusOf(gateway.managementUrl + path, link)]).toEqual([path, 200]);
    expect(await statusOf(`${gateway.managementUrl}/console/state`, link)).toBe(403);
    expect(await statusOf(`${gateway.managementUrl}/metrics`, { host: `${hostname()}:9464` })).toBe(200);
  });
});

describe('S23 on the control side of the sandbox', () => {
  const CALLS = [
    'GET ',
    'GET /state',
    'GET /health',
    'POST /faults',
    'PUT /clock',
    'POST /reset',
    'PUT /users',
  ];

  it.each(FOREIGN)('%p is 403, and nothing is changed', async (headers) => {
    const all = CALLS.map(async (call) => {
      const [method = '', path = ''] = call.split(' ');
      return [call, await statusOf(`${sandbox.url}/__sandbox${path}`, headers, method)];
    });
    expect(await Promise.all(all)).toEqual(CALLS.map((call) => [call, 403]));
  });

  it.each([...OWN, ...OF_CLUSTER])('%s is a name of it', async (host) => {
    expect(await statusOf(`${sandbox.url}/__sandbox/state`, { host })).toBe(200);
    expect(await statusOf(`${sandbox.url}/__sandbox/clock`, { host }, 'PUT')).not.toBe(403);
  });

  it('a link leads to its page', async () => {
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', accept: 'text/html' };
    expect(await statusOf(`${sandbox.url}/__sandbox`, link)).toBe(200);
    expect(await statusOf(`${sandbox.url}/__sandbox/reset`, link, 'POST')).toBe(403);
  });

  it('the platform itself is called by any name', async () => {
    expect(await statusOf(`${sandbox.url}/oauth/token`, { host: 'platform.example' }, 'POST')).not.toBe(403);
  });
});
