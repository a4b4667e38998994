/**
 * Keeps the code that V8 compiles for a start and the first requests. The build preloads this file into the gateway (`--import`), so that
 * V8's options are those of `src/start.sh`. The gateway runs in this process, without a platform, a database file and Redis.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as start from '../src/start.ts';

const folder = mkdtempSync(join(tmpdir(), 'compiled-code-'));
const key = randomBytes(32).toString('base64url');
const caller = {
  name: 'build',
  keys: [createHash('sha256').update(key).digest('hex')],
  scopes: ['orders:read', 'orders:write', 'members:read'],
  enterprises: ['*'],
  channels: ['build'],
  users: ['default'],
};
const callersFile = join(folder, 'callers.json');
writeFileSync(callersFile, JSON.stringify({ callers: [caller] }));
const [port, managementPort, nobody] = await Promise.all([freePort(), freePort(), freePort()]);
Object.assign(process.env, {
  NODE_ENV: 'development',
  HOST: '127.0.0.1',
  PORT: port,
  MANAGEMENT_PORT: managementPort,
  LOG_LEVEL: 'silent',
  DATABASE_URL: 'sqlite::memory:',
  CALLERS_FILE: callersFile,
  UPSTREAM_BASE_URL: `http://127.0.0.1:${nobody}`,
  UPSTREAM_TOKEN_URL: `http://127.0.0.1:${nobody}/token`,
  UPSTREAM_APP_KEY: 'build',
  UPSTREAM_APP_SECRET: 'build',
});
const gateway = new URL('../dist/bundle/gateway.js', import.meta.url).href;
const { compiledFile, script } = (await import(gateway)) as typeof start;

while ((await get('/health/live')) !== 200) await sleep(10);
for (const path of ['/v1/enterprises/build/assets', '/v1/enterprises/build/members', '/openapi.json'])
  await get(path);
await get('/v1/license-orders', {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({ channel: 'build', channelOrderId: 'build', orderType: 'new_buy', items: [] }),
});
rmSync(folder, { recursive: true });
writeFileSync(compiledFile, script.createCachedData());
process.exit();

/** Resolves to the status, or to undefined while nobody listens. */
async function get(path: string, how: RequestInit = { headers: { authorization: `Bearer ${key}` } }) {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, how);
    await response.arrayBuffer();
    return response.status;
  } catch {
    return undefined;
  }
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(free);
}
