import { describe, expect, it } from '@jest/globals';
import { order } from '../support/expected.ts';
import { useStack } from '../support/stack.ts';

/** W3C Trace Context through the gateway: in, into the log, and out to the platform, with no collector of spans. */

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;
const TRACESTATE = 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7';
const ASSETS = '/v1/enterprises/ent-harbour/assets';
const FRESH = { 'cache-control': 'no-cache' };

const { sandbox, gateway } = useStack();

async function lastCall(operation: string): Promise<Readonly<Record<string, string>>> {
  return (await sandbox.journal(operation)).at(-1)?.headers ?? {};
}
const lineOf = async (event: string, requestId: string) =>
  (await gateway.log())
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .find((line) => line['event'] === event && line['requestId'] === requestId);

describe("a caller's trace", () => {
  it('reaches the platform with a read, together with the id of the request', async () => {
    const headers = { ...FRESH, traceparent: TRACEPARENT, tracestate: TRACESTATE, 'x-request-id': 'req-1' };
    expect((await gateway.get(ASSETS, { headers })).status).toBe(200);
    expect(await lastCall('listAssets')).toMatchObject({
      traceparent: TRACEPARENT,
      tracestate: TRACESTATE,
      'x-request-id': 'req-1',
    });
    expect(await lineOf('request', 'req-1')).toMatchObject({ traceId: TRACE });
  });

  it('reaches the platform with an order, and stands in the line of the audit', async () => {
    const headers = { traceparent: TRACEPARENT, 'x-request-id': 'req-2' };
    expect((await gateway.post(order.path, order.body, { headers })).status).toBe(201);
    expect(await lastCall('batchOrder')).toMatchObject({
      traceparent: TRACEPARENT,
      'x-request-id': 'req-2',
    });
    expect(await lineOf('audit', 'req-2')).toMatchObject({ traceId: TRACE });
  });

  it('that is not valid is replaced by a new one', async () => {
    const headers = { ...FRESH, traceparent: 'my-trace', tracestate: TRACESTATE, 'x-request-id': 'req-3' };
    expect((await gateway.get(ASSETS, { headers })).status).toBe(200);
    const { traceparent = '', tracestate } = await lastCall('listAssets');
    expect(traceparent).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-00$/);
    expect(tracestate).toBeUndefined();
    expect(await lineOf('request', 'req-3')).toMatchObject({ traceId: traceparent.slice(3, 35) });
  });

  it('that is absent begins at the gateway, anew for each request', async () => {
    const seen = [];
    for (let request = 0; request < 3; request++) {
      await gateway.get(ASSETS, { headers: FRESH });
      seen.push((await lastCall('listAssets'))['traceparent']);
    }
    expect(new Set(seen).size).toBe(3);
  });
});
