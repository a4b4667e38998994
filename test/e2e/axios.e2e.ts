import { HttpService } from '@nestjs/axios';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { orderOf } from '../support/order-body.ts';
import { useSandbox } from '../support/stack.ts';

/** What a Nest developer expects of `HttpService`: interceptors of axios run, for calls of the platform too. */

const sandbox = useSandbox();
let gateway: GatewayInProcess;
beforeAll(async () => {
  gateway = await startInProcess(sandbox);
});
afterAll(() => gateway.stop());

const read = () => gateway.get('/v1/enterprises/ent-harbour/assets');
const headersOf = async (operation: string) =>
  (await sandbox.journal(operation)).map(({ headers }) => (headers as Record<string, unknown>)['x-team']);
const queriesOf = async (operation: string) =>
  (await sandbox.journal(operation)).map(({ query }) => (query as Record<string, unknown>)['asked_by']);

it('interceptors see each call and its response, may change it, and are gone when they are ejected', async () => {
  await sandbox.reset();
  const { interceptors } = gateway.app.get(HttpService).axiosRef;
  const seen: unknown[] = [];
  const request = interceptors.request.use((config) => {
    config.headers.set('x-team', 'billing');
    config.params = { asked_by: 'a team' };
    return config;
  });
  const response = interceptors.response.use((answer) => {
    seen.push([answer.config.method, answer.status]);
    return answer;
  });
  const first = await read();
  expect([first.status, (first.body['items'] as object[]).length]).toEqual([200, expect.any(Number)]);
  expect((await gateway.post('/v1/license-orders', orderOf('AX-1'))).status).toBe(201);
  expect(seen).toEqual([
    ['get', 200],
    ['post', 200],
  ]);
  expect(await headersOf('listAssets')).toEqual(['billing']);
  expect(await headersOf('batchOrder')).toEqual(['billing']);
  expect(await queriesOf('listAssets')).toEqual(['a team']);
  // A refusal of the platform is a response, and no error of axios.
  await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13004' } });
  expect((await gateway.post('/v1/license-orders', orderOf('AX-2'))).status).toBe(422);

  interceptors.request.eject(request);
  interceptors.response.eject(response);
  const before = seen.length;
  expect((await read()).status).toBe(200);
  expect([seen.length, await headersOf('listAssets')]).toEqual([before, ['billing', undefined]]);
});

it('an interceptor that rejects ends the call; an order is in doubt, since nobody knows what it has sent', async () => {
  const { interceptors } = gateway.app.get(HttpService).axiosRef;
  const id = interceptors.request.use(() => Promise.reject(new Error('not today')));
  const { status, body } = await gateway.post('/v1/license-orders', orderOf('AX-3'));
  interceptors.request.eject(id);
  expect([status, body['code']]).toEqual([500, 'internal-error']);
  expect((await gateway.get('/v1/license-orders/crm/AX-3')).body['state']).toBe('in_doubt');
});
