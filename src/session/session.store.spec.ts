import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { endings } from '../../test/support/endings.ts';
import { connect, PatientRedis } from '../../test/support/patient-redis.ts';
import { startRedis } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { type AccessToken, accessToken } from '../token/principal.ts';
import { MAX_SESSIONS, type SessionRecord, SessionStore, type StoredSession } from './session.store.ts';

const { ended, atEnd } = endings();

const LIFE_MS = 60_000;
function newToken(): AccessToken {
  const token = accessToken(randomBytes(16).toString('hex'), 3_600);
  if (!token) throw new Error('the token has no life');
  return token;
}

async function storeIn(kind: 'Redis' | 'the process'): Promise<SessionStore> {
  const { log } = new RecordedLog();
  if (kind === 'the process') return new SessionStore(new SharedRedis(settings().redis, log, new Metrics()));
  const server = ended(await startRedis());
  const { redis } = settings({ REDIS_URL: server.url, ENCRYPTION_KEYS: newEncryptionKey() });
  const connection = await connect(new PatientRedis(redis, log, new Metrics()));
  atEnd(() => connection.onApplicationShutdown());
  return new SessionStore(connection);
}

async function newSession(
  store: SessionStore,
  caller = 'billing',
): Promise<{ key: string; read: () => Promise<StoredSession> }> {
  const key = store.keyOf(randomBytes(16).toString('base64url'));
  const record: SessionRecord = {
    username: 'anna@harbour',
    caller,
    createdAt: 0,
    expiresAt: LIFE_MS,
    token: newToken(),
    leftAtTokenEndMs: 0,
  };
  await store.open(key, record, LIFE_MS);
  const read = async () => {
    const stored = await store.read(key);
    if (!stored) throw new Error('there is no session');
    return stored;
  };
  return { key, read };
}

it.each(['Redis', 'the process'] as const)(
  'in %s a renewal replaces or ends only the record that it has read, and keeps the end of the session',
  async (kind) => {
    const store = await storeIn(kind);
    const { key, read } = await newSession(store);
    // Both have read the session. The first was suspended until its lease ended, and then the other one renewed the session.
    const [suspended, other] = [await read(), await read()];
    const renewed = { ...other.record, token: newToken() };
    expect(await store.replace(key, other, renewed)).toBe(true);
    expect(await store.replace(key, suspended, { ...suspended.record, token: newToken() })).toBe(false);
    const { record, leftMs } = await read();
    expect(record.token.version).toBe(renewed.token.version);
    expect(leftMs).toBeGreaterThan(LIFE_MS / 2);
    expect(leftMs).toBeLessThanOrEqual(LIFE_MS);
    // The refresh token of the suspended one was used up by then, so it takes the session for ended.
    expect(await store.replace(key, suspended, undefined)).toBe(false);
    expect(await store.replace(key, await read(), undefined)).toBe(true);
    expect(await store.replace(key, other, renewed)).toBe(false);
    expect(await store.read(key)).toBeUndefined();
  },
);

it('in the process a caller has so many sessions: a further one ends its oldest, and none of another caller', async () => {
  const store = await storeIn('the process');
  const [other, oldest, second] = [
    await newSession(store, 'other'),
    await newSession(store),
    await newSession(store),
  ];
  for (let count = 2; count < MAX_SESSIONS; count++) await newSession(store);
  await oldest.read();
  const last = await newSession(store);
  expect(await store.read(oldest.key)).toBeUndefined();
  await Promise.all([second, last, other].map(({ read }) => read()));
  // A session that was ended leaves its place.
  await store.remove(last.key);
  await newSession(store);
  await second.read();
});
