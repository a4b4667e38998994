import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { useVisits } from '../support/browser.ts';
import { newSecret } from '../support/canary.ts';
import { type Proxy, startPlainNginx } from '../support/proxies.ts';
import { converse } from '../support/raw-client.ts';
import { useStack } from '../support/stack.ts';

/** A gateway that a proxy shows under a path of its own (`PUBLIC_PATH`). */

const { gateway } = useStack({ environment: { PUBLIC_PATH: '/licensing' } });
const visit = useVisits();

/** What the proxy does with the path, and the proxy. */
const proxies: Record<string, Proxy> = {};
const WAYS = ['takes it off', 'leaves it'] as const;

beforeAll(async () => {
  const shown = 'location /licensing/ {';
  proxies[WAYS[0]] = await startPlainNginx(`${gateway.url}/`, shown);
  proxies[WAYS[1]] = await startPlainNginx(gateway.url, shown);
});
afterAll(() => Promise.all(Object.values(proxies).map((proxy) => proxy.stop())));

function importMember(way: string, account: string): Promise<Response> {
  return fetch(`${proxies[way]?.url}/licensing/v1/enterprises/ent-harbour/member-imports`, {
    method: 'POST',
    headers: { 'x-api-key': gateway.key, 'content-type': 'text/csv' },
    body: `account,password,name\r\n${account},${newSecret('m')},Under\r\n`,
  });
}

describe.each(WAYS)('K66 the gateway under a path that the proxy %s', (way) => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch((proxies[way]?.url ?? '') + path, { headers: { 'x-api-key': gateway.key, ...headers } });

  it('K66 has links and locations that lead through the proxy', async () => {
    const page = await get('/licensing/v1/enterprises/ent-harbour/assets?pageSize=2');
    const [next = ''] = /(?<=<)[^>]+(?=>; rel="next")/.exec(page.headers.get('link') ?? '') ?? [];
    expect(next).toBe('/licensing/v1/enterprises/ent-harbour/assets?pageSize=2&page=2');
    expect((await get(next)).status).toBe(200);

    const accepted = await importMember(way, `under${way.length}`);
    const location = accepted.headers.get('location') ?? '';
    expect([accepted.status, location]).toEqual([202, expect.stringMatching(/^\/licensing\/v1\/jobs\/\w/)]);
    expect((await get(location)).status).toBe(200);

    const problem = await get('/licensing/v1/jobs/none');
    const { type } = (await problem.json()) as { type: string };
    expect([problem.status, type]).toEqual([404, '/licensing/problems/job-not-found']);
  });

  it('K66 has a document and pages in which each link leads through the proxy', async () => {
    const document = (await (await get('/licensing/openapi.json')).json()) as { servers: object[] };
    expect(document.servers).toEqual([{ url: '/licensing' }]);
    const seen = new Set(['/licensing/docs', '/licensing/problems', '/licensing/docs/changelog']);
    // Links that a page adds are seen too, while this goes on.
    for (const path of seen) {
      const response = await get(path, { accept: 'text/html' });
      expect([path, response.status]).toEqual([path, 200]);
      if (!response.headers.get('content-type')?.startsWith('text/html')) continue;
      for (const [, link = ''] of (await response.text()).matchAll(/(?:href|src)="(\/[^"#]*)/g))
        seen.add(link);
    }
    expect([...seen].filter((path) => !path.startsWith('/licensing/'))).toEqual([]);
    expect(seen.size).toBeGreaterThan(30);
  });
});

it('K66 a refusal of bytes that are no request names its problem through the proxy', async () => {
  const tooLarge = `GET /licensing/v1/callers/me HTTP/1.1\r\nHost: gateway\r\nX-Filler: ${'x'.repeat(20_000)}\r\n\r\n`;
  for (const [bytes, code] of [
    [tooLarge, 'headers-too-large'],
    ['no request\r\n\r\n', 'validation-failed'],
  ] as const) {
    const { answers } = await converse(gateway.url, bytes);
    expect(answers).toMatchObject([{ body: { code, type: `/licensing/problems/${code}` } }]);
  }
});

it('K66 the API page calls through the proxy', async () => {
  const { url = '' } = proxies[WAYS[0]] ?? {};
  await visit.open(`${url}/licensing/`);
  const { page } = visit;
  expect(new URL(page.url()).pathname).toBe('/licensing/docs');
  const live = page.locator('.opblock[id$="-live"]');
  await live.locator('.opblock-summary-control').click();
  await live.getByRole('button', { name: 'Execute' }).click();
  const table = live.locator('.live-responses-table');
  await table.waitFor();
  expect(await table.locator('.response-col_status').last().innerText()).toBe('200');
  // The samples and the request itself.
  expect(await live.innerText()).toContain(`${url}/licensing/health/live`);
  const caller = page.locator('.opblock[id$="-getCaller"]');
  await caller.locator('.opblock-summary-control').click();
  await caller.getByRole('button', { name: 'Execute' }).click();
  const explanation = caller.getByRole('link', { name: 'What unauthenticated means' });
  expect(await explanation.getAttribute('href')).toBe('/licensing/problems/unauthenticated');
});

it('K66 the API page takes a value from another operation, and shows the problems of an operation, through the proxy', async () => {
  const [way] = WAYS;
  expect((await importMember(way, 'supplied')).status).toBe(202);
  const { url = '' } = proxies[way] ?? {};
  await visit.open(`${url}/licensing/docs`);
  const { page } = visit;
  const called: string[] = [];
  page.on('request', (request) => called.push(new URL(request.url()).pathname));
  await page.locator('#authorize').click();
  await page.locator('#credential').fill(gateway.key);
  await page.locator('#form').getByRole('button', { name: 'Authorize' }).click();
  await page.getByText('Authorized: ').waitFor();
  const job = page.locator('.opblock[id$="-getJob"]');
  await job.locator('.opblock-summary-control').click();
  const problem = job.getByRole('link', { name: 'job-not-found' });
  expect(await problem.getAttribute('href')).toBe('/licensing/problems/job-not-found');
  await job.getByRole('button', { name: 'Execute' }).click();
  const table = job.locator('.live-responses-table');
  await table.waitFor();
  expect(await table.locator('.response-col_status').last().innerText()).toBe('200');
  expect(called).toContain('/licensing/v1/jobs');
  expect(called.filter((path) => !path.startsWith('/licensing/'))).toEqual([]);
});
