import { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import { memoryOf } from '../redis/store-memory.ts';
import {
  cursorOf,
  entryIdOf,
  type LoggedMove,
  MAX_MOVES,
  type MoveLog,
  MOVES_KEPT_MS,
  MovesDropped,
  NO_MOVE,
  PART_OF_STORE,
} from './move-log.ts';
import { type KnownStore, OrderLedgerUnavailable } from './order-ledger-store.ts';
import { storeKeys } from './store-keys.ts';

/** The most moves that one script drops, so that others do not wait for it. */
const DROPPED_AT_ONCE = 500;

/*
 * The log is a stream of Redis. `dropped` has the id of the last entry that was dropped.
 * KEYS of each script begin with: epoch, moves, dropped. ARGV begin with: epoch.
 */
const SAME_EPOCH = `
local moves, dropped = KEYS[2], redis.call('GET', KEYS[3]) or '0-0'
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'stopped'} end
local function isBefore(one, other)
  local time, sequence = string.match(one, '(%d+)-(%d+)')
  local otherTime, otherSequence = string.match(other, '(%d+)-(%d+)')
  if time ~= otherTime then return tonumber(time) < tonumber(otherTime) end
  return tonumber(sequence) < tonumber(otherSequence)
end
`;

/** ARGV: after or empty, count. */
const READ = new Script(`${SAME_EPOCH}
local after = ARGV[2]
if after ~= '' and isBefore(after, dropped) then return {'dropped', dropped} end
return {'there', redis.call('XRANGE', moves, after == '' and '-' or '(' .. after, '+', 'COUNT', ARGV[3])}
`);

const NEWEST = new Script(`${SAME_EPOCH}
local last = redis.call('XREVRANGE', moves, '+', '-', 'COUNT', 1)[1]
return {'there', last and last[1] or dropped}
`);

/** KEYS: also the room that jobs have taken. ARGV: ms for which a move is kept, most moves, most bytes, most to drop. Returns how many were dropped. */
const TRIM = new Script(`${SAME_EPOCH}
local keptMs, mostMoves, mostBytes, atOnce = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local count = redis.call('XLEN', moves)
if count == 0 then return {'there', 0} end
for _, slot in ipairs(redis.call('HVALS', KEYS[4])) do mostBytes = mostBytes - cjson.decode(slot).bytes end
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

/** The log of all replicas, in the order store. Records are as sealed as their own store has them. */
export class RedisMoveLog implements MoveLog {
  readonly #keys: readonly string[];
  readonly #slots: string;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
    private readonly known: KnownStore,
  ) {
    const { epoch, moves, movesDropped, importSlots } = storeKeys(environment);
    this.#keys = [epoch, moves, movesDropped];
    this.#slots = importSlots;
  }

  async read(after: string | undefined, count: number): Promise<readonly LoggedMove[]> {
    const from = after === undefined ? '' : entryIdOf(after);
    const [kind, found] = await this.#run(READ, [], [from, count]);
    if (kind === 'dropped') throw new MovesDropped(cursorOf(found as string));
    return (found as [string, string[]][]).map(([id, [, of, , name = '', , at, , record = '']]) => ({
      id: cursorOf(id),
      at: Number(at),
      of: of as LoggedMove['of'],
      name,
      record: JSON.parse(record) as unknown,
    }));
  }

  async newest(): Promise<string> {
    const [, newest = NO_MOVE] = await this.#run(NEWEST, [], []);
    return cursorOf(newest as string);
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

  async #run(script: Script, keys: readonly string[], values: readonly (string | number)[]) {
    const { epoch } = this.known;
    if (epoch === undefined) throw new OrderLedgerUnavailable('stopped');
    let reply: [string, unknown?];
    try {
      reply = await this.redis.run((client) =>
        script.run<[string, unknown?]>(client, [...this.#keys, ...keys], [epoch, ...values]),
      );
    } catch (error) {
      throw new OrderLedgerUnavailable('away', error);
    }
    if (reply[0] === 'stopped') throw new OrderLedgerUnavailable('stopped');
    return reply;
  }
}
