import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { newSecret } from '../../test/support/canary.ts';
import { endings } from '../../test/support/endings.ts';
import { FaultProxy } from '../../test/support/fault-proxy.ts';
import { orderOf } from '../../test/support/order-body.ts';
import { freePort, until } from '../../test/support/redis.ts';
import { useStack } from '../../test/support/stack.ts';
import { type Event, Licensing } from '../src/licensing.ts';
import { verifyWebhook } from '../src/webhooks.ts';
import { ScriptedGateway } from './support/scripted-gateway.ts';

/** Events by the client and the command, in front of the shipped gateway. */

const { sandbox, gateway } = useStack();
const { atEnd } = endings();

let numbers = 0;
/** Places an order; resolves to the subject of its event. */
async function place(): Promise<string> {
  const number = `watched-${++numbers}`;
  expect((await gateway.post('/v1/license-orders', orderOf(number))).status).toBe(201);
  return `crm/${number}`;
}

const newest = async (licensing: Licensing) => (await licensing.events.list({ limit: 1_000 })).next;

it('each event comes once, from where one says, though the connection is lost again and again', async () => {
  const proxy = await FaultProxy.start(Number(new URL(gateway.url).port));
  atEnd(() => proxy.close());
  const licensing = new Licensing({ baseUrl: proxy.url, apiKey: gateway.key });
  const after = await newest(licensing);
  const placed = [await place()];
  const seen: Event[] = [];
  const end = new AbortController();
  const reading = (async () => {
    for await (const event of licensing.events.each({ after }, { signal: end.signal })) seen.push(event);
  })();
  for (let round = 0; round < 4; round++) {
    await until('all events so far have come', async () => seen.length === placed.length);
    await proxy.drop();
    placed.push(await place());
  }
  await until('all events have come', async () => seen.length === placed.length);
  end.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
  expect(seen.map(({ subject }) => subject)).toEqual(placed);
  expect(seen.map(({ id }) => id)).toEqual(seen.map(({ id }) => id).toSorted());
});

it('without a cursor the events are those from now on, of the types that one wants', async () => {
  const licensing = new Licensing({ baseUrl: gateway.url, apiKey: gateway.key });
  await place();
  const events = licensing.events.each({ types: ['license-order.succeeded', 'job.failed'] });
  let value: Event | undefined;
  const first = events.next().then((result) => (value = result.value ?? undefined));
  // The stream begins a little after it was asked for.
  const later: string[] = [];
  await until('an event has come', async () => {
    later.push(await place());
    return value !== undefined;
  });
  await first;
  await events.return();
  expect(later).toContain(value?.subject);
  expect(value).toMatchObject({ type: 'license-order.succeeded', data: { state: 'succeeded' } });
});

it('an event comes whatever lines the reason of a settlement has', async () => {
  const reason = 'seen in\u2028the list\u2029of the\nplatform';
  const action = { reset: 'before-headers' };
  await sandbox.fault({ operation: 'batchOrder', times: 1, action });
  const licensing = new Licensing({ baseUrl: gateway.url, apiKey: gateway.key });
  const after = await newest(licensing);
  const order = orderOf('watched-reason') as never;
  await expect(licensing.orders.place(order)).rejects.toThrow('outcome-unknown');
  const key = { channelCode: 'crm', channelOrderId: 'watched-reason' };
  await licensing.orders.settle({ ...key, as: 'succeeded', reason });
  await licensing.orders.place(orderOf('watched-next') as never);
  const events = licensing.events.each({ after, types: ['license-order.succeeded'] });
  expect((await events.next()).value).toMatchObject({ subject: 'crm/watched-reason', data: { reason } });
  await events.return();
  const response = await fetch(`${gateway.url}/v1/events/stream`, {
    headers: { 'x-api-key': gateway.key, 'last-event-id': after },
  });
  // Many readers take these characters for the end of a line.
  let seen = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    seen += chunk;
    if (/succeeded\ndata: [^\n]+\n\n/.test(seen)) break;
  }
  expect(seen).toContain(String.raw`seen in\u2028the list\u2029of the\nplatform`);
});

