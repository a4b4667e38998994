import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { endings } from '../../../test/support/endings.ts';
import { startRedis } from '../../../test/support/redis.ts';
import { Script } from './redis-script.ts';

const { ended, atEnd } = endings();

async function newClient(): Promise<Redis> {
  const server = ended(await startRedis());
  const client = new Redis(server.url);
  atEnd(() => client.disconnect());
  return client;
}

it('a script is sent as text once and by its hash from then on, also to a server that has forgotten it', async () => {
  const client = await newClient();
  const script = new Script('return {KEYS[1], ARGV[1]}');
  for (const value of ['a', 'b', 'c'])
    expect(await script.run(client, ['key'], [value])).toEqual(['key', value]);
  expect(await client.info('commandstats')).toMatch(/cmdstat_eval:calls=1,/);
  await client.script('FLUSH');
  expect(await script.run(client, ['key'], [1])).toEqual(['key', '1']);
  expect(await client.info('commandstats')).toMatch(/cmdstat_eval:calls=2,/);
});

it('a script fails with the error of Redis and is not run again', async () => {
  const client = await newClient();
  const script = new Script("redis.call('INCR', KEYS[1]) return redis.error_reply('ODD no')");
  await expect(script.run(client, ['count'], [])).rejects.toThrow('ODD no');
  await expect(script.run(client, ['count'], [])).rejects.toThrow('ODD no');
  expect(await client.get('count')).toBe('2');
});
