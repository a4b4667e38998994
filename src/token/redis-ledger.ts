import { LEASE } from '../kit/lease/lease.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import type { SealedStore } from '../kit/sealed-store/sealed-store.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import type { AccessToken } from './principal.ts';
import { type FailureRecord, keptMs, recordSchema } from './token-failure.ts';
import {
  type Claim,
  HOLD_OFF_MS,
  LOCK_MS,
  type Permit,
  type TokenKeys,
  type TokenLedger,
} from './token-ledger.ts';

/*
 * A token is kept as `stamp:version:sealed`, a failure as `until:json`; times are in ms by Redis' own clock, since replicas' clocks
 * differ. A value in any other form (a foreign value, another type) counts as missing.
 */
const COMMON = `${LEASE}
local token, lock, failure, hold, endpoint, probe = unpack(KEYS)
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function read(key)
  local value = redis.pcall('GET', key)
  return type(value) == 'string' and value or ''
end
local function release(owner)
  lease.release(lock, owner)
  lease.release(probe, owner)
end
local stored = read(token)
local stamp, version = string.match(stored, '^(%d+):([^:]+):')
`;

/** ARGV: owner, stale version, lock ms, longest hold ms. */
const CLAIM = new Script(`${COMMON}
local owner, stale, lockMs, maxHoldMs = unpack(ARGV)
local endsIn = redis.call('PTTL', token)
if version and version ~= stale and endsIn > 0 then return {'token', stored, endsIn} end
local endpointText, failureText = read(endpoint), read(failure)
for _, text in ipairs({endpointText, failureText}) do
  local left = (tonumber(string.match(text, '^(%d+):')) or 0) - now
  if left > 0 and left <= tonumber(maxHoldMs) then return {'failing', text, left} end
end
local probes = endpointText ~= ''
if probes and not lease.is_free(probe, owner) then return {'busy'} end
if not lease.take(lock, owner, lockMs) then return {'busy'} end
if probes then lease.take(probe, owner, lockMs) end
return {'permit', now, endpointText, failureText}
`);

/** ARGV: owner, stamp, version and sealed token, life ms (0: not kept). */
const SAVE = new Script(`${COMMON}
local owner, mine, text, lifeMs = unpack(ARGV)
local result = {'saved'}
local endsIn = redis.call('PTTL', token)
if stamp and endsIn > 0 and tonumber(stamp) > tonumber(mine) then
  result = {'token', stored, endsIn}
elseif tonumber(lifeMs) > 0 then
  redis.call('SET', token, mine .. ':' .. text, 'PX', lifeMs)
end
redis.call('DEL', failure, endpoint)
release(owner)
return result
`);

/** ARGV: owner, stamp, record, hold ms, kept ms, 1 where it is the endpoint's. */
const FAIL = new Script(`${COMMON}
local owner, mine, record, holdMs, keptMs, ofEndpoint = unpack(ARGV)
if not stamp or tonumber(stamp) <= tonumber(mine) then
  local key = ofEndpoint == '1' and endpoint or failure
  if key == failure then redis.call('DEL', endpoint) end
  redis.call('SET', key, string.format('%d:%s', now + holdMs, record), 'PX', keptMs)
end
release(owner)
return 1
`);

/** ARGV: version, 1 where it is the second refusal in one call, hold-off ms. */
const REFUSE = new Script(`${COMMON}
local refused, again, holdMs = unpack(ARGV)
if again == '1' then redis.call('SET', hold, refused, 'PX', holdMs) end
if version ~= refused then return again == '1' and 0 or 1 end
if redis.call('EXISTS', hold) == 1 then return 0 end
redis.call('DEL', token)
return 1
`);

/** ARGV: owner. */
const RELEASE = new Script(`${COMMON}
redis.call('DEL', endpoint)
release(ARGV[1])
return 1
`);

