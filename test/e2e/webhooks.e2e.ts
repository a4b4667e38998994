import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Webhook as Verifier } from 'standardwebhooks';
import { Database } from '../../src/database/database.ts';
import { sql } from '../../src/database/sql.ts';
import type { Step } from '../../src/database/step.ts';
import { EventStore, eventWrites } from '../../src/events/log/event-store.ts';
import { WebhookStore } from '../../src/webhooks/store/webhook-store.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { makeCertificates, type TestCertificates } from '../support/certificates.ts';
import { SteppedClock } from '../support/clock-shim.ts';
import { emptyDatabase } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { Fleet } from '../support/fleet.ts';
import { TestGateway } from '../support/gateway.ts';
import { withLostReply } from '../support/lost-reply.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { askDatabase, postgresUrl, throughPort } from '../support/postgres.ts';
import { RawServer, writeEndlessly } from '../support/raw-server.ts';
import { until } from '../support/redis.ts';
import { SlowNames } from '../support/slow-names.ts';
import { useSandbox, useStack } from '../support/stack.ts';

/** Webhooks: how they are made and changed, and what their receivers get. */

const ORDERS = '/v1/license-orders';
const WEBHOOKS = '/v1/webhooks';
const JSON_BODY = { 'content-type': 'application/json' };
const ALL = { enterprises: ['*'], channels: ['*'], users: ['*'] };
const scopes = ['orders:read', 'orders:write', 'orders:settle', 'events:read', 'webhooks:write'];
const callers = [
  { name: 'other', scopes, ...ALL },
  { name: 'second', scopes, ...ALL },
  { name: 'many', scopes, ...ALL },
  { name: 'greedy', scopes, ...ALL },
  { name: 'leaving', scopes, ...ALL },
  { name: 'harbour', scopes, enterprises: ['ent-harbour'], channels: ['crm'], users: ['*'] },
  { name: 'blind', scopes: ['events:read'], ...ALL },
];
const HOSTS = '127.0.0.1,localhost,nowhere.invalid';
const HOUR_MS = 3_600_000;

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: {
    readonly id: string;
    readonly type: string;
    readonly subject: string;
    readonly data: object;
  };
}
type Said = { status: number; headers?: Record<string, string>; body?: Readable };
type Answer = (received: Received, count: number) => Said | undefined | Promise<Said>;

/** How a process starts whose clock is this far ahead. */
function clockAhead(ms: number) {
  const clock = encodeURIComponent(`const now=Date.now;Date.now=()=>now()+${ms}`);
  return { nodeOptions: `--import data:text/javascript,${clock}` };
}

let numbers = 0;
const newNumber = () => `SO-W${++numbers}`;

