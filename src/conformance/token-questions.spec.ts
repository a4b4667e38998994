import { expect, it } from '@jest/globals';
import { lookOf, tokenEnvelope, tokenRefusals, tokenStatus, tokenType } from './token-questions.ts';

const look = (status: number, body: unknown) => lookOf({ status, headers: new Headers(), body: bytes(body) });

function bytes(body: unknown): Buffer {
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

it.each<[number, unknown, unknown[]]>([
  [200, { access_token: 'a', token_type: 'Bearer' }, ['plain', '200', 'Bearer', undefined]],
  [201, { access_token: 'a', token_type: 'bearer' }, ['plain', '201', 'bearer', undefined]],
  [200, { access_token: 'a', token_type: null }, ['plain', '200', 'absent', undefined]],
  [206, { access_token: 'a', token_type: 'mac' }, ['plain', undefined, undefined, undefined]],
  [200, { code: 0, data: { access_token: 'a', token_type: 'Bearer' } }, ['data', '200', 'Bearer', undefined]],
  [400, { error: 'invalid_grant' }, [undefined, undefined, undefined, 'oauth']],
  [200, { code: '60005', message: 'no' }, [undefined, undefined, undefined, '200']],
  [299, { code: 60005, message: 'no' }, [undefined, undefined, undefined, '299']],
  [400, { code: '60005' }, [undefined, undefined, undefined, undefined]],
  [503, { error: 'busy' }, [undefined, undefined, undefined, undefined]],
  [200, '<html>', [undefined, undefined, undefined, undefined]],
  [200, [], [undefined, undefined, undefined, undefined]],
])('a response of the token endpoint with HTTP %i and %j is read as %j', (status, body, readings) => {
  const shown = look(status, body);
  expect([tokenEnvelope, tokenStatus, tokenType, tokenRefusals].map((question) => question(shown))).toEqual(
    readings,
  );
});

it('keeps no token', () => {
  expect(Object.keys(look(200, { access_token: 'a', refresh_token: 'b' })).toSorted()).toEqual([
    ...['code', 'error', 'message', 'status', 'tokenIn', 'type'],
  ]);
});
