import { budgetWords, MONTHS_KEPT } from '../control/budgets.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import { released, states } from './ledger-record.ts';
import { WINDOW_FIELDS } from './redis-maintenance-store.ts';
import { LOG_MOVE } from './move-log.ts';
import { MAX_WRITES } from './order-ledger-store.ts';

/*
 * The scripts of the order ledger: each is one atomic step.
 *
 * A record is a hash: version, state, owner, fingerprint, submittedAt, settledAt, leaseUntil, and the sealed details. `listed` names
 * the indexes of an order besides the index of all orders (order-index.ts); the scripts that move a record also update its indexes.
 * Each move of an order is written into the log of moves (move-log.ts). Records that are being sent are indexed by the end of their lease. Times are those of Redis. Every script first compares the store
 * epoch: a store that lost the epoch has lost the records too.
 *
 * No record has an expiry of Redis (PEXPIRE): after a jump of the clock Redis would delete it at once, and the order could be sent again.
 * `ends` has the time at which a settled record may be deleted, counted from the later of two clocks, Redis' and the gateway's. The sweep
 * deletes the record when the earlier of the two clocks has reached that time.
 *
 * KEYS: epoch, record, leases, all orders, ends, then orders by state in the order of `states`, then count, seen, lost, moves, maintenance.
 * ARGV of every script begins with: epoch, the gateway's time, and the number of begun writes that this gateway knows of.
 *
 * `count` rises with every write that begins. If it is lower than what a gateway has seen, the store was restored to an older state and
 * has lost writes: a repeat of one of them would be sent again. The first script that finds this makes the count negative, which stops
 * every gateway, and `lost` keeps both numbers. `seen` is the highest count that any gateway has reported.
 */
const FIELDS = `'version', 'state', 'submittedAt', 'settledAt', 'details'`;
const isReleased = (name: string) => released.map((state) => `${name} == '${state}'`).join(' or ');
const COMMON = `
local epoch, record, leases, all, ends = unpack(KEYS, 1, 5)
if redis.call('GET', epoch) ~= ARGV[1] then return {'stopped'} end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- Indexes sort orders by the microsecond, so that two orders hardly ever have the same score.
local micros = clock[1] * 1000000 + clock[2]
local gatewayNow, expected = tonumber(ARGV[2]), tonumber(ARGV[3])
local counter, seen, lost, moves, maintenance = unpack(KEYS, #KEYS - 4)
local count = tonumber(redis.call('GET', counter) or '0')
if count < expected then
  if count >= 0 then redis.call('HSET', lost, 'count', count) end
  redis.call('HSET', lost, 'seen', math.max(expected, tonumber(redis.call('HGET', lost, 'seen') or '0')))
  redis.call('SET', counter, -1)
  return {'stopped'}
end
${LOG_MOVE}
local function keep(key, keptMs)
  redis.call('ZADD', ends, math.max(now, gatewayNow) + keptMs, key)
end
local index = {}
for i, state in ipairs({${states.map((state) => `'${state}'`).join(',')}}) do index[state] = KEYS[5 + i] end
local function fields(key)
  return redis.call('HMGET', key, ${FIELDS})
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
-- Where an order is provably not placed, once.
local function giveBack(key)
  local taken = redis.call('HGET', key, 'budget')
  if not taken or taken == '' then return end
  local budget = cjson.decode(taken)
  for name, amount in pairs(budget.amounts) do
    local used = redis.call('HGET', budget.key, name)
    if used then redis.call('HSET', budget.key, name, math.max(0, used - amount)) end
  end
  redis.call('HSET', key, 'budget', '')
end
local function put(key, from, to, keptMs)
  local listed, submittedAt = unpack(redis.call('HMGET', key, 'listed', 'submittedAt'))
  redis.call('HSET', key, 'state', to, 'settledAt', to == 'in_doubt' and '' or now)
  redis.call('ZREM', leases, key)
  if listed and listed ~= '' then
    relist(key, listed, from, to, redis.call('ZSCORE', index[from], key) or submittedAt * 1000)
  end
  if keptMs == '' then redis.call('ZREM', ends, key) else keep(key, keptMs) end
  if to == 'rejected' or ${isReleased('to')} then giveBack(key) end
  if listed and listed ~= '' then logMove(moves, 'order', key, to, fields(key)) end
end
-- Removes a record from every index, its alias, and the record; or an alias alone.
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
-- Deletes records and aliases whose time is over by both clocks.
local function forget()
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', math.min(now, gatewayNow), 'LIMIT', 0, 100)) do
    remove(key)
  end
end
`;

