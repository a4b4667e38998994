import type { RedisCommander } from 'ioredis';

/** What this kind of data may take of a server's memory is a part of this: bytes, infinite where the server does not say. */
export async function memoryOf(client: RedisCommander): Promise<number> {
  const info = await client.info('memory');
  const bytes = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return bytes('maxmemory') || bytes('total_system_memory') || Infinity;
}
