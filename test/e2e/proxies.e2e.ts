import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'undici';
import { newSecret } from '../support/canary.ts';
import { makeCertificates } from '../support/certificates.ts';
import { routes } from '../support/contract.ts';
import { endings } from '../support/endings.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { orderOf } from '../support/order-body.ts';
import {
  type Proxy,
  startApache,
  startHaproxy,
  startPlainNginx,
  startShippedNginx,
} from '../support/proxies.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** Answers that have to flow, through the proxies that stand in front of a gateway. */

const STREAMED = ['text/event-stream', 'application/x-ndjson', 'text/csv'];
const FIRST_CURSOR = '000000000000000';

/** Every operation and type of the document that streams. */
const streams = routes.flatMap(({ method, template, operation: { operationId, responses } }) =>
  Object.keys(responses['200']?.content ?? {})
    .filter((type) => STREAMED.includes(type))
    .map((type) => ({ name: `${operationId} as ${type}`, operationId, method, template, type })),
);

const { sandbox, gateway } = useStack({ environment: { ESTATE_REFRESH: '6h' } });
const { ended } = endings();
const PROXIES = ['nginx with the shipped file', 'nginx with its defaults', 'HAProxy', 'Apache'] as const;
const proxies = new Map<string, Proxy>();
let agent: Agent;
/** This proxy cuts the link between each tested proxy and the gateway. */
let link: FaultProxy;
let jobId = '';

beforeAll(async () => {
  link = await FaultProxy.start(Number(new URL(gateway.url).port));
  const { ca, good } = await makeCertificates();
  agent = new Agent({ connect: { ca } });
  proxies.set(PROXIES[0], await startShippedNginx(link.url, good));
  proxies.set(PROXIES[1], await startPlainNginx(link.url));
  proxies.set(PROXIES[2], await startHaproxy(link.url));
  proxies.set(PROXIES[3], await startApache(link.url));
  const body = `account,password,name\r\nflow1,${newSecret('m')},One\r\nflow2,${newSecret('m')},Two\r\n`;
  const answer = await gateway.request('POST', '/v1/enterprises/ent-harbour/member-imports', {
    body,
    headers: { 'content-type': 'text/csv' },
  });
  jobId = String(answer.body['jobId']);
  await until('the import has ended', async () => {
    return (await gateway.get(`/v1/jobs/${jobId}`)).body['state'] === 'succeeded';
  });
  await until('the estate has been read', async () => {
    const summary = await gateway.get('/v1/estate/summary');
    const enterprises = summary.body['enterprises'] as readonly { readonly state: string }[];
    return enterprises.length > 0 && enterprises.every(({ state }) => state !== 'unread');
  });
});
afterAll(async () => {
  await Promise.all([...proxies.values()].map((proxy) => proxy.stop()));
  await agent.close();
  await link.close();
});

/** What fills the template of a path, and what is asked for: a new operation needs a value only for a new parameter. */
function pathOf(template: string): string {
  const values: Record<string, string> = { jobId, enterpriseGlobalId: 'ent-harbour' };
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? `no ${name} here`);
  // The feed begins with the end of the import.
  return template === '/v1/events/stream' ? `${path}?after=${FIRST_CURSOR}` : path;
}

/** Asks for a stream; the text of it so far is `text`. */
async function open(at: string, { method, template, type }: (typeof streams)[number]) {
  const { statusCode, headers, body } = await request(at + pathOf(template), {
    method: method as 'GET',
    headers: { 'x-api-key': gateway.key, accept: type },
    dispatcher: agent,
  });
  expect([statusCode, String(headers['content-type']).split(';')[0]]).toEqual([200, type]);
  const seen = { headers, text: '', isOver: false };
  body.on('error', () => undefined);
  body.on('data', (chunk: Buffer) => (seen.text += chunk.toString()));
  body.once('close', () => (seen.isOver = true));
  return { seen, close: () => void body.destroy() };
}

/** The whole of a stream; the feed of events has no end, so of it everything up to the end of the import. */
async function whole({ seen, close }: Awaited<ReturnType<typeof open>>): Promise<string> {
  await until('the stream has all', () => seen.isOver || /job\.succeeded.*\n\n$/s.test(seen.text));
  close();
  return seen.text;
}

it('the document has streams of each kind', () => {
  expect([...new Set(streams.map(({ type }) => type))].sort()).toEqual(STREAMED.toSorted());
});

describe.each(streams)('K62 $name', (stream) => {
  it.each(PROXIES)('K62 flows through %s, and no byte of it is changed', async (name) => {
    const direct = await whole(await open(gateway.url, stream));
    await link.add({ toxic: 'hold_rest' });
    const proxied = await open((proxies.get(name) as Proxy).url, stream);
    await until('the first line has come', () => proxied.seen.text.includes('\n'));
    // The gateway's answer is at the link, which holds the rest of it.
    expect([proxied.seen.isOver, proxied.seen.text.length < direct.length]).toEqual([false, true]);
    await link.clear();
    expect(await whole(proxied)).toBe(direct);
  });

  it('K62 begins at once, and says that no one in between may hold, keep or change it', async () => {
    const { seen, close } = await open(gateway.url, stream);
    await until('the first line has come', () => seen.text.includes('\n'));
    close();
    if (stream.type === 'text/event-stream') expect(seen.text.slice(0, 8)).toBe(': open\n\n');
    expect(seen.headers).toMatchObject({
      'x-accel-buffering': 'no',
      'cache-control': 'no-store, no-transform',
    });
  });
});

