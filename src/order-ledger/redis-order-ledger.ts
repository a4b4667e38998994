import { AcknowledgedScripts } from '../redis/acknowledged-scripts.ts';
import { refusalOf } from '../redis/redis-error.ts';
import { Script } from '../redis/script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import {
  type Details,
  type LedgerRecord,
  keptFor,
  released,
  type State,
  states,
  transitions,
} from './ledger-record.ts';
import {
  assertWanted,
  type Begin,
  type Begun,
  type OrderLedgerStore,
  OrderLedgerUnavailable,
  type Listing,
  type Move,
  type Moved,
  MOST_WRITES,
  type OrderQuery,
} from './order-ledger-store.ts';
import { indexesOf, OrderIndex } from './order-index.ts';

/*
 * A record is a hash: version, state, owner, fingerprint, submittedAt, settledAt, leaseUntil, and the sealed details. `listed` names
 * the indexes that an order is in besides the one of all orders (order-index.ts); the same scripts that move it keep them. What is
 * being sent is indexed by the end of its lease. Times are Redis' own. Every script compares the store epoch first: a store that lost
 * it has lost the records too.
 *
 * No record has a life of Redis' own (PEXPIRE): a clock that jumps would end it at once, and the order would be sent again. `ends` says
 * when the time of a settled record is over, counted from the later of two clocks, Redis' and the gateway's; the sweep deletes it once
 * the earlier of the two has come so far.
 *
 * KEYS: epoch, record, leases, all orders, ends of orders' times, then orders by state in the order of `states`, then count, seen, lost.
 * ARGV of every script begins with: epoch, the gateway's time, and how many writes the store has begun as far as this gateway knows.
 *
 * `count` rises with every write that begins. A store whose count is lower than what a gateway has seen has gone back: it has lost
 * writes, and a repeat of one of them would be sent again. The first script that finds so makes the count negative, which stops every gateway, and
 * `lost` says what was seen and what is there. `seen` is the highest count that any gateway has told.
 */
const VERSION = '1';
/** Records that one script reads: others do not wait for it longer than for a small page. */
const READ_AT_ONCE = 100;
const FIELDS = ['version', 'state', 'submittedAt', 'settledAt', 'details'] as const;
const COMMON = `
local epoch, record, leases, all, ends = unpack(KEYS, 1, 5)
if redis.call('GET', epoch) ~= ARGV[1] then return {'stopped'} end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- Orders stand in their indexes by the microsecond, so that hardly two have the same place.
local micros = clock[1] * 1000000 + clock[2]
local gatewayNow, expected = tonumber(ARGV[2]), tonumber(ARGV[3])
local counter, seen, lost = unpack(KEYS, #KEYS - 2)
local count = tonumber(redis.call('GET', counter) or '0')
if count < expected then
  if count >= 0 then redis.call('HSET', lost, 'count', count) end
  redis.call('HSET', lost, 'seen', math.max(expected, tonumber(redis.call('HGET', lost, 'seen') or '0')))
  redis.call('SET', counter, -1)
  return {'stopped'}
end
local function keep(key, keptMs)
  redis.call('ZADD', ends, math.max(now, gatewayNow) + keptMs, key)
end
local index = {}
for i, state in ipairs({${states.map((state) => `'${state}'`).join(',')}}) do index[state] = KEYS[5 + i] end
local function fields(key)
  return redis.call('HMGET', key, ${FIELDS.map((field) => `'${field}'`).join(',')})
end
-- Moves an order between the sets of states in each of its indexes: out of \`from\`, into \`to\` where there is one.
local function relist(key, listed, from, to, score)
  local bases = {all}
  for base in string.gmatch(listed, '[^\\n]+') do table.insert(bases, all .. base) end
  for _, base in ipairs(bases) do
    if from then redis.call('ZREM', base .. ':' .. from, key) end
    if to then redis.call('ZADD', base .. ':' .. to, score, key) end
  end
end
local function put(key, from, to, keptMs)
  local listed, submittedAt = unpack(redis.call('HMGET', key, 'listed', 'submittedAt'))
  redis.call('HSET', key, 'state', to, 'settledAt', to == 'in_doubt' and '' or now)
  redis.call('ZREM', leases, key)
  if listed and listed ~= '' then
    relist(key, listed, from, to, redis.call('ZSCORE', index[from], key) or submittedAt * 1000)
  end
  if keptMs == '' then redis.call('ZREM', ends, key) else keep(key, keptMs) end
end
-- Removes a record from every index, its second name, and the record; or a second name alone.
local function remove(key)
  if redis.call('TYPE', key).ok == 'hash' then
    local state, listed, counted, alias = unpack(redis.call('HMGET', key, 'state', 'listed', 'counted', 'alias'))
    if state and listed and listed ~= '' then relist(key, listed, state) end
    if counted and counted ~= '' then redis.call('ZREM', counted, key) end
    if alias and alias ~= '' and redis.call('GET', alias) == key then
      redis.call('ZREM', ends, alias)
      redis.call('DEL', alias)
    end
  end
  redis.call('ZREM', leases, key)
  redis.call('ZREM', ends, key)
  redis.call('DEL', key)
end
-- What is over by both clocks: settled records and second names.
local function forget()
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', math.min(now, gatewayNow), 'LIMIT', 0, 100)) do
    remove(key)
  end
end
`;