it('licensing events tail prints them as they come', async () => {
  const licensing = new Licensing({ baseUrl: gateway.url, apiKey: gateway.key });
  const after = await newest(licensing);
  for (const json of [true, false]) {
    const options = ['events', 'tail', '--after', after, ...(json ? ['--json'] : [])];
    const child = spawn(process.execPath, [resolve('client/dist/cli/main.js'), ...options], {
      env: { LICENSING_URL: gateway.url, LICENSING_API_KEY: gateway.key },
    });
    const subject = await place();
    const lines = createInterface(child.stdout);
    for await (const line of lines) {
      if (!line.includes(subject)) continue;
      if (json) expect(JSON.parse(line)).toMatchObject({ subject, type: 'license-order.succeeded' });
      else expect(line).toMatch(new RegExp(`^20\\S+Z  license-order\\.succeeded  ${subject}$`));
      break;
    }
    child.kill('SIGINT');
    await once(child, 'close');
  }
});

/** A command whose gateway comes when it has said that there is none. */
async function begunInAnOutage(...command: readonly string[]) {
  const port = await freePort();
  const child = spawn(process.execPath, [resolve('client/dist/cli/main.js'), ...command], {
    env: { LICENSING_URL: `http://127.0.0.1:${port}`, LICENSING_API_KEY: 'k' },
  });
  let told = '';
  child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
  await until('it says that it tries again', () => told.includes('trying again'));
  const away = await ScriptedGateway.start(port);
  atEnd(() => away.close());
  return { child, port, away, told: () => told };
}

it('licensing events tail says once that there is no connection, and when it listens', async () => {
  const { child, port, away, told } = await begunInAnOutage('events', 'tail');
  const headers = { 'content-type': 'text/event-stream' };
  const stream = { status: 200, text: 'id: a-cursor\n\n', headers };
  away.play('cut', stream, stream);
  await until('the second outage is told', () => told().split('trying again').length === 3);
  // The first one was repeated with another reason, and the second stream came after the end of the first.
  expect(told().split('\n')).toEqual([
    `No connection to the gateway at 127.0.0.1:${port}: ECONNREFUSED: trying again`,
    'Listening for events; Ctrl-C ends it',
    expect.stringMatching(/^The connection to \S+ was lost before the answer.*: trying again$/),
    '',
  ]);
  expect(away.requests.at(-1)?.headers['last-event-id']).toBe('a-cursor');
  child.kill('SIGINT');
  await once(child, 'close');
});

it('licensing jobs watch says once that there is no connection, and when it is there again', async () => {
  const { child, port, away, told } = await begunInAnOutage('jobs', 'watch', 'job-1');
  const data = JSON.stringify({ jobId: 'job-1', state: 'succeeded', total: 1, done: 1, failed: 0 });
  away.play(
    { status: 200, text: `data: ${data}\n\n`, headers: { 'content-type': 'text/event-stream' } },
    { status: 200, text: '', headers: { 'content-type': 'application/x-ndjson' } },
    { status: 200, text: '', headers: { 'content-type': 'application/x-ndjson' } },
  );
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(told().split('\n')).toEqual([
    `No connection to the gateway at 127.0.0.1:${port}: ECONNREFUSED: trying again`,
    'Connected again',
    '',
  ]);
});

it.each([
  ['a new secret', false],
  ['the secret of the environment', true],
])(
  'licensing webhooks listen sends events to a receiver on this machine, signed with %s',
  async (_, isGiven) => {
    const received: { body: string; headers: IncomingHttpHeaders }[] = [];
    const receiver = createServer((request, response) => {
      void text(request).then((body) => {
        received.push({ body, headers: request.headers });
        response.writeHead(204).end();
      });
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => receiver.close());
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    const given = `whsec_${newSecret('c', 32)}`;
    const words = ['webhooks', 'listen', '--forward-to', url, ...(isGiven ? ['--json'] : [])];
    const command = [resolve('client/dist/cli/main.js'), ...words];
    const child = spawn(process.execPath, command, {
      env: {
        LICENSING_URL: gateway.url,
        LICENSING_API_KEY: gateway.key,
        ...(isGiven && { LICENSING_WEBHOOK_SECRET: given }),
      },
    });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const subjects: string[] = [];
    await until('an event is forwarded', async () => {
      subjects.push(await place());
      return received.length > 0;
    });
    const secret = isGiven ? given : (/whsec_\S+/.exec(printed)?.[0] ?? '');
    if (isGiven) expect(printed).not.toContain('whsec_');
    const [first] = received;
    const event = await verifyWebhook(first?.body ?? '', first?.headers ?? {}, secret);
    expect(subjects).toContain(event.subject);
    await until('it is told', () =>
      printed
        .split('\n')
        .some((line) =>
          isGiven
            ? line.endsWith('"answer":"204"}') && line.includes(event.subject)
            : line.endsWith(`license-order.succeeded  ${event.subject}  204`),
        ),
    );
    child.kill('SIGINT');
    await once(child, 'close');
  },
);
