import { once } from 'node:events';
import { createServer, request as ask, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestGateway } from '../support/gateway.ts';
import { Issuer } from '../support/issuer.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** Every server that the gateway calls sends a `100 Continue` that nobody asked for before each of its responses. */

const HARBOUR = '/v1/enterprises/ent-harbour';

const sandbox = useSandbox();
const gateway = new TestGateway([
  { name: 'portal', scopes: ['orders:read'], enterprises: ['ent-harbour'], channels: ['crm'], users: ['*'] },
]);
const servers: Server[] = [];
const received: string[] = [];
let issuer: Issuer;
let receiver: string;

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    response.writeContinue();
    listener(request, response);
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const passOn: RequestListener = (request, response) => {
  const { method, headers, url = '/' } = request;
  const onward = ask(new URL(url, sandbox.url), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
  });
  request.pipe(onward);
};

beforeAll(async () => {
  issuer = await Issuer.start();
  const { answer } = issuer;
  issuer.answer = (response) => {
    response.writeContinue();
    answer(response);
  };
  const platform = await serve(passOn);
  receiver = await serve((request, response) => {
    void text(request).then((body) => {
      received.push((JSON.parse(body) as { subject: string }).subject);
      response.writeHead(204).end();
    });
  });
  await gateway.open(sandbox, {
    ...issuer.environment,
    UPSTREAM_BASE_URL: platform,
    UPSTREAM_TOKEN_URL: `${platform}/oauth/token`,
    WEBHOOK_HOSTS: '127.0.0.1',
  });
});
afterAll(async () => {
  await gateway.stop();
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  await issuer.close();
});

describe('U23 a 100 that nobody asked for, before every response', () => {
  it('is passed over by tokens, reads and writes, also on connections that are used again', async () => {
    for (let round = 0; round < 3; round++) {
      expect((await gateway.get(`${HARBOUR}/assets`)).status).toBe(200);
      expect((await gateway.get(`${HARBOUR}/members`)).status).toBe(200);
      const edit = { account: 'dora', name: `Dora ${round}` };
      const edited = await gateway.request('PATCH', `${HARBOUR}/members/mem-harbour-dora`, { body: edit });
      expect(edited.status).toBe(204);
    }
  });

  it('leaves no order in doubt, and an order is placed once', async () => {
    for (const number of ['SO-100a', 'SO-100b'])
      expect((await gateway.post('/v1/license-orders', orderOf(number))).status).toBe(201);
    const placed = (await sandbox.commits()).map(({ channelOrderId }) => channelOrderId);
    expect(placed).toEqual(['SO-100a', 'SO-100b']);
  });

  it('fails no delivery to a webhook', async () => {
    const { body } = await gateway.post('/v1/webhooks', { url: `${receiver}/hook`, types: ['*'] });
    for (const number of ['SO-100c', 'SO-100d'])
      expect((await gateway.post('/v1/license-orders', orderOf(number))).status).toBe(201);
    const deliveries = async () => {
      const path = `/v1/webhooks/${String(body['webhookId'])}/deliveries`;
      const items = (await gateway.get(path)).body['items'] as Record<string, unknown>[];
      return items.map(({ state, attempts }) => `${String(state)} ${String(attempts)}`);
    };
    const delivered = ['delivered 1', 'delivered 1'];
    await until('both are delivered', async () => (await deliveries()).join() === delivered.join());
    expect([...received].toSorted()).toEqual(['crm/SO-100c', 'crm/SO-100d']);
  });

  it("is passed over where the issuer's keys are read", async () => {
    const token = await issuer.token({ azp: 'portal', scope: 'orders:read' });
    const headers = { authorization: `Bearer ${token}` };
    expect((await gateway.get(`${HARBOUR}/assets`, { key: null, headers })).status).toBe(200);
  });
});
