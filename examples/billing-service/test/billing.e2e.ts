import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { type Gateway, startGateway } from '@licensing-gateway/client/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { signWebhook } from '@licensing-gateway/client/webhooks';
import { AppModule } from '../src/app.module.ts';

const SALE = {
  enterpriseGlobalId: 'ent-harbour',
  customerId: 'cus-harbour-default',
  productUri: 'draft.pro',
  seats: 5,
};

const secret = `whsec_${randomBytes(32).toString('base64')}`;
let gateway: Gateway;
let app: NestFastifyApplication;
let url: string;
let invoices = 0;

beforeAll(async () => {
  gateway = await startGateway({ client: { attempts: 1 } });
  const settings = { licensingUrl: gateway.url, licensingKey: gateway.apiKey };
  process.env['WEBHOOK_SECRET'] = secret;
  app = await NestFactory.create<NestFastifyApplication>(AppModule.with(settings), new FastifyAdapter(), {
    ...{ logger: false, rawBody: true },
  });
  app.useBodyParser('application/cloudevents+json');
  await app.listen(0, '127.0.0.1');
  url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
});
beforeEach(() => gateway.reset());
afterAll(async () => {
  await app.close();
  await gateway.stop();
});

async function ask(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url + path, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

function newInvoice(): string {
  invoices += 1;
  return `INV-${invoices}`;
}

describe('a sale', () => {
  it('buys licences once, however often it is asked for', async () => {
    const invoice = newInvoice();
    const [first, second] = [
      await ask('POST', '/sales', { ...SALE, invoice }),
      await ask('POST', '/sales', { ...SALE, invoice }),
    ];
    expect(first).toEqual({
      status: 201,
      body: { invoice, state: 'delivered', licenseOrderIds: [expect.stringMatching(/^\d{16,}$/)] },
    });
    expect(second).toEqual(first);
    expect(await gateway.sandbox.orders()).toHaveLength(1);
    expect(await ask('GET', `/sales/${invoice}`)).toEqual({ ...first, status: 200 });
  });

  it('is in doubt where the platform does not answer, and is not repeated', async () => {
    await gateway.sandbox.fault({
      operation: 'batchOrder',
      phase: 'after',
      action: { reset: 'before-headers' },
    });
    const invoice = newInvoice();
    for (const _ of [1, 2])
      expect(await ask('POST', '/sales', { ...SALE, invoice })).toMatchObject({
        status: 201,
        body: { state: 'in_doubt' },
      });
    expect(await gateway.sandbox.orders()).toHaveLength(1);
  });

  it('is delivered, and looked after, where the answer of the platform lacks something', async () => {
    const action = { patch: { data: [{ sequence: 7, licenseOrderId: '1' }] } };
    await gateway.sandbox.fault({ operation: 'batchOrder', action });
    const invoice = newInvoice();
    for (const _ of [1, 2])
      expect(await ask('POST', '/sales', { ...SALE, invoice })).toMatchObject({
        status: 201,
        body: { state: 'incomplete' },
      });
    expect(await gateway.sandbox.orders()).toHaveLength(1);
  });

  it('of another amount under the same invoice is refused', async () => {
    const invoice = newInvoice();
    await ask('POST', '/sales', { ...SALE, invoice });
    expect(await ask('POST', '/sales', { ...SALE, invoice, seats: 6 })).toMatchObject({
      status: 422,
      body: { code: 'idempotency-key-reused', outcome: 'not_processed', requestId: expect.any(String) },
    });
  });
});

describe('the outcome of a sale', () => {
  const outcome = (invoice: string) => ask('GET', `/sales/${invoice}/outcome`);
  const event = (subject: string, id: string) => ({ id, type: 'license-order.succeeded', subject, data: {} });
  async function deliver(body: string, signed: Readonly<Record<string, string>>): Promise<number> {
    const headers = { ...signed, 'content-type': 'application/cloudevents+json' };
    return (await fetch(`${url}/licensing-events`, { method: 'POST', headers, body })).status;
  }

  it('is heard from the feed', async () => {
    const invoice = newInvoice();
    await ask('POST', '/sales', { ...SALE, invoice });
    let heard = await outcome(invoice);
    while (heard.status === 404) heard = await outcome(invoice);
    expect(heard).toEqual({ status: 200, body: { invoice, state: 'succeeded' } });
  });

  it('is heard from a webhook that the gateway signed, and from nobody else', async () => {
    const invoice = newInvoice();
    const body = JSON.stringify(event(`crm/${invoice}`, '000000000000042'));
    const signed = await signWebhook('000000000000042', body, secret);
    expect(await deliver(body.replace('succeeded', 'rejected!'), signed)).toBe(400);
    expect(await deliver(body, {})).toBe(400);
    expect((await outcome(invoice)).status).toBe(404);
    expect(await deliver(body, signed)).toBe(204);
    expect((await outcome(invoice)).body).toEqual({ invoice, state: 'succeeded' });
  });
});

it('lists who could use what was sold, over all pages', async () => {
  const { body } = await ask('GET', '/enterprises/ent-harbour/accounts');
  expect(body).toEqual(expect.arrayContaining(['anna@harbour', 'bo@harbour', 'petra@harbour']));
});

it('is healthy while the gateway is', async () => {
  expect(await ask('GET', '/health')).toEqual({ status: 200, body: { licensing: { status: 'up' } } });
});
