import { Script } from '../kit/redis-script/redis-script.ts';
import { AcknowledgedScripts } from '../redis/acknowledged-scripts.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import { memoryOf } from '../redis/store-memory.ts';
import {
  cursorOf,
  entryIdOf,
  type LoggedMove,
  MAX_MOVES,
  type MoveLog,
  type Moves,
  MOVES_KEPT_MS,
  MovesDropped,
  PART_OF_STORE,
  type WantedMove,
} from './move-log.ts';
import { type KnownStore, OrderLedgerUnavailable } from './order-ledger-store.ts';
import { storeKeys } from './store-keys.ts';

/** The most moves that one script drops, so that others do not wait for it. */
const DROPPED_AT_ONCE = 500;

/*
 * The log is a stream of Redis. `dropped` has the id of the last entry that was dropped. With replicas, `shown` has the last entry that they
 * have for certain: a failover could lose a later one with its move, so nobody is shown it.
 * KEYS of each script begin with: epoch, moves, dropped, shown. ARGV begin with: epoch.
 */
const SAME_EPOCH = `
local moves, dropped, shown = KEYS[2], redis.call('GET', KEYS[3]) or '0-0', redis.call('GET', KEYS[4]) or '0-0'
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'stopped'} end
local function isBefore(one, other)
  local time, sequence = string.match(one, '(%d+)-(%d+)')
  local otherTime, otherSequence = string.match(other, '(%d+)-(%d+)')
  if time ~= otherTime then return tonumber(time) < tonumber(otherTime) end
  return tonumber(sequence) < tonumber(otherSequence)
end
`;

const LAST = `
local last = redis.call('XREVRANGE', moves, '+', '-', 'COUNT', 1)[1]
local newest = last and last[1] or dropped
`;

/**
 * ARGV: after or empty, count, wanted moves with spaces around each, or empty; the others come without what they have. 1 where only what is
 * shown is wanted: then there is also the newest, if it is not shown.
 */
const READ = new Script(`${SAME_EPOCH}
local after = ARGV[2]
if after ~= '' and isBefore(after, dropped) then return {'dropped', dropped} end
local upTo, newer = '+', nil
if ARGV[5] == '1' then ${LAST}
  upTo = shown
  if isBefore(shown, newest) then newer = newest end
end
local entries = redis.call('XRANGE', moves, after == '' and '-' or '(' .. after, upTo, 'COUNT', ARGV[3])
for at, entry in ipairs(entries) do
  local move = ' ' .. entry[2][2] .. ':' .. entry[2][4] .. ' '
  if ARGV[4] ~= '' and not string.find(ARGV[4], move, 1, true) then entries[at] = {entry[1], {}} end
end
return {'there', entries, newer}
`);

/** ARGV: the id of an entry. */
const ONE = new Script(`${SAME_EPOCH}
return {'there', redis.call('XRANGE', moves, ARGV[2], ARGV[2])}
`);

const NEWEST = new Script(`${SAME_EPOCH}${LAST}
return {'there', newest, shown}
`);

/** Something that replicas acknowledge only with all that was written before it. */
const FENCE = new Script(`${SAME_EPOCH}
redis.call('INCR', KEYS[5])
return {'there'}
`);

/** ARGV: the last that replicas have. */
const SHOW = new Script(`${SAME_EPOCH}
if isBefore(shown, ARGV[2]) then redis.call('SET', KEYS[4], ARGV[2]) end
return {'there'}
`);

/** KEYS: also the room that jobs have taken. ARGV: ms for which a move is kept, most moves, most bytes, most to drop. Returns how many were dropped. */
const TRIM = new Script(`${SAME_EPOCH}
local keptMs, mostMoves, mostBytes, atOnce = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local count = redis.call('XLEN', moves)
if count == 0 then return {'there', 0} end
for _, slot in ipairs(redis.call('HVALS', KEYS[5])) do mostBytes = mostBytes - cjson.decode(slot).bytes end
local bytes = redis.call('MEMORY', 'USAGE', moves)
local surplus = math.max(count - mostMoves, bytes > mostBytes and math.ceil(count * (1 - math.max(0, mostBytes) / bytes)) or 0)
local clock = redis.call('TIME')
local since = math.max(0, clock[1] * 1000 + math.floor(clock[2] / 1000) - keptMs)
local oldest = redis.call('XRANGE', moves, '-', '+', 'COUNT', atOnce)
local last = 0
for at, entry in ipairs(oldest) do
  if at > surplus and not isBefore(entry[1], since .. '-0') then break end
  last = at
end
if last == 0 then return {'there', 0} end
redis.call('SET', KEYS[3], oldest[last][1])
redis.call('XTRIM', moves, 'MAXLEN', count - last)
return {'there', last}
`);

