import 'reflect-metadata';
import { type Gateway, startGateway } from '@licensing-gateway/client/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from '../src/app.module.ts';

const SALE = {
  enterpriseGlobalId: 'ent-harbour',
  customerId: 'cus-harbour-default',
  productUri: 'draft.pro',
  seats: 5,
};

let gateway: Gateway;
let app: INestApplication;
let url: string;
let invoices = 0;

beforeAll(async () => {
  gateway = await startGateway({ client: { attempts: 1 } });
  const settings = { licensingUrl: gateway.url, licensingKey: gateway.apiKey };
  app = await NestFactory.create(AppModule.with(settings), new FastifyAdapter(), { logger: false });
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

  it('of another amount under the same invoice is refused', async () => {
    const invoice = newInvoice();
    await ask('POST', '/sales', { ...SALE, invoice });
    expect(await ask('POST', '/sales', { ...SALE, invoice, seats: 6 })).toMatchObject({
      status: 422,
      body: { code: 'idempotency-key-reused', outcome: 'not_processed', requestId: expect.any(String) },
    });
  });
});

it('lists who could use what was sold, over all pages', async () => {
  const { body } = await ask('GET', '/enterprises/ent-harbour/accounts');
  expect(body).toEqual(expect.arrayContaining(['anna@harbour', 'bo@harbour', 'petra@harbour']));
});

it('is healthy while the gateway is', async () => {
  expect(await ask('GET', '/health')).toEqual({ status: 200, body: { licensing: { status: 'up' } } });
});