export const MONTH_OF = `
-- The calendar month (UTC) of a time in ms, as 2026-11: days are counted from March, so that the leap day is the last.
local function monthOf(ms)
  local days = math.floor(ms / 86400000) + 719468
  local era = math.floor(days / 146097)
  local day = days - era * 146097
  local year = math.floor((day - math.floor(day / 1460) + math.floor(day / 36524) - math.floor(day / 146096)) / 365)
  local march = math.floor((5 * (day - (365 * year + math.floor(year / 4) - math.floor(year / 100))) + 2) / 153)
  local month = march < 10 and march + 3 or march - 9
  return string.format('%04d-%02d', year + era * 400 + (month <= 2 and 1 or 0), month)
end
`;

/** ARGV: version, owner, lease ms, details, where it is indexed or counted as JSON, alias key or empty, alias ms, kept ms in doubt, then fingerprints. */
export const BEGIN = new Script(`${COMMON}
${MONTH_OF}
local version, owner, leaseMs, details, listed, alias, aliasMs, doubtMs = unpack(ARGV, 4, 11)
if alias ~= '' then
  local target = redis.call('GET', alias)
  if target and target ~= record and redis.call('EXISTS', target) == 1 then return {'taken'} end
end
local known = redis.call('HMGET', record, 'version', 'state', 'owner', 'fingerprint', 'leaseUntil', 'submittedAt')
local state = known[2]
if known[1] or redis.call('EXISTS', record) == 1 then
  if known[1] ~= version or not state then return {'broken'} end
  -- First: an owner that was suspended until after its lease must not send.
  if state == 'sending' and tonumber(known[5]) <= now then
    put(record, state, 'in_doubt', doubtMs)
    state = 'in_doubt'
  end
  if state == 'sending' and known[3] == owner then
    -- The first attempt may have used another connection, and WAIT counts only what this connection wrote.
    redis.call('HSET', record, 'owner', owner)
    return {'begun', tonumber(known[6]), count}
  end
  local same = 0
  for i = 12, #ARGV do if ARGV[i] == known[4] then same = 1 end end
  local free = ${isReleased('state')} or (state == 'rejected' and same == 0)
  if not free then return {'there', same, fields(record)} end
end
local where = cjson.decode(listed)
local order = where.listed and where
-- Each word of \`stops\` stops orders.
local window = order and redis.call('HMGET', maintenance, ${WINDOW_FIELDS})
if window and window[1] and tonumber(window[2]) <= now and now < tonumber(window[3]) then
  return {'maintenance', now, window}
end
local budget, spent = '', {}
if order and order.budgets then
  local amounts = {}
  local key = all .. ':budgets:' .. order.caller .. ':' .. monthOf(now)
  for _, use in ipairs(order.budgets) do
    local used = redis.call('HGET', key, use.budget) or 0
    if use.amount > 0 and used + use.amount > use.limit then return {'exhausted', now, use.budget} end
    amounts[use.budget] = use.amount
    table.insert(spent, {key, use.budget, used + use.amount})
  end
  budget = cjson.encode({key = key, amounts = amounts})
end
if known[1] then remove(record) end
local counted = order and '' or all .. ':writes:' .. where.caller
if not order and redis.call('ZCARD', counted) >= ${MAX_WRITES} then return {'full'} end
-- The first write is the large one: Redis refuses a script for full memory only before its first write.
redis.call('HSET', record, 'version', version, 'state', 'sending', 'owner', owner, 'fingerprint', ARGV[12],
  'submittedAt', now, 'settledAt', '', 'leaseUntil', now + leaseMs, 'details', details, 'listed', order and order.listed or '',
  'counted', counted, 'alias', alias, 'budget', budget)
for _, each in ipairs(spent) do
  redis.call('HSET', each[1], each[2], each[3])
  redis.call('PEXPIRE', each[1], ${MONTHS_KEPT * 31 * 86_400_000})
end
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
export const HOLDS = new Script(`${COMMON}
local version, state, owner, leaseUntil = unpack(redis.call('HMGET', record, 'version', 'state', 'owner', 'leaseUntil'))
local holds = version == ARGV[4] and state == 'sending' and owner == ARGV[5] and tonumber(leaseUntil) > now
return {holds and 'held' or 'lost'}
`);

/** ARGV: version, owner or empty, new state, details or empty, kept ms or empty, least age ms, then the states from which it may move. */
export const MOVE = new Script(`${COMMON}
local version, owner, to, details, keptMs, minAgeMs = unpack(ARGV, 4, 9)
local known = redis.call('HMGET', record, 'version', 'state', 'owner', 'submittedAt')
if not known[1] and redis.call('EXISTS', record) == 0 then return {'missing'} end
if known[1] ~= version or not known[2] then return {'broken'} end
local allowed = owner == '' or owner == known[3]
local fits = false
for i = 10, #ARGV do if ARGV[i] == known[2] then fits = true end end
if not (allowed and fits) then return {'refused', fields(record)} end
-- Without a least age no move is early: Redis' clock may have stepped back since the write began.
local leftMs = known[4] + minAgeMs - math.min(now, gatewayNow)
if tonumber(minAgeMs) > 0 and leftMs > 0 then return {'early', leftMs} end
if details ~= '' then redis.call('HSET', record, 'details', details) end
put(record, known[2], to, keptMs)
local moved = fields(record)
-- A write that is no order and changed nothing leaves no record.
if (${isReleased('to')}) and redis.call('HGET', record, 'listed') == '' then remove(record) end
return {'moved', moved}
`);

/**
 * ARGV: none, or `within` and the enterprises of which each item of the order must name one. Of an order of others nothing leaves Redis, and it
 * takes the steps of one that does not exist: neither the reply nor its time tells that it is there.
 */
export const READ = new Script(`${COMMON}
if ARGV[4] then
  local granted = {}
  for i = 5, #ARGV do granted[ARGV[i]] = true end
  local listed = redis.call('HGET', record, 'listed') or ''
  local group = string.match(listed, '([^/]*)$')
  local members = redis.call('HGET', all .. ':groups', group) or group
  for enterprise in string.gmatch(members .. '\\n', '([^\\n]*)\\n') do
    if enterprise == '' or not granted[enterprise] then return {'missing'} end
  end
end
if redis.call('EXISTS', record) == 0 then return {'missing'} end
return {'there', fields(record)}
`);

/** KEYS: epoch, records. ARGV: epoch, the gateway's time. */
export const READ_MANY = new Script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'stopped'} end
local found = {}
for i = 2, #KEYS do
  local known = redis.call('HMGET', KEYS[i], ${FIELDS})
  if known[1] then table.insert(found, {KEYS[i], known}) end
end
return {'there', found}
`);

/** ARGV: kept ms of an order in doubt or empty, of another write, 1 to write in any case. Also exchanges the highest count that was seen. */
export const SWEEP = new Script(`${COMMON}
local highest = tonumber(redis.call('GET', seen) or '0')
-- The first write: Redis reports that it refuses writes only before it.
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

/** It has no further ARGV. */
export const WAITING = new Script(`${COMMON}
local waiting = {'there'}
for _, state in ipairs({'in_doubt', 'accepted'}) do
  local oldest = redis.call('ZRANGE', index[state], 0, 0, 'WITHSCORES')
  table.insert(waiting, redis.call('ZCARD', index[state]))
  table.insert(waiting, oldest[2] and math.max(0, now - math.floor(oldest[2] / 1000)) or 0)
end
return waiting
`);

/** ARGV: the caller, then months. */
export const USED = new Script(`${COMMON}
local found = {}
for i = 5, #ARGV do
  table.insert(found, redis.call('HMGET', all .. ':budgets:' .. ARGV[4] .. ':' .. ARGV[i], ${budgetWords.words.map((word) => `'${word}'`).join(', ')}))
end
return {'there', found}
`);