/** ARGV: version, owner, lease ms, details, where it is indexed or counted as JSON, alias key or empty, alias ms, kept ms in doubt, then fingerprints. */
const BEGIN = new Script(`${COMMON}
local version, owner, leaseMs, details, listed, alias, aliasMs, doubtMs = unpack(ARGV, 4, 11)
if alias ~= '' then
  local target = redis.call('GET', alias)
  if target and target ~= record and redis.call('EXISTS', target) == 1 then return {'taken'} end
end
local known = redis.call('HMGET', record, 'version', 'state', 'owner', 'fingerprint', 'leaseUntil', 'submittedAt')
local state = known[2]
if known[1] or redis.call('EXISTS', record) == 1 then
  if known[1] ~= version or not state then return {'broken'} end
  -- Before anything else: an owner that slept through its lease must not send.
  if state == 'sending' and tonumber(known[5]) <= now then
    put(record, state, 'in_doubt', doubtMs)
    state = 'in_doubt'
  end
  if state == 'sending' and known[3] == owner then
    -- The first time may have been over another connection: WAIT speaks of what this one wrote.
    redis.call('HSET', record, 'owner', owner)
    return {'begun', tonumber(known[6]), count}
  end
  local same = 0
  for i = 12, #ARGV do if ARGV[i] == known[4] then same = 1 end end
  local free = ${released.map((state) => `state == '${state}'`).join(' or ')} or (state == 'rejected' and same == 0)
  if not free then return {'there', same, fields(record)} end
  remove(record)
end
local where = cjson.decode(listed)
local order = where.listed and where
local counted = order and '' or all .. ':writes:' .. where.caller
if not order and redis.call('ZCARD', counted) >= ${MOST_WRITES} then return {'full'} end
-- The first write of a new record: a script that has written before is not told any more that memory is full.
redis.call('HSET', record, 'version', version, 'state', 'sending', 'owner', owner, 'fingerprint', ARGV[12],
  'submittedAt', now, 'settledAt', '', 'leaseUntil', now + leaseMs, 'details', details, 'listed', order and order.listed or '',
  'counted', counted, 'alias', alias)
if not order then redis.call('ZADD', counted, now, record) end
redis.call('ZADD', leases, now + leaseMs, record)
if order then
  relist(record, order.listed, nil, 'sending', micros)
  redis.call('SADD', all .. ':channels', order.channel)
  for _, enterprise in ipairs(order.enterprises) do
    redis.call('SADD', all .. ':groups:' .. enterprise, order.group)
    redis.call('HSET', all .. ':groups', order.group, table.concat(order.enterprises, '\\n'))
  end
end
if alias ~= '' then
  redis.call('SET', alias, record)
  keep(alias, aliasMs)
end
return {'begun', now, redis.call('INCR', counter)}
`);

/** ARGV: version, owner. */
const HOLDS = new Script(`${COMMON}
local version, state, owner, leaseUntil = unpack(redis.call('HMGET', record, 'version', 'state', 'owner', 'leaseUntil'))
local holds = version == ARGV[4] and state == 'sending' and owner == ARGV[5] and tonumber(leaseUntil) > now
return {holds and 'held' or 'lost'}
`);