it.each([
  ['ends without its end', 'nginx with the shipped file', false],
  ['ends as if it were whole, because nginx asks by HTTP/1.0', 'nginx with its defaults', true],
  ['ends without its end', 'HAProxy', false],
  ['ends without its end', 'Apache', false],
])('K62 an export that breaks off says so in its last line, and %s: %s', async (_, name, isWhole) => {
  await sandbox.fault({ operation: 'listMembers', action: { odd: { pointer: '/data/list/2/globalId' } } });
  const { body } = await request(
    `${(proxies.get(name) as Proxy).url}/v1/enterprises/ent-harbour/members/export`,
    {
      headers: { 'x-api-key': gateway.key },
      dispatcher: agent,
    },
  );
  let text = '';
  const read = async () => {
    for await (const chunk of body) text += String(chunk);
  };
  expect(
    await read().then(
      () => true,
      () => false,
    ),
  ).toBe(isWhole);
  expect(text.trim().split('\r\n').at(-1)).toMatch(/^#incomplete,upstream-contract-violation,/);
});

it('K64 the tag of a response that Apache has compressed is worth a 304, and guards a write', async () => {
  const at = `${(proxies.get('Apache') as Proxy).url}/v1/enterprises/ent-harbour`;
  const list = `${at}/asset-nums?memberGlobalId=mem-harbour-anna`;
  const headers = { 'x-api-key': gateway.key, 'accept-encoding': 'gzip' };
  const first = await request(list, { headers });
  await first.body.dump();
  const etag = String(first.headers.etag);
  expect([first.headers['content-encoding'], etag]).toEqual(['gzip', expect.stringMatching(/-gzip"$/)]);
  const again = await request(list, { headers: { ...headers, 'if-none-match': etag } });
  await again.body.dump();
  expect(again.statusCode).toBe(304);
  const write = await request(`${at}/members/mem-harbour-anna/asset-nums`, {
    method: 'PUT',
    headers: { 'x-api-key': gateway.key, 'content-type': 'application/json', 'if-match': etag },
    body: JSON.stringify({ assetNums: ['8000001002'] }),
  });
  expect([write.statusCode, await write.body.json()]).toEqual([
    200,
    { assigned: [], withdrawn: [], kept: ['8000001002'] },
  ]);
});

describe('K65 an order number with a slash', () => {
  const number = 'SO/7';
  const path = `/v1/license-orders/crm/${encodeURIComponent(number)}`;
  const query = `/v1/license-orders?channelCode=crm&channelOrderId=${encodeURIComponent(number)}`;
  const get = async (at: string) => {
    const headers = { 'x-api-key': gateway.key };
    const { statusCode, body } = await request(at, { headers, dispatcher: agent });
    return { status: statusCode, body: (await body.json()) as Record<string, unknown> };
  };
  beforeAll(async () => {
    expect((await gateway.post('/v1/license-orders', orderOf(number))).status).toBe(201);
  });

  it('K65 is a part of the path behind the shipped file, and behind Apache that is told so', async () => {
    const { url } = proxies.get(PROXIES[0]) as Proxy;
    expect(await get(url + path)).toMatchObject({ status: 200, body: { channelOrderId: number } });
    const apache = ended(await startApache(gateway.url, { slashes: true }));
    expect(await get(apache.url + path)).toMatchObject({ status: 200, body: { channelOrderId: number } });
  });

  it.each([
    ['decodes the slash', () => startPlainNginx(`${gateway.url}/`)],
    ['refuses the slash', () => startApache(gateway.url)],
  ])('K65 is found by a query behind a proxy that %s', async (_, startProxy) => {
    const { url } = ended(await startProxy());
    const refused = await request(url + path, { headers: { 'x-api-key': gateway.key } });
    expect(refused.statusCode).toBe(404);
    await refused.body.dump();
    const { body: record } = await get(gateway.url + path);
    expect(await get(url + query)).toEqual({
      status: 200,
      body: { items: [record], page: 1, pageSize: 100, total: 1, totalPages: 1 },
    });
  });

  it.each([
    ['state=succeeded&submittedAfter=2026-01-01', 1],
    ['state=rejected', 0],
    ['enterpriseGlobalId=ent-meridian', 0],
    ['submittedBefore=2026-01-01', 0],
    ['submittedAfter=2999-01-01', 0],
  ])('K65 counts beside other conditions: %s', async (also, total) => {
    const { body } = await gateway.get(`${query}&${also}`);
    expect([body['total'], (body['items'] as object[]).length]).toEqual([total, total]);
  });

  it('K65 needs the channel', async () => {
    const { status, body } = await gateway.get('/v1/license-orders?channelOrderId=SO-7');
    const errors = [{ parameter: 'channelCode', detail: 'must be given with channelOrderId' }];
    expect([status, body['errors']]).toEqual([400, errors]);
  });
});