describe('webhooks', () => {
  const stack = useStack({
    ...{ callers, environment: { WEBHOOK_HOSTS: HOSTS }, database: 'postgres' },
  });
  const { sandbox, gateway } = stack;
  const secrets: string[] = [];
  afterEach(() => {
    const log = gateway.logLines.join('\n');
    expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
  });
  const { atEnd } = endings();

  /** A server that takes events. `answer`: what it says; it says nothing at all where that is undefined. */
  async function receiver(answer: Answer = () => ({ status: 204 })) {
    const received: Received[] = [];
    let open = 0;
    let most = 0;
    const server = createServer((request, response) => {
      most = Math.max(most, ++open);
      response.once('close', () => open--);
      void text(request).then(async (body) => {
        const one = { headers: request.headers, body, event: JSON.parse(body) as Received['event'] };
        received.push(one);
        const said = await answer(one, received.length);
        if (!said) return;
        response.writeHead(said.status, said.headers);
        if (said.body) pipeline(said.body, response, () => {});
        else response.end(said.status === 204 ? '' : 'an answer');
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    return { received, url, mostAtOnce: () => most };
  }

  const key = (caller?: string) => (caller === undefined ? {} : { key: gateway.keys[caller] as string });
  async function webhook(url: string, over: object = {}, caller?: string) {
    const made = await onceServed(() => gateway.post(WEBHOOKS, { url, types: ['*'], ...over }, key(caller)));
    expect([made.status, made.body]).toEqual([201, expect.objectContaining({ state: 'ok', enabled: true })]);
    secrets.push(String(made.body['secret']));
    return made.body as unknown as { webhookId: string; secret: string };
  }
  const shown = async (id: string, caller?: string) =>
    (await gateway.get(`${WEBHOOKS}/${id}`, key(caller))).body;
  const deliveries = async (id: string, query = '') =>
    (await gateway.get(`${WEBHOOKS}/${id}/deliveries?${query}`)).body['items'] as Record<string, unknown>[];
  async function place(enterpriseGlobalId = 'ent-harbour') {
    const number = newNumber();
    const customerId = enterpriseGlobalId === 'ent-harbour' ? 'cus-harbour-default' : 'cus-meridian-default';
    const order = orderOf(number);
    const items = order.items.map((item) => ({ ...item, customer: { customerId, enterpriseGlobalId } }));
    const { status, text: answer } = await onceServed(() => gateway.post(ORDERS, { ...order, items }));
    expect([status, status === 201 ? '' : answer]).toEqual([201, '']);
    return `crm/${number}`;
  }
  const isOf = ({ event: { subject, type } }: Received) => `${subject} ${type}`;
  const settle = (subject: string) =>
    onceServed(() => gateway.post(`${ORDERS}/${subject}/settlement`, { as: 'succeeded', reason: 'seen' }));
  const lose = () =>
    sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });

  it('sends each event once, signed, in the order of its subject, with what getOrder shows', async () => {
    const { received, url } = await receiver();
    const { webhookId, secret } = await webhook(url);
    await lose();
    const doubted = newNumber();
    await gateway.post(ORDERS, orderOf(doubted));
    expect((await settle(`crm/${doubted}`)).status).toBe(200);
    const placed = await place();
    await until('all have come', () => received.length >= 3);
    const isOfDoubted = (one: Received) => one.event.subject === `crm/${doubted}`;
    expect(received.filter(isOfDoubted).map(isOf)).toEqual([
      `crm/${doubted} license-order.in-doubt`,
      `crm/${doubted} license-order.succeeded`,
    ]);
    const [last] = received.filter((one) => one.event.subject === placed);
    expect(last?.event.data).toEqual((await gateway.get(`${ORDERS}/${placed}`)).body);
    for (const { headers, body, event } of received) {
      expect(headers['content-type']).toBe('application/cloudevents+json');
      expect(headers['webhook-id']).toBe(event.id);
      new Verifier(secret).verify(body, headers as Record<string, string>);
    }
    const feed = (await gateway.get(`/v1/events?after=${received[0]?.event.id}`)).body['items'] as {
      id: string;
    }[];
    expect(feed.every(({ id }) => received.some(({ event }) => event.id === id))).toBe(true);
    await until('they are known as delivered', async () =>
      (await deliveries(webhookId)).every(({ state }) => state === 'delivered'),
    );
    expect((await deliveries(webhookId))[0]).toMatchObject({
      subject: placed,
      attempts: 1,
      lastStatus: 204,
      lastError: null,
    });
    expect(await shown(webhookId)).toMatchObject({
      state: 'ok',
      pending: 0,
      lastDeliveredAt: expect.any(String),
    });
    expect(received).toHaveLength(3);
  });

  it('a subject waits for its event that is not taken, and others go on', async () => {
    let isIll = true;
    const ill = newNumber();
    const { received, url } = await receiver(({ event }) =>
      isIll && event.subject === `crm/${ill}`
        ? { status: 500, headers: { 'retry-after': '1' } }
        : { status: 200 },
    );
    const { webhookId } = await webhook(url);
    await lose();
    await gateway.post(ORDERS, orderOf(ill));
    await settle(`crm/${ill}`);
    await until('the first is refused', () => received.some(({ event }) => event.subject === `crm/${ill}`));
    const healthy = await place();
    await until('the other has come', () => received.some(({ event }) => event.subject === healthy));
    expect(received.map(isOf)).not.toContain(`crm/${ill} license-order.succeeded`);
    await until(
      'the two of it wait',
      async () => (await deliveries(webhookId, 'state=pending')).length === 2,
    );
    const [later, first] = (await deliveries(webhookId, 'state=pending')).map(({ nextAttemptAt }) =>
      Date.parse(String(nextAttemptAt)),
    );
    expect(later).toBeGreaterThanOrEqual(first as number);
    isIll = false;
    await until('both have come', () =>
      received.some((one) => isOf(one) === `crm/${ill} license-order.succeeded`),
    );
    const ofIll = received.filter(({ event }) => event.subject === `crm/${ill}`);
    expect(ofIll.findLast((one) => isOf(one).endsWith('in-doubt'))).toBe(ofIll.at(-2));
    await until('nothing waits', async () => (await shown(webhookId))['pending'] === 0);
    expect(
      (await deliveries(webhookId)).find(
        ({ subject, type }) => subject === `crm/${ill}` && type === 'license-order.in-doubt',
      ),
    ).toMatchObject({
      state: 'delivered',
      attempts: ofIll.length - 1,
    });
  });

  it('sends what a caller may see, of the types and enterprises of the webhook, and nothing of before', async () => {
    await place();
    const [all, some, bound] = [await receiver(), await receiver(), await receiver()];
    await webhook(all.url);
    await webhook(some.url, { types: ['license-order.in-doubt'], enterprises: ['ent-harbour'] });
    await webhook(bound.url, {}, 'harbour');
    const own = await place();
    const foreign = await place('ent-meridian');
    const last = await place();
    await until('all have come', () => all.received.length === 3 && bound.received.length === 2);
    const subjects = ({ received }: { received: readonly Received[] }) =>
      received.map(({ event }) => event.subject).toSorted();
    expect(subjects(all)).toEqual([own, foreign, last].toSorted());
    expect(subjects(bound)).toEqual([own, last].toSorted());
    expect(some.received).toEqual([]);
  });

  it('is for other events from the moment on when it is changed', async () => {
    const { received, url } = await receiver();
    const { webhookId } = await webhook(url, { types: ['job.failed'] });
    await place();
    const body = { types: ['license-order.succeeded'], description: 'orders', enterprises: ['ent-meridian'] };
    const changed = await gateway.request('PATCH', `${WEBHOOKS}/${webhookId}`, { body });
    expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ ...body, url })]);
    await place();
    const wanted = await place('ent-meridian');
    await until('it has come', () => received.length > 0);
    expect(received.map(isOf)).toEqual([`${wanted} license-order.succeeded`]);
  });

  it('is for all enterprises that are granted with ["*"], also if it was for some before', async () => {
    const [bound, changed] = [await receiver(), await receiver()];
    const all = { enterprises: ['*'] };
    const { webhookId: boundId } = await webhook(bound.url, all, 'harbour');
    const { webhookId } = await webhook(changed.url, { enterprises: ['ent-meridian'] }, 'second');
    const answer = await gateway.request('PATCH', `${WEBHOOKS}/${webhookId}`, {
      ...key('second'),
      body: all,
    });
    expect([answer.status, answer.body['enterprises']]).toEqual([200, null]);
    expect((await shown(boundId, 'harbour'))['enterprises']).toBeNull();
    const [foreign, own] = [await place('ent-meridian'), await place()];
    await until('all have come', () => changed.received.length === 2 && bound.received.length === 1);
    expect(changed.received.map(({ event }) => event.subject).toSorted()).toEqual([foreign, own].toSorted());
    expect(bound.received.map(({ event }) => event.subject)).toEqual([own]);
  });

  it('is switched off by 410, and gets what it missed when it is switched on again', async () => {
    let isGone = true;
    const { received, url } = await receiver(() => ({ status: isGone ? 410 : 200 }));
    const { webhookId } = await webhook(url);
    const first = await place();
    await until('it is off', async () => (await shown(webhookId))['state'] === 'off');
    expect(await shown(webhookId)).toMatchObject({ enabled: false, offReason: 'gone', pending: 1 });
    const second = await place();
    await until('the second waits', async () => (await shown(webhookId))['pending'] === 2);
    const again = `${WEBHOOKS}/${webhookId}/deliveries/${String((await deliveries(webhookId))[1]?.['eventId'])}`;
    expect((await gateway.post(again, undefined)).status).toBe(202);
    expect((await deliveries(webhookId)).map(({ nextAttemptAt }) => nextAttemptAt)).toEqual([null, null]);
    isGone = false;
    const on = await gateway.request('PATCH', `${WEBHOOKS}/${webhookId}`, { body: { enabled: true } });
    expect([on.status, on.body]).toEqual([200, expect.objectContaining({ state: 'ok', offReason: null })]);
    await until('both have come', () => received.length >= 3);
    expect(
      received
        .slice(1)
        .map(({ event }) => event.subject)
        .toSorted(),
    ).toEqual([first, second].toSorted());
    const ids = received.map(({ headers }) => headers['webhook-id']);
    expect(ids.slice(1)).toContain(ids[0]);
  });

  it('stays on when its URL is changed before the former receiver answers 410', async () => {
    const late = Promise.withResolvers<{ status: number }>();
    const former = await receiver(() => late.promise);
    const present = await receiver();
    const { webhookId } = await webhook(former.url);
    const subject = await place();
    await until('the former receiver is called', () => former.received.length === 1);
    const body = { url: present.url };
    expect((await gateway.request('PATCH', `${WEBHOOKS}/${webhookId}`, { body })).status).toBe(200);
    late.resolve({ status: 410 });
    await until('the present receiver has it', () => present.received.length === 1);
    expect(present.received.map(({ event }) => event.subject)).toEqual([subject]);
    expect(await shown(webhookId)).toMatchObject({ enabled: true, offReason: null });
  });

  it.each([
    ['that waits to be sent again', false],
    ['that is being sent', true],
  ])('sends an event %s at once to the new URL when its URL is changed', async (_which, isUnderWay) => {
    const late = Promise.withResolvers<Said>();
    const refusal = { status: 503, headers: { 'retry-after': '3600' } };
    const former = await receiver(() => (isUnderWay ? late.promise : refusal));
    const present = await receiver();
    const { webhookId } = await webhook(former.url, {}, 'second');
    const ofSecond = async () => shown(webhookId, 'second');
    const subject = await place();
    await until('the former receiver is called', () => former.received.length === 1);
    if (!isUnderWay) await until('it fails', async () => (await ofSecond())['state'] === 'failing');
    const body = { url: present.url };
    const changed = await gateway.request('PATCH', `${WEBHOOKS}/${webhookId}`, { ...key('second'), body });
    expect([changed.status, changed.body['state'], changed.body['failingSince']]).toEqual([200, 'ok', null]);
    late.resolve(refusal);
    await until('the present receiver has it', () => present.received.length === 1);
    expect(present.received.map(({ event }) => event.subject)).toEqual([subject]);
    await until('nothing waits', async () => (await ofSecond())['pending'] === 0);
    expect(former.received).toHaveLength(1);
  });

  it('S25 receivers that never answer cost others nothing: their other subjects come to them, and tests are four at a time', async () => {
    const [silent, tested] = [await receiver(() => undefined), await receiver(() => undefined)];
    const { received, url } = await receiver();
    const { webhookId } = await webhook(silent.url);
    const { webhookId: testedId } = await webhook(tested.url, { types: ['job.failed'] });
    await webhook(url);
    const tests = Array.from({ length: 70 }, () => gateway.request('POST', `${WEBHOOKS}/${testedId}/test`));
    await until('four tests have come', () => tested.received.length === 4);
    // An order of an earlier test may be found meanwhile, which is an event too.
    for (const many of [1, 2, 3, 4, 5, 6]) {
      const placed = await place();
      await until('it has come', () => received.some(({ event }) => event.subject === placed));
      await until('four have come', () => silent.received.length >= Math.min(many, 4));
    }
    await until('the others wait', async () => Number((await shown(webhookId))['pending']) >= 6);
    await until('it fails', async () => (await shown(webhookId))['state'] === 'failing');
    const [newest] = await deliveries(webhookId, 'state=pending');
    expect(newest).toMatchObject({ state: 'pending' });
    expect((await deliveries(webhookId)).some(({ lastError }) => lastError === 'timeout')).toBe(true);
    const answers = await Promise.all(tests);
    expect([silent.mostAtOnce(), tested.mostAtOnce()]).toEqual([4, 4]);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, body }) => [status, body['code'], body['detail']])).toEqual(
      Array.from({ length: 66 }, () => [
        ...[429, 'too-many-requests', '4 tests of this webhook have no answer yet.'],
      ]),
    );
    const timedOut = { status: null, durationMs: expect.any(Number), error: 'timeout' };
    expect(answers.filter(({ status }) => status === 200).map(({ body }) => body)).toEqual(
      Array.from({ length: 4 }, () => timedOut),
    );
  });

  it('of an answer without an end little is read', async () => {
    const part = Buffer.alloc(65_536);
    let parts = 0;
    const body = new Readable({
      read() {
        parts++;
        this.push(part);
      },
    });
    const { url } = await receiver(() => ({ status: 200, body }));
    const { webhookId } = await webhook(url);
    await place();
    await until('the answer is cut', () => body.destroyed);
    // What the buffers of two sockets take.
    expect(parts * part.length).toBeLessThan(50_000_000);
    await until('it is delivered', async () => (await deliveries(webhookId))[0]?.['state'] === 'delivered');
  });

  it('is tested at once, redelivers under the same id, and signs with both secrets for a day', async () => {
    const { received, url } = await receiver(({ event }) => ({
      status: event.type === 'webhook.test' ? 202 : 200,
    }));
    const { webhookId, secret } = await webhook(url);
    const tested = await gateway.request('POST', `${WEBHOOKS}/${webhookId}/test`);
    expect([tested.status, tested.body]).toEqual([
      200,
      { status: 202, durationMs: expect.any(Number), error: null },
    ]);
    expect(received[0]?.event).toMatchObject({ type: 'webhook.test', subject: webhookId, data: {} });
    const subject = await place();
    await until('it has come', () => received.length === 2);
    await until('it is delivered', async () => (await deliveries(webhookId))[0]?.['state'] === 'delivered');
    const rotated = await gateway.request('POST', `${WEBHOOKS}/${webhookId}/secret`);
    const next = String(rotated.body['secret']);
    expect([rotated.status, next === secret]).toEqual([200, false]);
    const id = received[1]?.event.id ?? '';
    expect((await gateway.request('POST', `${WEBHOOKS}/${webhookId}/deliveries/${id}`)).status).toBe(202);
    await until('it has come again', () => received.length === 3);
    const again = received[2] as Received;
    expect([again.headers['webhook-id'], again.event.subject]).toEqual([id, subject]);
    for (const one of [secret, next])
      new Verifier(one).verify(again.body, again.headers as Record<string, string>);
    const nowhere = await gateway.post(`${WEBHOOKS}/${webhookId}/deliveries/999999999999999`, undefined);
    expect([nowhere.status, nowhere.body['code']]).toEqual([404, 'webhook-not-found']);
    // A delivery may be kept for longer than its event.
    await askDatabase(stack.databaseUrl(), 'DELETE FROM events WHERE number = $1', Number(id));
    const gone = await gateway.post(`${WEBHOOKS}/${webhookId}/deliveries/${id}`, undefined);
    expect([gone.status, gone.body['code']]).toEqual([404, 'webhook-not-found']);
    const later = await place();
    await until('the next one has come', () => received.some(({ event }) => event.subject === later));
    const listed = (await deliveries(webhookId)).map(({ eventId, subject: of }) => [eventId, of]);
    expect(listed).toEqual(
      expect.arrayContaining([
        [expect.not.stringMatching(id), later],
        [id, null],
      ]),
    );
  });

  it('sends an event at once that was redelivered while an attempt at it was failing', async () => {
    const late = Promise.withResolvers<Said>();
    const { received, url } = await receiver((_, count) => (count === 1 ? late.promise : { status: 204 }));
    const { webhookId } = await webhook(url);
    await place();
    await until('the receiver is called', () => received.length === 1);
    const id = received[0]?.event.id ?? '';
    expect((await gateway.request('POST', `${WEBHOOKS}/${webhookId}/deliveries/${id}`)).status).toBe(202);
    late.resolve({ status: 503, headers: { 'retry-after': '3600' } });
    await until('it has come again', () => received.length === 2);
    expect(received[1]?.event.id).toBe(id);
  });

  it('signs a delivery that waits for its place with the secret of a rotation in the meantime', async () => {
    const late = Promise.withResolvers<Said>();
    const { received, url } = await receiver(({ event }) =>
      event.type === 'webhook.test' ? late.promise : { status: 204 },
    );
    const { webhookId } = await webhook(url);
    const tests = [1, 2, 3, 4].map(() => gateway.request('POST', `${WEBHOOKS}/${webhookId}/test`));
    await until('all places are taken', () => received.length === 4);
    const subject = await place();
    const waits = async () =>
      (await deliveries(webhookId, 'state=pending')).some((each) => each['subject'] === subject);
    await until('the delivery waits', waits);
    const { body: rotated } = await gateway.request('POST', `${WEBHOOKS}/${webhookId}/secret`);
    secrets.push(String(rotated['secret']));
    late.resolve({ status: 204 });
    await Promise.all(tests);
    await until('it has come', () => received.some(({ event }) => event.subject === subject));
    const { body, headers } = received.find(({ event }) => event.subject === subject) as Received;
    const verified = new Verifier(String(rotated['secret'])).verify(body, headers as Record<string, string>);
    expect(verified).toMatchObject({ subject });
  });

  it('O15 a receiver that has one of the last three secrets still accepts deliveries', async () => {
    const { received, url } = await receiver();
    const { webhookId, secret } = await webhook(url);
    const given = [secret];
    for (let rotations = 0; rotations < 4; rotations++) {
      const { status, body } = await gateway.request('POST', `${WEBHOOKS}/${webhookId}/secret`);
      expect(status).toBe(200);
      given.push(String(body['secret']));
      secrets.push(String(body['secret']));
    }
    await gateway.request('POST', `${WEBHOOKS}/${webhookId}/test`);
    const [test] = received as [Received];
    const accepts = (one: string) => {
      try {
        return Boolean(new Verifier(one).verify(test.body, test.headers as Record<string, string>));
      } catch {
        return false;
      }
    };
    expect(given.map(accepts)).toEqual([false, true, true, true, true]);
  });

  it('S25 webhooks of one caller whose receivers hang leave deliveries to other callers', async () => {
    let open = 0;
    let most = 0;
    const silent = createServer((request, response) => {
      most = Math.max(most, ++open);
      request.resume();
      response.once('close', () => open--);
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const { received, url } = await receiver();
    await webhook(url);
    const hanging = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/hook`;
    const ids: string[] = [];
    // Four deliveries to each of them would be 32.
    for (let count = 0; count < 8; count++) ids.push((await webhook(hanging, {}, 'greedy')).webhookId);
    const placed = [await place(), await place(), await place(), await place()];
    await until('all that the caller may have are under way', () => open === 24);
    await until('all of its webhooks have deliveries that wait', async () =>
      (await Promise.all(ids.map((id) => shown(id, 'greedy')))).every(({ pending }) => pending === 4),
    );
    await until('the events of the other caller have come', () =>
      placed.every((subject) => received.some(({ event }) => event.subject === subject)),
    );
    expect(most).toBe(24);
    for (const id of ids) await gateway.request('DELETE', `${WEBHOOKS}/${id}`, key('greedy'));
  });

  it.each<[string, (ids: readonly string[]) => Promise<void>]>([
    [
      'webhooks that were removed',
      async (ids) => {
        for (const id of ids)
          expect((await gateway.request('DELETE', `${WEBHOOKS}/${id}`, key('leaving'))).status).toBe(204);
      },
    ],
    [
      'a caller that was removed',
      async () => {
        const reloads = () => gateway.logLines.filter((line) => line.includes('callers-reloaded')).length;
        const before = reloads();
        gateway.callers = gateway.callers.filter(({ name }) => name !== 'leaving');
        gateway.writeCallers();
        await until('the callers are read again', () => reloads() > before);
      },
    ],
  ])('S28 what waits behind other deliveries is not sent for %s meanwhile', async (_who, remove) => {
    const hung: (() => void)[] = [];
    const { received, url } = await receiver(
      () => new Promise((resolve) => hung.push(() => resolve({ status: 204 }))),
    );
    const ids: string[] = [];
    for (let count = 0; count < 7; count++) ids.push((await webhook(url, {}, 'leaving')).webhookId);
    for (let count = 0; count < 4; count++) await place();
    await until('all that the caller may have are under way', () => hung.length >= 24);
    await until('the others wait', async () => {
      const all = await Promise.all(ids.map((id) => shown(id, 'leaving')));
      return all.every(({ pending }) => pending === 4);
    });
    await remove(ids);
    const before = received.length;
    for (const answer of hung.splice(0)) answer();
    const other = await receiver();
    await webhook(other.url, {}, 'second');
    await place();
    await until('another webhook has its event', () => other.received.length === 1);
    expect(received.length).toBe(before);
  });

  it('shows its secret once, to its owner', async () => {
    const { url } = await receiver();
    const body = { url, types: ['*'] };
    const headers = { 'idempotency-key': 'a-webhook-that-is-made-once-1' };
    const [made, repeated] = [
      await gateway.post(WEBHOOKS, body, { headers }),
      await gateway.post(WEBHOOKS, body, { headers }),
    ];
    expect(made.body['secret']).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect([repeated.status, repeated.body]).toEqual([201, { ...made.body, secret: null }]);
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    secrets.push(String(made.body['secret']));
    const kept = JSON.stringify(await askDatabase(stack.databaseUrl(), 'SELECT * FROM webhooks'));
    const isKept = ['webhookId', 'url', 'secret'].map((field) => kept.includes(String(made.body[field])));
    expect(isKept).toEqual([true, false, false]);
    const id = String(made.body['webhookId']);
    expect(Object.keys(await shown(id))).not.toContain('secret');
    for (const [method, path, sent] of [
      ['GET', '', undefined],
      ['PATCH', '', { enabled: false }],
      ['DELETE', '', undefined],
      ['POST', '/secret', undefined],
      ['POST', '/test', undefined],
      ['GET', '/deliveries', undefined],
    ] as const) {
      const answer = await gateway.request(method, `${WEBHOOKS}/${id}${path}`, {
        ...key('other'),
        body: sent,
      });
      expect([method, path, answer.status, answer.body['code']]).toEqual([
        method,
        path,
        404,
        'webhook-not-found',
      ]);
    }
    expect((await gateway.get(WEBHOOKS, key('other'))).body['items']).toEqual([]);
    expect((await gateway.get(WEBHOOKS, key('blind'))).status).toBe(403);
    expect((await gateway.request('DELETE', `${WEBHOOKS}/${id}`)).status).toBe(204);
    expect((await gateway.get(`${WEBHOOKS}/${id}`)).status).toBe(404);
  });

  it.each([
    [{ url: 'http://10.0.0.1/hook' }, '/url'],
    [{ url: 'https://169.254.169.254/' }, '/url'],
    [{ url: 'http://user:word@127.0.0.1/' }, '/url'],
    [{ url: 'http://127.0.0.1:0/' }, '/url'],
    [{ url: 'http://[::ffff:10.0.0.1]/' }, '/url'],
    [{ url: 'http://nowhere.invalid/' }, '/url'],
    [{ url: 1 }, '/url'],
    [{ types: [] }, '/types'],
    [{ types: ['license-order.gone'] }, '/types'],
    [{ types: ['*', 'job.failed'] }, '/types'],
    [{ types: ['job.failed', 'job.failed'] }, '/types'],
    [{ enterprises: [] }, '/enterprises'],
    [{ enterprises: ['*', 'ent-harbour'] }, '/enterprises'],
    [{ secret: 'mine' }, '/secret'],
  ])('refuses %j with its place', async (over, pointer) => {
    const { status, body } = await gateway.post(WEBHOOKS, {
      url: 'http://127.0.0.1:1/',
      types: ['*'],
      ...over,
    });
    expect([status, body['errors']]).toEqual([400, [expect.objectContaining({ pointer })]]);
  });

  it('has at most twenty of a caller, also when they are made at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 25 }, () =>
        gateway.post(WEBHOOKS, { url: 'http://127.0.0.1:1/', types: ['job.failed'] }, key('many')),
      ),
    );
    expect(made.filter(({ status }) => status === 201)).toHaveLength(20);
    const refused = made.filter(({ status }) => status !== 201);
    expect(refused.map(({ status, body }) => [status, body['code']])).toEqual(
      Array.from({ length: 5 }, () => [409, 'too-many-webhooks']),
    );
    const { body } = await gateway.get(`${WEBHOOKS}?page=2&pageSize=15`, key('many'));
    expect([body['total'], (body['items'] as object[]).length]).toEqual([20, 5]);
  });

  type Entry = (typeof gateway.callers)[number];
  it.each<[string, (entry: Entry) => Entry[], number]>([
    ['S28 a caller that has lost its scopes', (entry) => [{ ...entry, scopes: [] }], 403],
    ['S29 a caller that has lost its channel', (entry) => [{ ...entry, channels: ['web'] }], 404],
    ['S29 a caller that was removed', () => [], 401],
  ])('%s gets nothing, and when it comes back nothing of the time between', async (_who, without, again) => {
    const { received, url } = await receiver();
    const { webhookId } = await webhook(url, {}, 'harbour');
    const entry = gateway.callers.find(({ name }) => name === 'harbour');
    if (!entry) throw new Error('no caller');
    const others = gateway.callers.filter((each) => each !== entry);
    const reloads = () => gateway.logLines.filter((line) => line.includes('callers-reloaded')).length;
    const write = async (entries: Entry[]) => {
      const before = reloads();
      gateway.callers = [...others, ...entries];
      gateway.writeCallers();
      await until('the callers are read again', () => reloads() > before);
    };
    const other = await receiver();
    await webhook(other.url);
    /** An order of which the other webhook has had the event, and then another one's. */
    const passed = async () => {
      const subjects = [await place(), await place()];
      await until('another has them', () => {
        const seen = new Set(other.received.map(({ event }) => event.subject));
        return subjects.every((subject) => seen.has(subject));
      });
      return subjects;
    };
    await place();
    await until('the event has come', () => received.length === 1);
    const [had] = received.splice(0);
    await write(without(entry));
    // What it has had before is sent again only if it may be seen now.
    const path = `${WEBHOOKS}/${webhookId}/deliveries/${had?.event.id}`;
    expect((await gateway.post(path, undefined, key('harbour'))).status).toBe(again);
    await passed();
    expect(received).toEqual([]);
    await write([entry]);
    const after = await place();
    await until('what happens now comes', () => received.some(({ event }) => event.subject === after));
    await until('nothing waits', async () => (await shown(webhookId, 'harbour'))['pending'] === 0);
    expect(received.map(({ event }) => event.subject)).toEqual([after]);
  });
});

describe('several gateways on one database', () => {
  const sandbox = useSandbox();
  const { ended, atEnd } = endings();
  const on = { WEBHOOK_HOSTS: '127.0.0.1' };

  /** A server that takes events, or keeps them waiting. */
  async function receiver({ isIll = false } = {}) {
    const place = { asked: [] as string[], taken: [] as string[], isIll, url: '' };
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        const { id } = JSON.parse(body) as { id: string };
        place.asked.push(id);
        if (place.isIll) return;
        place.taken.push(id);
        response.writeHead(204).end();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    place.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    return place;
  }
  async function webhook(fleet: Fleet, url: string): Promise<string> {
    const { status, body } = await fleet.post(0, WEBHOOKS, { url, types: ['*'] });
    expect(status).toBe(201);
    return String(body['webhookId']);
  }
  const place = async (fleet: Fleet, gateway: number) =>
    expect((await onceServed(() => fleet.post(gateway, ORDERS, orderOf(newNumber())))).status).toBe(201);
  const events = async (fleet: Fleet, gateway = 0) =>
    ((await fleet.get(gateway, '/v1/events?limit=1000')).body['items'] as { id: string }[]).map(
      ({ id }) => id,
    );

  it('is changed more than once before it has had an event: the event counts for what was wanted then', async () => {
    const fleet = ended(await Fleet.start(sandbox, 1, { environment: on }));
    const hook = await receiver({ isIll: false });
    const path = `${WEBHOOKS}/${await webhook(fleet, hook.url)}`;
    const [first] = fleet.gateways;
    await first?.stop();
    await fleet.launch({ ...on, WEBHOOK_HOSTS: '' }, undefined, 0);
    await place(fleet, 0);
    const change = async (types: readonly string[]) =>
      expect((await fleet.request('PATCH', 0, path, { types })).status).toBe(200);
    await change(['job.failed']);
    await place(fleet, 0);
    await change(['license-order.succeeded']);
    await place(fleet, 0);
    const [one, , three] = await events(fleet);
    await fleet.launch(on);
    await until('both have come', () => hook.taken.length >= 2);
    expect(hook.taken.toSorted()).toEqual([one, three]);
  });

  it('D35 the one that delivers is killed: another one takes over, and delivers all that nobody had taken', async () => {
    const fleet = ended(await Fleet.start(sandbox, 1, { environment: on }));
    const hook = await receiver({ isIll: true });
    const webhookId = await webhook(fleet, hook.url);
    for (let number = 0; number < 6; number++) await place(fleet, 0);
    await until('four are under way', () => hook.asked.length >= 4);
    await fleet.launch(on);
    const pending = async () => (await fleet.get(1, `${WEBHOOKS}/${webhookId}`)).body['pending'];
    await place(fleet, 1);
    await until('the first has seen the order of the second', async () => (await pending()) === 7);
    const [first] = fleet.gateways;
    first?.child.kill('SIGKILL');
    await first?.ended;
    hook.isIll = false;
    await until('all are delivered', async () => (await pending()) === 0);
    expect(hook.taken.toSorted()).toEqual(await events(fleet, 1));
  });

  it('P15 the clock of one is four days ahead: its deliveries are due, and signed, by the clock of the database', async () => {
    const fleet = ended(await Fleet.start(sandbox, 1, { environment: on, how: { disturbed: true } }));
    const signatures: string[] = [];
    const server = createServer((request, response) => {
      request.resume();
      signatures.push(String(request.headers['webhook-signature']));
      if (signatures.length > 1) response.writeHead(204).end();
      else response.writeHead(429, { 'retry-after': '1' }).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const path = `${WEBHOOKS}/${await webhook(fleet, url)}`;
    expect((await fleet.request('POST', 0, `${path}/secret`)).status).toBe(200);
    await fleet.gateways[0]?.disturb({ clock: 96 * HOUR_MS });
    await place(fleet, 0);
    const delivery = async () => {
      const { body } = await fleet.get(0, `${path}/deliveries`);
      return (body['items'] as Record<string, string | null>[])[0] ?? {};
    };
    const isNear = (time: unknown) =>
      expect(Math.abs(Date.parse(String(time)) - Date.now())).toBeLessThan(HOUR_MS);
    await until('it is refused', async () => (await delivery())['lastAttemptAt'] != null);
    isNear((await delivery())['lastAttemptAt']);
    await until('it is delivered', async () => (await delivery())['state'] === 'delivered');
    isNear((await fleet.get(0, path)).body['lastDeliveredAt']);
    // The current secret, and the former one, which signs for a day.
    expect(signatures.map((each) => each.split(' ').length)).toEqual([2, 2]);
  });

  it('P15 the clock of one is an hour ahead: a webhook of a caller with a new grant gets what happens after it was made', async () => {
    const grown = { name: 'grown', channels: ['partner'] };
    const fleet = ended(
      await Fleet.start(sandbox, 1, { environment: on, how: { disturbed: true }, callers: [grown] }),
    );
    const headers = { ...JSON_BODY, 'x-api-key': String(fleet.keys['grown']) };
    await fleet.gateways[0]?.disturb({ clock: HOUR_MS });
    fleet.callers = fleet.callers.map((each) =>
      each.name === 'grown' ? { ...each, channels: ['crm'] } : each,
    );
    fleet.writeCallers();
    await until('the caller has the grant', async () => {
      const caller = await fetch(`${fleet.gateways[0]?.url}/v1/callers/me`, { headers });
      return (await caller.text()).includes('"channels":["crm"]');
    });
    const hook = await receiver();
    const body = JSON.stringify({ url: hook.url, types: ['*'] });
    const made = await fetch(`${fleet.gateways[0]?.url}${WEBHOOKS}`, { method: 'POST', headers, body });
    expect(made.status).toBe(201);
    await place(fleet, 0);
    const [event] = await events(fleet);
    await until('the event has come', () => hook.taken.includes(String(event)));
  });

  it('each event is sent once, whichever of them places the orders', async () => {
    const fleet = ended(await Fleet.start(sandbox, 2, { environment: on }));
    const hooks = [await receiver(), await receiver()] as const;
    for (const { url } of hooks) await webhook(fleet, url);
    const gateways = Array.from({ length: 12 }, (_, at) => at % 2);
    await Promise.all(gateways.map((gateway) => place(fleet, gateway)));
    const ids = await events(fleet);
    // An order that the machine had no time for is an event too, that it was not sent.
    expect(ids.length).toBeGreaterThanOrEqual(gateways.length);
    const isDelivered = (id: string) => hooks.every(({ taken }) => taken.includes(id));
    await until('all are delivered', () => ids.every(isDelivered));
    // A last one, after which nothing is under way.
    await place(fleet, 0);
    await until('the last one is delivered', async () => (await events(fleet)).every(isDelivered));
    const all = await events(fleet);
    expect(hooks.map(({ asked }) => asked.toSorted())).toEqual([all, all]);
  });

  it.each([
    ['', 0],
    [', also if its clock is ten minutes ahead', 600_000],
    [', also if its clock is ten minutes behind', -600_000],
  ])(
    'S33 a caller gets a grant, which the gateway that delivers reads last: its webhook gets all events since the first has read it%s',
    async (_, aheadMs) => {
      const grown = { name: 'grown', scopes: ['webhooks:write'], enterprises: ['ent-meridian'] };
      const fleet = ended(await Fleet.start(sandbox, 1, { environment: on, callers: [grown] }));
      const placed = async (gateway: number, customerId: string, enterpriseGlobalId: string) => {
        const before = await events(fleet);
        const order = orderOf(newNumber());
        const items = order.items.map((item) => ({ ...item, customer: { customerId, enterpriseGlobalId } }));
        const answer = await onceServed(() => fleet.post(gateway, ORDERS, { ...order, items }));
        expect(answer.status).toBe(201);
        return (await events(fleet)).filter((id) => !before.includes(id));
      };
      const hook = await receiver({ isIll: true });
      const made = await fetch(`${fleet.gateways[0]?.url}${WEBHOOKS}`, {
        method: 'POST',
        headers: { 'x-api-key': String(fleet.keys['grown']), 'content-type': 'application/json' },
        body: JSON.stringify({ url: hook.url, types: ['*'] }),
      });
      expect(made.status).toBe(201);
      const first = await placed(0, 'cus-meridian-default', 'ent-meridian');
      await until('the first gateway delivers', () => hook.asked.length > 0);
      const granted = { enterprises: ['ent-harbour', 'ent-meridian'] };
      fleet.callers = fleet.callers.map((each) => (each.name === 'grown' ? { ...each, ...granted } : each));
      const file = join(fleet.folder, 'callers-granted.json');
      writeFileSync(file, JSON.stringify({ callers: fleet.callers }));
      await fleet.launch({ ...on, CALLERS_FILE: file }, clockAhead(aheadMs));
      await until('the second gateway has recorded the grant', async () => {
        const changed = 'SELECT FROM webhooks WHERE version > 1';
        return (await askDatabase(String(fleet.environment['DATABASE_URL']), changed)).length > 0;
      });
      const others = await placed(1, 'cus-harbour-default', 'ent-harbour');
      fleet.writeCallers();
      hook.isIll = false;
      const all = [...first, ...others, ...(await placed(0, 'cus-harbour-default', 'ent-harbour'))];
      await until('the last one is delivered', () => hook.taken.includes(all.at(-1) ?? ''));
      await until('all are delivered', () => all.every((id) => hook.taken.includes(id)));
    },
  );

  it('a webhook is answered with its URL if the database does not say whether it was made', async () => {
    const url = await postgresUrl();
    const proxy = await FaultProxy.start(Number(new URL(url).port));
    atEnd(() => proxy.close());
    const databaseUrl = throughPort(url, proxy.port);
    // The answer comes at the deadline of the write, which is a multiple of this one.
    const environment = { ...on, UPSTREAM_DEADLINE_MS: '4000' };
    const fleet = ended(await Fleet.start(sandbox, 1, { environment, databaseUrl }));
    const hook = await receiver();
    const create = async () => {
      const headers = { ...JSON_BODY, 'x-api-key': fleet.key, 'idempotency-key': 'key-of-a-lost-webhook' };
      const wanted = JSON.stringify({ url: hook.url, types: ['*'] });
      const answer = await fetch(fleet.gateways[0]?.url + WEBHOOKS, {
        method: 'POST',
        headers,
        body: wanted,
      });
      return { status: answer.status, headers: answer.headers, body: (await answer.json()) as object };
    };
    const { status, headers, body } = await withLostReply({ url, proxy, table: 'webhooks' }, create);
    expect([status, body]).toMatchObject([502, { code: 'outcome-unknown', outcome: 'unknown' }]);
    const path = String(headers.get('location'));
    await until('a repeat names it too', async () => {
      const again = await create();
      return again.headers.has('idempotent-replayed') && again.headers.get('location') === path;
    });
    await until('it is there', async () => (await fleet.get(0, path)).status === 200);
    await place(fleet, 0);
    await until('it has the event', () => hook.taken.length === 1);
  });

  it('a rotation is in doubt if the database does not say whether it has the new secret', async () => {
    const url = await postgresUrl();
    const proxy = await FaultProxy.start(Number(new URL(url).port));
    atEnd(() => proxy.close());
    const databaseUrl = throughPort(url, proxy.port);
    const fleet = ended(await Fleet.start(sandbox, 1, { environment: on, databaseUrl }));
    const hook = await receiver();
    const webhookId = await webhook(fleet, hook.url);
    const rotate = () => fleet.request('POST', 0, `${WEBHOOKS}/${webhookId}/secret`);
    const { status, body } = await withLostReply({ url, proxy, table: 'webhooks' }, rotate);
    expect([status, body]).toMatchObject([502, { code: 'outcome-unknown', outcome: 'unknown' }]);
    await until('another rotation has a secret', async () => {
      const again = await rotate();
      return again.status === 200 && typeof again.body['secret'] === 'string';
    });
  });

  it.each([
    ['', 0],
    [', also if the clock is ten minutes behind', -600_000],
  ])(
    'O19 webhooks that fail or are switched off no longer count once their caller is removed%s',
    async (_, aheadMs) => {
      const fleet = ended(
        await Fleet.start(sandbox, 1, {
          environment: on,
          how: clockAhead(aheadMs),
          callers: [{ name: 'leaving', scopes: ['webhooks:write'], enterprises: ['*'], channels: ['*'] }],
        }),
      );
      const [gateway] = fleet.gateways;
      const server = createServer((request, response) => {
        request.resume();
        response.writeHead(request.url === '/gone' ? 410 : 500).end();
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      atEnd(() => server.close());
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      for (const path of ['/gone', '/ill']) {
        const made = await fetch(`${gateway?.url}${WEBHOOKS}`, {
          method: 'POST',
          headers: { ...JSON_BODY, 'x-api-key': String(fleet.keys['leaving']) },
          body: JSON.stringify({ url: origin + path, types: ['*'] }),
        });
        expect(made.status).toBe(201);
      }
      await place(fleet, 0);
      const counted = async () => {
        const metrics = await (await fetch(`${gateway?.managementUrl}/metrics`)).text();
        const { webhooks } = (await (await fetch(`${gateway?.managementUrl}/console/state`)).json()) as {
          webhooks: number;
        };
        return [...metrics.matchAll(/^gateway_webhooks{state="(\w+)"} (\d+)$/gm)]
          .map(([, state, count]) => `${state} ${count}`)
          .concat(`console ${webhooks}`)
          .toSorted()
          .join();
      };
      await until('both count', async () => (await counted()) === 'console 2,failing 1,ok 0,switched_off 1');
      fleet.callers = fleet.callers.filter(({ name }) => name !== 'leaving');
      fleet.writeCallers();
      await until(
        'neither counts',
        async () => (await counted()) === 'console 0,failing 0,ok 0,switched_off 0',
      );
    },
  );

  it('D37 a webhook whose next events were dropped from the feed goes on with those that are kept', async () => {
    const fleet = ended(await Fleet.start(sandbox, 1, { environment: on }));
    const hook = await receiver();
    const webhookId = await webhook(fleet, hook.url);
    await fleet.gateways[0]?.stop();
    // Nobody moves its cursor.
    await fleet.launch({}, undefined, 0);
    for (let number = 0; number < 4; number++) await place(fleet, 0);
    await askDatabase(String(fleet.environment['DATABASE_URL']), 'DELETE FROM events WHERE number <= 2');
    await fleet.gateways[0]?.stop();
    await fleet.launch(on, undefined, 0);
    await until('the others are delivered', () => hook.taken.length === 2);
    expect(hook.taken.toSorted()).toEqual(await events(fleet));
    await until('nothing waits', async () => {
      const { body } = await fleet.get(0, `${WEBHOOKS}/${webhookId}`);
      return body['pending'] === 0 && body['state'] === 'ok';
    });
    expect(hook.asked).toHaveLength(2);
  });
});

describe('a receiver', () => {
  const folder = mkdtempSync(join(tmpdir(), 'authority-'));
  let certificates: TestCertificates;
  afterAll(() => rmSync(folder, { recursive: true }));
  const { gateway } = useStack({
    environment: {
      WEBHOOK_HOSTS: '.changing.example,127.0.0.1,64:ff9b:1::/48',
      ALLOW_INSECURE_WEBHOOKS: 'true',
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    },
    start: async (all) => {
      certificates = await makeCertificates();
      writeFileSync(join(folder, 'ca.pem'), certificates.ca);
      return startGatewayProcess(all, {
        nodeOptions: `--no-warnings --import ${new URL('../support/changing-names.ts', import.meta.url).href}`,
      });
    },
  });
  const { atEnd } = endings();

  it('K67 a receiver that answers 429 with Retry-After for longer than nine attempts gets its event', async () => {
    let asked = 0;
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(++asked <= 10 ? 429 : 204, asked <= 10 ? { 'retry-after': '1' } : {}).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const made = await gateway.post(WEBHOOKS, { url, types: ['*'] });
    const path = `${WEBHOOKS}/${String(made.body['webhookId'])}`;
    expect((await gateway.post(ORDERS, orderOf(newNumber()))).status).toBe(201);
    const delivery = async () =>
      ((await gateway.get(`${path}/deliveries`)).body['items'] as Record<string, unknown>[])[0];
    await until(
      'the delivery has ended',
      async () => ((await delivery())?.['state'] ?? 'pending') !== 'pending',
    );
    expect(await delivery()).toMatchObject({ state: 'delivered', attempts: 11, lastStatus: 204 });
  });

  it.each([
    ['interim responses', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['the extension of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'x'],
  ])('S27 that answers with no end of %s is cut off', async (_, first, endless) => {
    const server = await RawServer.start();
    atEnd(() => server.close());
    let sent = () => 0;
    server.respond = (socket) => (sent = writeEndlessly(socket, first, endless));
    const made = await gateway.post(WEBHOOKS, { url: `${server.origin}/hook`, types: ['job.failed'] });
    const tested = await gateway.request('POST', `${WEBHOOKS}/${String(made.body['webhookId'])}/test`);
    expect(tested.status).toBe(200);
    expect(tested.body['error']).not.toBe('timeout');
    await until('the connection has ended', () => server.connections.every(({ socket }) => socket.destroyed));
    expect(sent()).toBeLessThan(16 * 1_048_576);
  });

  it('with a certificate of a private authority is called where NODE_EXTRA_CA_CERTS names that authority', async () => {
    const { good, untrusted } = certificates;
    const answers: unknown[] = [];
    for (const identity of [good, untrusted]) {
      const server = await RawServer.start(identity);
      atEnd(() => server.close());
      const made = await gateway.post(WEBHOOKS, { url: `${server.origin}/hook`, types: ['job.failed'] });
      const tested = await gateway.request('POST', `${WEBHOOKS}/${String(made.body['webhookId'])}/test`);
      answers.push([tested.body['status'], tested.body['error'], server.requests.length]);
    }
    expect(answers).toEqual([
      [200, null, 1],
      [null, 'certificate', 0],
    ]);
  });

  it.each(['metadata', 'azure', 'translated', 'private', 'one-of-two'])(
    'S26 whose name changes is never called at a refused address: %s',
    async (name) => {
      let received = 0;
      const server = createServer((request, response) => {
        received++;
        request.resume();
        // Each delivery needs a connection of its own.
        response.writeHead(500, { connection: 'close', 'retry-after': '1' }).end();
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      atEnd(() => server.close());
      const url = `http://${name}.changing.example:${(server.address() as AddressInfo).port}/hook`;
      const made = await gateway.post(WEBHOOKS, { url, types: ['*'] });
      expect(made.status).toBe(201);
      const path = `${WEBHOOKS}/${String(made.body['webhookId'])}`;
      expect((await gateway.post(ORDERS, orderOf(newNumber()))).status).toBe(201);
      const waiting = async () =>
        ((await gateway.get(`${path}/deliveries`)).body['items'] as Record<string, unknown>[])[0];
      await until('it is refused', async () => (await waiting())?.['lastError'] === 'address-refused');
      expect(await waiting()).toMatchObject({ state: 'pending', lastStatus: null });
      // The first connection was to the address that was checked.
      expect(received).toBe(name === 'metadata' ? 1 : 0);
    },
  );

  it('whose name leads to a refused address for a moment gets its event afterwards', async () => {
    let received = 0;
    const server = createServer((request, response) => {
      received++;
      request.resume();
      response.writeHead(204).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => server.close());
    const url = `http://mended.changing.example:${(server.address() as AddressInfo).port}/hook`;
    const made = await gateway.post(WEBHOOKS, { url, types: ['*'] });
    const path = `${WEBHOOKS}/${String(made.body['webhookId'])}`;
    expect((await gateway.post(ORDERS, orderOf(newNumber()))).status).toBe(201);
    await until('it is delivered', async () => {
      const { body } = await gateway.get(`${path}/deliveries?state=delivered`);
      return body['total'] === 1;
    });
    expect(received).toBe(1);
    expect((await gateway.get(path)).body).toMatchObject({ state: 'ok', enabled: true, offReason: null });
  });
});

describe('receivers whose names do not resolve', () => {
  const sandbox = useSandbox();
  const { ended } = endings();

  it('S34 delay no order: the look-up of its connection has a thread of its own', async () => {
    const names = SlowNames.make();
    const gateway = ended(
      await TestGateway.start(sandbox, {
        ...names.environment,
        WEBHOOK_HOSTS: '.slow.example,localhost',
        UPSTREAM_BASE_URL: sandbox.url.replace('127.0.0.1', 'localhost'),
      }),
    );
    ended(names);
    const test = async (url: string) => {
      const made = await gateway.post(WEBHOOKS, { url, types: ['job.failed'] });
      expect(made.status).toBe(201);
      return gateway.post(`${WEBHOOKS}/${String(made.body['webhookId'])}/test`, undefined);
    };
    const slow = ['one', 'two', 'three'].map((name) => test(`https://${name}.slow.example/hook`));
    // An order has a connection of its own.
    for (let orders = 0; orders < 3; orders++)
      expect((await gateway.post(ORDERS, orderOf(newNumber()))).status).toBe(201);
    for (const { body } of await Promise.all(slow)) expect(body).toMatchObject({ error: 'timeout' });
    names.stop();
    // Afterwards names are resolved again. This receiver is not there.
    const { body } = await test('http://localhost:1/hook');
    expect(body).toMatchObject({ status: null, error: 'connection' });
  });
});

describe('a receiver over days', () => {
  const sandbox = useSandbox();
  const { ended, atEnd } = endings();
  let clock: SteppedClock;
  let aheadMs: number;
  let store: Record<string, string>;
  let gateway: TestGateway;
  let path: string;
  beforeEach(async () => {
    clock = ended(SteppedClock.make());
    aheadMs = 0;
    const { url, remove } = await emptyDatabase('file');
    atEnd(remove);
    store = { DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey() };
  });

  async function startWith(hosts: string): Promise<void> {
    const environment = { ...clock.environment, ...store, WEBHOOK_HOSTS: hosts };
    gateway = ended(await TestGateway.start(sandbox, environment));
  }
  async function startAgainWith(hosts: string): Promise<void> {
    await gateway.stop();
    await startWith(hosts);
  }
  const pass = (ms: number) => clock.step((aheadMs += ms));

  /** Makes the webhook of a receiver that answers with these statuses. */
  async function webhook(statusOf: () => number): Promise<void> {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(statusOf()).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    atEnd(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const made = await gateway.post(WEBHOOKS, { url, types: ['license-order.succeeded'] });
    expect(made.status).toBe(201);
    path = `${WEBHOOKS}/${String(made.body['webhookId'])}`;
  }
  const place = async () =>
    expect((await onceServed(() => gateway.post(ORDERS, orderOf(newNumber())))).status).toBe(201);
  const shown = async () => (await gateway.get(path)).body;
  const newest = async () =>
    ((await gateway.get(`${path}/deliveries`)).body['items'] as Record<string, unknown>[])[0] ?? {};
  const isIn = (state: string) => until(`it is ${state}`, async () => (await shown())['state'] === state);

  it('that refuses one event for two days no longer gets it, its owner and the operator see that, and the webhook stays on', async () => {
    let answers: number[] = [];
    await startWith('127.0.0.1');
    await webhook(() => answers.shift() ?? 400);
    await place();
    for (let attempts = 1; attempts <= 9; attempts++) {
      await until(`it is sent ${attempts} times`, async () => (await newest())['attempts'] === attempts);
      const { nextAttemptAt } = await newest();
      if (typeof nextAttemptAt === 'string') pass(Date.parse(nextAttemptAt) - Date.now() - aheadMs + 1_000);
    }
    const { eventId, ...refused } = await newest();
    expect(refused).toMatchObject({ state: 'failed', lastError: 'status-400', nextAttemptAt: null });
    const isTold = (line: string) =>
      ['webhook-given-up', String(eventId)].every((word) => line.includes(word));
    await until('the log says so', () => gateway.logLines.some(isTold));
    expect(await shown()).toMatchObject({ state: 'ok', failingSince: null, pending: 0 });
    pass(48 * HOUR_MS);
    answers = [500, 204];
    await place();
    await until('the next one is delivered', async () => (await newest())['state'] === 'delivered');
    expect([await newest(), await shown()]).toMatchObject([{ attempts: 2 }, { state: 'ok', enabled: true }]);
  });

  it('whose host WEBHOOK_HOSTS does not list gets its events once it is listed, and is switched off only after three days', async () => {
    await startWith('127.0.0.1');
    await webhook(() => 204);
    await startAgainWith('elsewhere.example');
    await place();
    await isIn('failing');
    expect(await newest()).toMatchObject({ state: 'pending', lastError: 'address-refused' });
    await startAgainWith('127.0.0.1');
    await until('it is delivered', async () => (await newest())['state'] === 'delivered');
    await isIn('ok');

    await startAgainWith('elsewhere.example');
    for (let orders = 0; orders < 6; orders++) {
      const { eventId: former } = await newest();
      await place();
      await until('the new one is tried', async () => {
        const { eventId, attempts } = await newest();
        return eventId !== former && Number(attempts) >= 1;
      });
      await isIn('failing');
      pass(12 * HOUR_MS);
    }
    pass(HOUR_MS);
    await isIn('off');
    expect(await shown()).toMatchObject({ enabled: false, offReason: 'address-refused', pending: 6 });
  });

  it('that fails before and after three days in which no gateway ran stays on', async () => {
    await startWith('127.0.0.1');
    await webhook(() => 500);
    await place();
    await isIn('failing');
    const { failingSince } = await shown();
    await gateway.stop();
    pass(73 * HOUR_MS);
    await startWith('127.0.0.1');
    await until('it is sent again', async () => Number((await newest())['attempts']) >= 2);
    pass(HOUR_MS);
    await until('it is sent once more', async () => Number((await newest())['attempts']) >= 3);
    expect(await shown()).toMatchObject({ state: 'failing', enabled: true });
    expect(Date.parse(String((await shown())['failingSince']))).toBeGreaterThan(
      Date.parse(String(failingSince)) + 72 * HOUR_MS,
    );
  });
});

describe('a webhook that wants little', () => {
  const sandbox = useSandbox();
  const { ended } = endings();

  it('passes over many events of no interest in few steps', async () => {
    const gateway = ended(await startInProcess(sandbox, { WEBHOOK_HOSTS: HOSTS }, callers));
    const { body } = await gateway.post(WEBHOOKS, {
      ...{ url: 'http://127.0.0.1:9/hook', types: ['job.failed'] },
    });
    const database = gateway.app.get(Database);
    const steps = jest.spyOn(database, 'step');
    const pages = 20;
    const fill: Step<undefined, undefined> = {
      name: 'fill the feed',
      pastLoss: true,
      look: () => [sql`SELECT 1 AS one`.with()],
      decide: (_, __, now) => ({
        writes: eventWrites(
          Array.from({ length: 200 * pages }, (___, at) => ({
            ...{ kind: 'order', name: `order/crm/SO-${at}`, state: 'succeeded', at: now, record: 'sealed' },
          })),
        ),
      }),
    };
    await database.step(fill, undefined);
    const newest = await gateway.app.get(EventStore).newest();
    await gateway.app.get(WebhookStore).call([String(body['webhookId'])]);
    await until('the webhook has passed over all of them', async () => {
      const found = await gateway.app.get(WebhookStore).read(String(body['webhookId']));
      return found?.progress.cursor === newest;
    });
    // One step passes over the pages that are read in 250 ms.
    expect(steps.mock.calls.filter(([{ name }]) => name === 'keep deliveries').length).toBeLessThan(
      pages / 2,
    );
  });
});

describe('a gateway that lists no host', () => {
  const { gateway } = useStack();

  it('has no webhooks, and the feed', async () => {
    const { status, body } = await gateway.post(WEBHOOKS, { url: 'https://hook.example/', types: ['*'] });
    expect([status, body['code']]).toEqual([409, 'webhooks-off']);
    expect((await gateway.get(WEBHOOKS)).body['items']).toEqual([]);
    expect((await gateway.get('/v1/events')).status).toBe(200);
  });
});