/** ARGV: version, owner or empty, new state, details or empty, kept ms or empty, least age ms, then the states it may come from. */
const MOVE = new Script(`${COMMON}
local version, owner, to, details, keptMs, minAgeMs = unpack(ARGV, 4, 9)
local known = redis.call('HMGET', record, 'version', 'state', 'owner', 'submittedAt')
if not known[1] and redis.call('EXISTS', record) == 0 then return {'missing'} end
if known[1] ~= version or not known[2] then return {'broken'} end
local allowed = owner == '' or owner == known[3]
local fits = false
for i = 10, #ARGV do if ARGV[i] == known[2] then fits = true end end
if not (allowed and fits) then return {'refused', fields(record)} end
-- A move without a least age is never early: Redis' clock may have stepped back since the write began.
local leftMs = known[4] + minAgeMs - math.min(now, gatewayNow)
if tonumber(minAgeMs) > 0 and leftMs > 0 then return {'early', leftMs} end
if details ~= '' then redis.call('HSET', record, 'details', details) end
put(record, known[2], to, keptMs)
local moved = fields(record)
-- A write that is no order and changed nothing leaves nothing.
if (${released.map((state) => `to == '${state}'`).join(' or ')}) and redis.call('HGET', record, 'listed') == '' then remove(record) end
return {'moved', moved}
`);

/** No further ARGV. */
const READ = new Script(`${COMMON}
if redis.call('EXISTS', record) == 0 then return {'missing'} end
return {'there', fields(record)}
`);

/** KEYS: epoch, records. ARGV: epoch, the gateway's time. */
const READ_MANY = new Script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'stopped'} end
local found = {}
for i = 2, #KEYS do
  local known = redis.call('HMGET', KEYS[i], ${FIELDS.map((field) => `'${field}'`).join(',')})
  if known[1] then table.insert(found, {KEYS[i], known}) end
end
return {'there', found}
`);

/** ARGV: kept ms of an order in doubt or empty, of another write, 1 to write in any case. Also tells and learns the highest count that was seen. */
const SWEEP = new Script(`${COMMON}
local highest = tonumber(redis.call('GET', seen) or '0')
-- The first write: a script that has written before is not told any more that no write is taken.
if ARGV[6] == '1' or expected > highest then
  highest = math.max(expected, highest)
  redis.call('SET', seen, highest)
end
forget()
local ended = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'LIMIT', 0, 500)
for _, key in ipairs(ended) do
  local state, listed = unpack(redis.call('HMGET', key, 'state', 'listed'))
  if state == 'sending' then put(key, state, 'in_doubt', listed ~= '' and ARGV[4] or ARGV[5]) end
  redis.call('ZREM', leases, key)