/** KEYS: a token. ARGV: its value. */
const DROP = new Script(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`,
);

/** Longer than any hold that the gateway sets. A longer one comes from a clock that was set back. */
const MAX_HOLD_MS = 2 * 3_600_000;

/** The token ledger of all replicas, with one Lua script for each step. Rejects where Redis is not available. */
export class RedisLedger implements TokenLedger {
  constructor(
    private readonly redis: SharedRedis,
    private readonly sealed: SealedStore,
  ) {}

  async claim(keys: TokenKeys, owner: string, stale: string): Promise<Claim> {
    const [kind, ...rest] = await this.#run<[string, ...(string | number)[]]>(CLAIM, keys, [
      owner,
      stale,
      LOCK_MS,
      MAX_HOLD_MS,
    ]);
    if (kind === 'busy') return { kind };
    const [first = '', second = '', third = ''] = rest;
    if (kind === 'token') {
      const token = this.#opened(keys, String(first));
      if (token) return { kind, token, endsInMs: Number(second) };
      await this.#drop(keys, String(first));
      return this.claim(keys, owner, stale);
    }
    if (kind === 'failing') {
      return { kind, failure: recordOf(String(first)) ?? UNREADABLE, retryInMs: Number(second) };
    }
    const failures = { endpoint: recordOf(String(second)), principal: recordOf(String(third)) };
    return { kind: 'permit', permit: { owner, stamp: Number(first), failures } };
  }

  async save(keys: TokenKeys, permit: Permit, token: AccessToken): Promise<Claim & { kind: 'token' }> {
    const sealed = this.sealed.seal(JSON.stringify(token), keys.token);
    const [kind, text = '', endsInMs = 0] = await this.#run<[string, string?, number?]>(SAVE, keys, [
      permit.owner,
      permit.stamp,
      `${token.version}:${sealed}`,
      token.usableMs,
    ]);
    const newer = kind === 'token' ? this.#opened(keys, text) : undefined;
    return newer
      ? { kind: 'token', token: newer, endsInMs }
      : { kind: 'token', token, endsInMs: token.usableMs };
  }

  async fail(keys: TokenKeys, permit: Permit, failure: FailureRecord, holdMs: number): Promise<void> {
    await this.#run(FAIL, keys, [
      permit.owner,
      permit.stamp,
      JSON.stringify(failure),
      holdMs,
      keptMs(failure, holdMs),
      failure.ofEndpoint ? 1 : 0,
    ]);
  }

  async release(keys: TokenKeys, permit: Permit): Promise<void> {
    await this.#run(RELEASE, keys, [permit.owner]);
  }

  async refuse(keys: TokenKeys, version: string, again: boolean): Promise<boolean> {
    return (await this.#run(REFUSE, keys, [version, again ? 1 : 0, HOLD_OFF_MS])) === 1;
  }

  #run<T>(script: Script, keys: TokenKeys, values: (string | number)[]): Promise<T> {
    const { token, lock, failure, hold, endpoint, probe } = keys;
    const names = [token, lock, failure, hold, endpoint, probe];
    return this.redis.run((client) => script.run<T>(client, names, values));
  }

  #opened(keys: TokenKeys, stored: string): AccessToken | undefined {
    const text = this.sealed.open(stored.slice(stored.lastIndexOf(':') + 1), keys.token);
    return text === undefined ? undefined : (JSON.parse(text) as AccessToken);
  }

  /** A value that cannot be decrypted is no token: it was sealed under a removed key, or not by the gateway. */
  async #drop(keys: TokenKeys, stored: string): Promise<void> {
    await this.redis.run((client) => DROP.run(client, [keys.token], [stored]));
  }
}

const UNREADABLE: FailureRecord = {
  kind: 'unavailable',
  reason: 'unreadable_record',
  ofEndpoint: false,
  count: 1,
  refusedAt: [],
};

/** The record has no secret, so it is not sealed; therefore it is checked before use. */
function recordOf(text: string): FailureRecord | undefined {
  const json = /^\d+:(\{.*\})$/.exec(text)?.[1];
  if (json === undefined) return undefined;
  try {
    return recordSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}
