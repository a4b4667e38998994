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

it('S17 5,000 attempts have 5,000 nonces, of which every bit varies', async () => {
  const seen = new Set<string>();
  // Replaces the connections only; the requests are the real ones.
  const request = ({ url = '' }: { url?: string }) => {
    seen.add(new URL(url, 'http://platform.invalid').searchParams.get('g_nonce') ?? '');
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
  for (let sent = 0; sent < 5_000; sent += 500) await Promise.all(Array.from({ length: 500 }, attempt));
  expect(seen.size).toBe(5_000);
  expect([...seen].filter((nonce) => !NONCE.test(nonce))).toEqual([]);
  // Each of the 32 digits takes all of its 16 values: of even draws one is missing once in 10^137 runs.
  for (let place = 0; place < 32; place++)
    expect([place, new Set([...seen].map((nonce) => nonce[place])).size]).toEqual([place, 16]);
});

it.each([
  ['a token that is refused', read, '60000'],
  ['a security check that failed', read, '70001'],
  ['an exception of the platform', read, '500'],
  ["the refusal of a user's token", caseOf('listMembers'), '60005'],
])('S17 a further attempt after %s has another nonce', async (_, operation, code) => {
  await sandbox.fault({ operation: '*', times: 1, action: { code } });
  expect((await send(gateway, operation)).status).toBe(200);
  const nonces = (await sandbox.calls()).map(({ query }) => query['g_nonce'] ?? '');
  expect(nonces).toEqual([expect.stringMatching(NONCE), expect.stringMatching(NONCE)]);
  expect(nonces[0]).not.toBe(nonces[1]);
});