end
return {'swept', ended, highest}
`);

/** No further ARGV. */
const DOUBTS = new Script(`${COMMON}
local oldest = redis.call('ZRANGE', index['in_doubt'], 0, 0, 'WITHSCORES')
return {'there', redis.call('ZCARD', index['in_doubt']), oldest[2] and math.max(0, now - math.floor(oldest[2] / 1000)) or 0}
`);

type Fields = (string | null)[];
type Execute = (keys: readonly string[], values: readonly (string | number)[]) => Promise<unknown[]>;

function prefixOf(environment: string): string {
  return `{${environment}:guard}:`;
}

/** Keys that are not records: what says whether the store can be believed. */
export function storeKeys(environment: string) {
  const prefix = prefixOf(environment);
  return {
    /** Says that the store has not been emptied. */
    epoch: `${prefix}epoch`,
    count: `${prefix}count`,
    seen: `${prefix}seen`,
    lost: `${prefix}lost`,
    /** Which server has had how many replicas. */
    replicas: `${prefix}replicas`,
    /** Check values of encryption keys, by their ids. */
    keys: `${prefix}keys`,
  } as const;
}

/** The set of all orders that are in that state, by the time they were submitted. */
export function stateKey(environment: string, state: State): string {
  return `${prefixOf(environment)}orders:${state}`;
}

/** What a gateway knows of the store that it is connected to; every script compares it with the store. */
export interface KnownStore {
  /** As the gateway found it when it started, or an operator made it; undefined: the store cannot be believed. */
  readonly epoch: string | undefined;
  /** Redis denies a right that a write needs. */
  readonly lacksRights: boolean;
  /** So many writes have begun in it, at least. */
  readonly count: number;
  /** It has replicas: a write has begun once one of them has it too. */
  readonly replicated: boolean;
  /** So many of them: every one that may be promoted. */
  readonly acknowledgements: number;
  /** So many writes have begun, and the store is bound to remember them. */
  saw(count: number): void;
  /** It is time to try whether a write is taken: the sweep then writes, and is acknowledged like an order. */
  readonly trial: boolean;
  /** The trial went well. */
  wrote(): void;
  /** Too few replicas have what was written. */
  unacknowledged(): void;
  /** Redis refused a write, with that code. */
  refused(code: string): void;
  /** A record is there and does not open. */
  unreadable(name: string, reason: 'sealed' | 'broken'): void;
}

/** The order ledger of all replicas: one Lua script a step. */
export class RedisOrderLedger implements OrderLedgerStore {
  readonly #commonKeys: readonly string[];
  readonly #prefix: string;
  readonly #acknowledged: AcknowledgedScripts;
  readonly #index: OrderIndex;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
    private readonly known: KnownStore,
    private readonly rules = transitions,
  ) {
    // In braces what decides the slot: a script needs all of it.
    this.#prefix = prefixOf(environment);
    const { count, seen, lost } = storeKeys(environment);
    this.#commonKeys = [
      `${this.#prefix}leases`,
      `${this.#prefix}orders`,
      `${this.#prefix}orders:ends`,
      ...states.map((state) => stateKey(environment, state)),
      ...[count, seen, lost],
    ];
    this.#acknowledged = new AcknowledgedScripts(redis, () => known.acknowledgements);
    this.#index = new OrderIndex(this.#key('orders'), (script, keys, values) =>
      this.#ask(script, [this.#key('epoch'), ...keys], values),
    );
  }

  async begin({ name, owner, fingerprints, leaseMs, details, alias }: Begin): Promise<Begun> {
    if (this.known.lacksRights) throw new OrderLedgerUnavailable('refused');
    const values = [
      VERSION,
      owner,
      leaseMs,
      this.#sealed(name, details),
      JSON.stringify(
        details.order ? indexesOf(details.order) : { caller: encodeURIComponent(details.caller) },
      ),
      alias === undefined ? '' : this.#key(`alias:${alias}`),
      keptFor('rejected', details) ?? '',
      keptFor('in_doubt', details) ?? '',
      ...fingerprints,
    ];
    const { execute, isAcknowledged } = this.#confirmed(BEGIN);
    const [kind, ...rest] = await this.#run(BEGIN, name, values, { execute });
    if (kind === 'begun') {
      // A failover may forget it, and with it that this number was sent: so it is not sent.
      if (!isAcknowledged()) throw new OrderLedgerUnavailable('unacknowledged');
      this.known.saw(Number(rest[1]));
      return { kind, submittedAt: Number(rest[0]) };
    }
    if (kind === 'taken' || kind === 'full') return { kind };
    return { kind: 'there', same: rest[0] === 1, record: this.#opened(name, rest[1] as Fields) };
  }

  async holds(name: string, owner: string): Promise<boolean> {
    const [kind] = await this.#run(HOLDS, name, [VERSION, owner]);
    return kind === 'held';
  }

  async move({ name, by, owner, to, details, minAgeMs }: Move): Promise<Moved> {
    const from = states.filter((state) => this.rules[by][state]?.includes(to));
    // What its sender knows of a write is recorded also in a store that has lost others.
    const how = by === 'owner' ? { expected: -1 } : {};
    const kept = details ?? (await this.#read(name, how))?.details;
    if (!kept) return { kind: 'missing' };
    const [kind, ...rest] = await this.#run(
      MOVE,
      name,
      [
        VERSION,
        owner ?? '',
        to,
        details ? this.#sealed(name, details) : '',
        keptFor(to, kept) ?? '',
        minAgeMs ?? 0,
        ...from,
      ],
      how,
    );
    if (kind === 'missing') return { kind };
    if (kind === 'early') return { kind, leftMs: Number(rest[0]) };
    const fields = rest[0] as Fields;
    // What was given with a move that was made is what is kept now: it need not be opened.
    if (kind === 'moved') return { kind, record: this.#opened(name, fields, details) };
    return { kind: 'refused', record: this.#opened(name, fields) };
  }

  read(name: string): Promise<LedgerRecord | undefined> {
    return this.#read(name);
  }

  async #read(name: string, how: { expected?: number } = {}): Promise<LedgerRecord | undefined> {
    const [kind, fields] = await this.#run(READ, name, [], how);
    return kind === 'missing' ? undefined : this.#opened(name, fields as Fields);
  }

  async list(query: OrderQuery, offset: number, count: number, abandon?: AbortSignal): Promise<Listing> {
    const { keys, total } = await this.#index.page(query, offset, count, abandon);
    const records: LedgerRecord[] = [];
    for (let first = 0; first < keys.length; first += READ_AT_ONCE) {
      assertWanted(abandon);
      const part = keys.slice(first, first + READ_AT_ONCE);
      const [, found] = await this.#ask(READ_MANY, [this.#key('epoch'), ...part], []);
      for (const [key, fields] of found as [string, Fields][]) {
        try {
          records.push(this.#opened(key.slice(this.#prefix.length), fields));
        } catch {
          // Asked for by its number it is 503; the others of the page can be told all the same.
        }
      }
    }
    return { records, total };
  }

  async sweep(): Promise<readonly string[]> {
    const order = { order: {} } as Details;
    const { trial } = this.known;
    const { execute, isAcknowledged } = this.#confirmed(SWEEP);
    const [, ended, seen] = await this.#run(
      SWEEP,
      '',
      [keptFor('in_doubt', order) ?? '', keptFor('in_doubt', { caller: '' }) ?? '', trial ? 1 : 0],
      trial ? { execute } : {},
    );
    if (trial && isAcknowledged()) this.known.wrote();
    this.known.saw(Number(seen));
    return (ended as string[]).map((key) => key.slice(this.#prefix.length));
  }

  async doubts(): Promise<{ count: number; oldestMs: number }> {
    const [, count, oldestMs] = await this.#run(DOUBTS, '', []);
    return { count: Number(count), oldestMs: Number(oldestMs) };
  }

  /** Runs a script so that as many replicas have what it wrote as have to, and tells whether they do. */
  #confirmed(script: Script): { execute: Execute | undefined; isAcknowledged: () => boolean } {
    if (!this.known.replicated) return { execute: undefined, isAcknowledged: () => true };
    let isAcknowledged = false;
    const execute: Execute = async (keys, values) => {
      const { answer, acknowledged } = await this.#acknowledged.run({ script, keys, values });
      isAcknowledged = acknowledged;
      if (!acknowledged) this.known.unacknowledged();
      return answer;
    };
    return { execute, isAcknowledged: () => isAcknowledged };
  }

  #run(
    script: Script,
    name: string,
    values: readonly (string | number)[],
    { expected = this.known.count, execute }: { expected?: number; execute?: Execute | undefined } = {},
  ): Promise<unknown[]> {
    const keys = [this.#key('epoch'), this.#key(name), ...this.#commonKeys];
    return this.#ask(script, keys, [expected, ...values], execute);
  }

  async #ask(
    script: Script,
    keys: readonly string[],
    values: readonly (string | number)[],
    execute: Execute = (...all) => this.redis.run((client) => script.run<unknown[]>(client, ...all)),
  ): Promise<unknown[]> {
    const { epoch } = this.known;
    if (epoch === undefined) throw new OrderLedgerUnavailable('stopped');
    let answer: unknown[];
    try {
      answer = await execute(keys, [epoch, Date.now(), ...values]);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== undefined) this.known.refused(refusal);
      // A script that was denied in its midst may have written: repeated by the same owner it would count as begun.
      throw new OrderLedgerUnavailable(refusal === 'NOPERM' ? 'refused' : 'away', error);
    }
    if (answer[0] === 'stopped') throw new OrderLedgerUnavailable('stopped');
    if (answer[0] === 'broken') throw this.#unreadable((keys[1] ?? '').slice(this.#prefix.length), 'broken');
    return answer;
  }

  #unreadable(name: string, reason: 'sealed' | 'broken'): OrderLedgerUnavailable {
    this.known.unreadable(name, reason);
    return new OrderLedgerUnavailable(reason);
  }

  #key(name: string): string {
    return this.#prefix + name;
  }

  #sealed(name: string, details: Details): string {
    return this.redis.sealer?.seal(JSON.stringify(details), this.#key(name)) ?? '';
  }

  #opened(
    name: string,
    [version, state, submittedAt, settledAt, sealed]: Fields,
    details = this.#detailsIn(name, sealed),
  ): LedgerRecord {
    const known = version === VERSION && states.includes(state as State) && Number(submittedAt) > 0;
    // Never a miss: what cannot be read may well have been sent.
    if (!known || !details)
      throw this.#unreadable(name, known && this.#isForeign(sealed) ? 'sealed' : 'broken');
    return {
      name,
      state: state as State,
      submittedAt: Number(submittedAt),
      settledAt: settledAt ? Number(settledAt) : null,
      details,
    };
  }

  /** Sealed under a key that this gateway does not have. */
  #isForeign(sealed: string | null | undefined): boolean {
    return Boolean(sealed && this.redis.sealer?.lacksKeyOf(sealed));
  }

  #detailsIn(name: string, sealed: string | null | undefined): Details | undefined {
    const text = sealed ? this.redis.sealer?.open(sealed, this.#key(name)) : undefined;
    return text === undefined ? undefined : (JSON.parse(text) as Details);
  }
}
