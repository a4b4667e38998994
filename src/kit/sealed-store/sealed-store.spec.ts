import { createSecretKey, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { endings } from '../../../test/support/endings.ts';
import { startRedis } from '../../../test/support/redis.ts';
import { emptyIfForeign, Sealer, StoreSealer } from './sealed-store.ts';

const { ended, atEnd } = endings();
const newKey = (kid: string) => ({ kid, key: createSecretKey(randomBytes(32)) });

async function openStore() {
  const client = new Redis(ended(await startRedis()).url);
  atEnd(() => client.disconnect());
  const [first, other] = [newKey('first'), newKey('other')];
  let unreadable = 0;
  const storeOf = (keys: ConstructorParameters<typeof Sealer>[0]) => {
    const sealer = new StoreSealer(new Sealer(keys), () => unreadable++);
    return {
      set: (key: string, text: string) => client.set(key, sealer.seal(text, key)),
      get: async (key: string) => sealer.open(await client.get(key).catch(emptyIfForeign), key),
    };
  };
  return { client, first, other, storeOf, unreadable: () => unreadable };
}

it('keeps a text that its keys open', async () => {
  const { client, first, storeOf, unreadable } = await openStore();
  const store = storeOf([first]);
  await store.set('a', 'kept');
  expect(await store.get('a')).toBe('kept');
  expect(await client.get('a')).not.toContain('kept');
  expect(await store.get('b')).toBeUndefined();
  expect(unreadable()).toBe(0);
});

it('counts what it cannot open as missing, and leaves it there', async () => {
  const { client, first, other, storeOf, unreadable } = await openStore();
  await storeOf([other]).set('a', 'of others');
  await client.set('plain', 'not sealed');
  await client.lpush('list', 'of another type');
  await client.set('copied', (await client.get('a')) ?? '');
  const store = storeOf([first]);
  for (const key of ['a', 'plain', 'list', 'copied']) expect(await store.get(key)).toBeUndefined();
  expect(await storeOf([first, other]).get('copied')).toBeUndefined();
  expect(unreadable()).toBe(5);
  expect(await storeOf([first, other]).get('a')).toBe('of others');
});