/** Its id, and its fields with their names; none where it is not wanted. */
type Entry = readonly [string, readonly string[]];

function moveIn([id, [, of, , state = '', , name = '', , at, , record = '']]: Entry): LoggedMove[] {
  if (of !== 'order' && of !== 'job') return [];
  return [{ id: cursorOf(id), at: Number(at), of, state, name, record: JSON.parse(record) as unknown }];
}

/** The log of all replicas, in the order store. Records are as sealed as their own store has them. */
export class RedisMoveLog implements MoveLog {
  readonly #keys: readonly string[];
  readonly #slots: string;
  readonly #fence: string;
  readonly #acknowledged: AcknowledgedScripts;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
    private readonly known: KnownStore,
  ) {
    const { epoch, moves, movesDropped, movesShown, movesFence, importSlots } = storeKeys(environment);
    this.#keys = [epoch, moves, movesDropped, movesShown];
    this.#fence = movesFence;
    this.#slots = importSlots;
    this.#acknowledged = new AcknowledgedScripts(redis, () => known.server.acknowledgements);
  }

  async read(after: string | undefined, count: number, wanted: readonly WantedMove[] = []): Promise<Moves> {
    const from = after === undefined ? '' : entryIdOf(after);
    const words = wanted.length > 0 ? ` ${wanted.join(' ')} ` : '';
    const values = [from, count, words, this.known.server.replicated ? 1 : 0];
    let [kind, reply, newer] = await this.#run(READ, [], values);
    if (typeof newer === 'string' && (reply as readonly Entry[]).length < count && (await this.#show(newer)))
      [kind, reply, newer] = await this.#run(READ, [], values);
    if (kind === 'dropped') throw new MovesDropped(cursorOf(reply as string));
    const entries = reply as readonly Entry[];
    const last = entries.at(-1)?.[0];
    return {
      found: entries.flatMap(moveIn),
      last: last === undefined ? undefined : cursorOf(last),
      isEnd: entries.length < count,
    };
  }

  async one(id: string): Promise<LoggedMove | undefined> {
    const [, entries] = await this.#run(ONE, [], [entryIdOf(id)]);
    return (entries as readonly Entry[]).flatMap(moveIn)[0];
  }

  async newest(): Promise<string> {
    const [, newest, shown] = (await this.#run(NEWEST, [], [])) as [string, string, string];
    const isShown = !this.known.server.replicated || newest === shown || (await this.#show(newest));
    return cursorOf(isShown ? newest : shown);
  }

  async trim(): Promise<void> {
    const bytes = Math.floor(PART_OF_STORE * (await this.redis.run(memoryOf)));
    const most = Number.isFinite(bytes) ? bytes : Number.MAX_SAFE_INTEGER;
    let dropped: unknown;
    do {
      const values = [MOVES_KEPT_MS, MAX_MOVES, most, DROPPED_AT_ONCE];
      [, dropped] = await this.#run(TRIM, [this.#slots], values);
    } while (dropped === DROPPED_AT_ONCE);
  }

  /** Resolves to whether replicas have every move up to this one. */
  async #show(newest: string): Promise<boolean> {
    const { epoch = '' } = this.known;
    const run = { script: FENCE, keys: [...this.#keys, this.#fence], values: [epoch] };
    const { acknowledged } = await this.#acknowledged.run(run).catch((error: unknown) => {
      throw new OrderLedgerUnavailable('away', error);
    });
    if (acknowledged) await this.#run(SHOW, [], [newest]);
    return acknowledged;
  }

  async #run(script: Script, keys: readonly string[], values: readonly (string | number)[]) {
    const { epoch } = this.known;
    if (epoch === undefined) throw new OrderLedgerUnavailable('stopped');
    let reply: [string, unknown?, unknown?];
    try {
      reply = await this.redis.run((client) =>
        script.run<[string, unknown?, unknown?]>(client, [...this.#keys, ...keys], [epoch, ...values]),
      );
    } catch (error) {
      throw new OrderLedgerUnavailable('away', error);
    }
    if (reply[0] === 'stopped') throw new OrderLedgerUnavailable('stopped');
    return reply;
  }
}
