import { randomInt } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Pool } from 'undici';
import { OPERATIONS } from '../../sandbox/operations.ts';
import { routes } from '../support/contract.ts';
import { read } from '../support/expected.ts';
import { operationCases, send } from '../support/operations.ts';
import { useStack } from '../support/stack.ts';

/** What every call to the platform has: the path of its operation, whatever the id is, and a nonce of its own. */

const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const IDS = 800;
const NONCE = /^[0-9a-f]{32}$/;

const { sandbox, gateway } = useStack();

/** Operations with an id in the path, each with a valid body. */
const withIds = operationCases.flatMap(({ id, method, upstream, body }) => {
  const route = routes.find(({ operation }) => operation.operationId === id);
  return route?.template.includes('{') ? [{ method, upstream, body, template: route.template }] : [];
});

/** Pieces with a meaning in a URL, in a file system, or after a second decoding. */
const PIECES = [
  ...'./\\?#;&=@:*+,~|{}%$aZ0-_'.split(''),
  ...['..', '%2e', '%2F', '%5c', '%00', '%252e%252e%252f', '%c0%af', '\t', '\r\n', ' ', '\u0000'],
  ...['é', '．', '／', '\u202e', '😀', 'member', 'batchOrder', 'licenseOrder/batchOrder', 'enterprise'],
];

/** The wire form of a path segment: encoded once, twice, or only where HTTP requires it. */
const id = fc
  .tuple(
    fc.oneof(
      fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join('')),
      fc.stringMatching(/^[A-Za-z0-9_-]{1,65}$/),
      fc.constantFrom('__proto__', 'constructor'),
    ),
    fc.constantFrom('once', 'twice', 'bare'),
  )
  .map(([text, how]) => {
    if (how === 'bare') return text.replace(/[^\u0021-\u007e]/gu, (each) => encodeURIComponent(each));
    return how === 'twice' ? encodeURIComponent(encodeURIComponent(text)) : encodeURIComponent(text);
  });

describe('S17 nonces of calls, and', () => {
  it(`S4 ${IDS} generated ids that lead to no upstream path but that of the requested operation`, async () => {
    process.stderr.write(`ids, seed ${seed}\n`);
    const pool = new Pool(gateway.url, { connections: 8 });
    const asked = new Set<string>();
    const statuses = new Map<number, number>();
    const ask = async (
      { method, template, body, upstream }: (typeof withIds)[number],
      ids: readonly string[],
    ) => {
      let place = 0;
      const path = template.replace(/\{\w+\}/g, () => ids[place++] as string);
      asked.add(upstream);
      const { statusCode, body: answer } = await pool.request({
        method: method as 'GET',
        path,
        headers: { 'x-api-key': gateway.key, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      await answer.dump();
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
      expect(statusCode).toBeLessThan(500);
    };
    const property = fc.asyncProperty(fc.constantFrom(...withIds), fc.tuple(id, id), ask);
    const lane = (index: number) => fc.assert(property, { numRuns: IDS / 8, seed: seed + index });
    await Promise.all(Array.from({ length: 8 }, (_, index) => lane(index)));
    await pool.close();

    const calls = await sandbox.calls();
    const templates = OPERATIONS.map(({ name, method, path }) => ({
      name,
      method,
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[A-Za-z0-9_-]{1,64}')}$`),
    }));
    for (const { method, path } of calls) {
      // Compared byte for byte, so that no server can read it differently.
      const found = templates.filter((each) => each.method === method && each.pattern.test(path));
      expect({ path, operations: found.map(({ name }) => asked.has(name)) }).toEqual({
        path,
        operations: [true],
      });
    }
    // Both happened: good ids arrived, and odd ones were refused.
    expect(calls.length).toBeGreaterThan(IDS / 10);
    expect(statuses.get(400)).toBeGreaterThan(IDS / 10);
    const nonces = calls.map(({ query }) => query['g_nonce'] ?? '');
    expect(nonces.filter((nonce) => !NONCE.test(nonce))).toEqual([]);
    expect(new Set(nonces).size).toBe(nonces.length);
    // Of 80 even draws fewer than four of 16 digits appear once in 10^45 runs.
    for (let place = 0; place < 32; place++)
      expect([place, new Set(nonces.map((nonce) => nonce[place])).size > 3]).toEqual([place, true]);
  });

  it.each([
    ['a token that is refused', '60000'],
    ['an exception of the platform', '500'],
  ])('a further attempt after %s has another nonce', async (_, code) => {
    await sandbox.fault({ operation: '*', times: 1, action: { code } });
    expect((await send(gateway, read)).status).toBe(200);
    const [first, second] = (await sandbox.calls()).map(({ query }) => query['g_nonce']);
    expect(second).toMatch(NONCE);
    expect(second).not.toBe(first);
  });
});
