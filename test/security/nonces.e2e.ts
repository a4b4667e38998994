import type { HttpService } from '@nestjs/axios';
import { expect, it } from '@jest/globals';
import { of } from 'rxjs';
import { Metrics } from '../../src/observability/metrics.ts';
import { newTrace } from '../../src/observability/trace-context.ts';
import { operations } from '../../src/upstream/operations.ts';
import { UpstreamExchange } from '../../src/upstream/upstream.exchange.ts';
import { caseOf, read } from '../support/expected.ts';
import { send } from '../support/operations.ts';
import { credential, RecordedLog, settings } from '../support/settings.ts';
import { useStack } from '../support/stack.ts';

/** Every attempt has a nonce of its own (docs/faults.md, row S17). */

const NONCE = /^[0-9a-f]{32}$/;

const { sandbox, gateway } = useStack();

it('S17 100,000 attempts have 100,000 nonces of 128 bits', async () => {
  const seen = new Set<string>();
  let bits = 0;
  // Replaces the connections only; the requests are the real ones.
  const request = ({ url = '' }: { url?: string }) => {
    const nonce = new URL(url, 'http://platform.invalid').searchParams.get('g_nonce') ?? '';
    if (NONCE.test(nonce)) seen.add(nonce);
    bits += Number.parseInt(nonce.slice(0, 8), 16) / 2 ** 32;
    return of({ status: 200, headers: {}, data: Buffer.from('{"code":0}') });
  };
  const http = { request } as unknown as HttpService;
  const exchange = new UpstreamExchange(http, settings().upstream, new Metrics(), new RecordedLog().log);
  const token = { value: credential(), version: '1', usableMs: 60_000, renewAfterMs: 60_000 };
  const attempt = () =>
    exchange.send(
      {
        operation: operations.queryCustomers,
        request: {},
        body: undefined,
        deadline: performance.now() + 60_000,
        abandon: undefined,
        context: { requestId: 'r', trace: newTrace() },
      },
      token,
    );
  for (let sent = 0; sent < 100_000; sent += 500) await Promise.all(Array.from({ length: 500 }, attempt));
  expect(seen.size).toBe(100_000);
  // Evenly spread: the mean of 100,000 even draws is nearer to a half than this, except once in 10^25 runs.
  expect(Math.abs(bits / 100_000 - 0.5)).toBeLessThan(0.01);
}, 300_000);

it.each([
  ['a token that is refused', '60000'],
  ['a security check that failed', '70001'],
  ['an exception of the platform', '500'],
])('S17 a further attempt after %s has another nonce', async (_, code) => {
  await sandbox.reset();
  await sandbox.fault({ operation: '*', times: 1, action: { code } });
  expect((await send(gateway, read)).status).toBe(200);
  const nonces = (await sandbox.calls()).map(({ query }) => query['g_nonce'] ?? '');
  expect(nonces).toHaveLength(2);
  expect(new Set(nonces).size).toBe(2);
  for (const nonce of nonces) expect(nonce).toMatch(NONCE);
});

it("S17 a further attempt with another user's token has another nonce", async () => {
  await sandbox.reset();
  await sandbox.fault({ operation: '*', times: 1, action: { code: '60005' } });
  expect((await send(gateway, caseOf('listMembers'))).status).toBe(200);
  const nonces = (await sandbox.calls()).map(({ query }) => query['g_nonce'] ?? '');
  expect(new Set(nonces).size).toBe(2);
});
