import { LEASE } from '../../kit/lease/lease.ts';
import { Script } from '../../kit/redis-script/redis-script.ts';
import { LOG_MOVE } from '../../order-ledger/move-log.ts';

/*
 * Jobs as Redis has them, and their steps: each is one script, by the clock of the server. The hash of a job has its definition (sealed),
 * state, counts, times and version, and its owner: the token of the queue's lock under which a process took the job last. No other process
 * changes the job.
 */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

const OWNER = `
local function owned(key, owner)
  return redis.call('HGET', key, 'owner') == owner
end
local function changed(key)
  redis.call('HINCRBY', key, 'version', 1)
  redis.call('HSET', key, 'changedAt', now)
end`;

/** KEYS: slots. ARGV: id, enterprise, caller, bytes, limit of all bytes, life, limit of imports of a caller, owner. */
export const RESERVE = new Script(`${NOW}
local bytes, own = tonumber(ARGV[4]), 0
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local slot = cjson.decode(all[at + 1])
  if slot.ends <= now then redis.call('HDEL', KEYS[1], all[at])
  elseif all[at] == ARGV[1] and slot.owner ~= ARGV[8] then return {'in-progress', all[at]}
  elseif all[at] ~= ARGV[1] then
    if not slot.over then
      if slot.enterprise == ARGV[2] then return {'in-progress', all[at]} end
      if slot.caller == ARGV[3] then own = own + 1 end
    end
    bytes = bytes + slot.bytes
  end
end
if own >= tonumber(ARGV[7]) then return {'full', 'caller'} end
if bytes > tonumber(ARGV[5]) then return {'full', 'store'} end
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode({
  enterprise = ARGV[2], caller = ARGV[3], bytes = tonumber(ARGV[4]), ends = now + tonumber(ARGV[6]), owner = ARGV[8]
}))
return {'reserved'}`);

const SLOT = `
local slot = redis.call('HGET', KEYS[1], ARGV[1])
slot = slot and cjson.decode(slot)`;

/** KEYS: slots, job, waiting, results. ARGV: id, owner. */
export const RELEASE = new Script(`${SLOT}
if not slot or slot.owner ~= ARGV[2] or redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[3], KEYS[4])
return 1`);

/**
 * KEYS: waiting or results. ARGV: life, then the number of each chunk and its bytes. The life is set in the same step, so that nothing
 * stays for good if the gateway or Redis dies before there is a job.
 */
export const UPLOAD = new Script(`
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`);

/**
 * KEYS: slots, job, unfinished, all, of the enterprise, waiting, results. ARGV: id, definition, chunks, rows, bytes, waiting life, job
 * life, slot life, owner. Returns 0 if the room is not reserved for this owner any more.
 */
export const CREATE = new Script(`${NOW}${SLOT}
if not slot or slot.owner ~= ARGV[9] then return 0 end
if redis.call('EXISTS', KEYS[2]) == 1 then return 1 end
slot.bytes, slot.ends = tonumber(ARGV[5]), now + tonumber(ARGV[8])
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(slot))
redis.call('HSET', KEYS[2], 'definition', ARGV[2], 'state', 'queued', 'chunks', ARGV[3], 'total', ARGV[4],
  'createdAt', now, 'changedAt', now, 'version', 1)
local life = tonumber(ARGV[7])
redis.call('PEXPIRE', KEYS[2], life)
redis.call('PEXPIRE', KEYS[6], ARGV[6])
redis.call('PEXPIRE', KEYS[7], life)
redis.call('ZADD', KEYS[3], now, ARGV[1])
for index = 4, 5 do
  redis.call('ZREMRANGEBYSCORE', KEYS[index], 0, now - life)
  redis.call('ZADD', KEYS[index], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[index], life)
end
return 1`);

/** KEYS: job, calls, unfinished, lock. ARGV: id, owner. */
export const TAKE = new Script(`${NOW}${OWNER}${LEASE}
local state = redis.call('HGET', KEYS[1], 'state')
if not state then redis.call('ZREM', KEYS[3], ARGV[1]) end
if state ~= 'queued' and state ~= 'running' then return {'ended'} end
if not lease.holds(KEYS[4], ARGV[2]) then return {'lost'} end
redis.call('HSET', KEYS[1], 'owner', ARGV[2], 'state', 'running')
redis.call('HSETNX', KEYS[1], 'startedAt', now)
changed(KEYS[1])
return {'taken', redis.call('HGETALL', KEYS[2])}`);

/** KEYS: job, calls, lock. ARGV: owner, chunk, calls. */
export const BEGIN_CALL = new Script(`${NOW}${OWNER}${LEASE}
if not owned(KEYS[1], ARGV[1]) or not lease.holds(KEYS[3], ARGV[1]) then return 'lost' end
if redis.call('HGET', KEYS[1], 'cancelled') then return 'cancelled' end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1]))
return 'done'`);

/**
 * KEYS: job, waiting, results, counts, calls. ARGV: owner, chunk, results, counts, the rows that wait or ''. The counts of the job change
 * by the difference to the last counts of the chunk, so a repeat changes nothing.
 */
export const SAVE = new Script(`${NOW}${OWNER}
if not owned(KEYS[1], ARGV[1]) then return 'lost' end
local names = {'added', 'updated', 'unchanged', 'deleted', 'failed', 'unknown'}
local last = cjson.decode(redis.call('HGET', KEYS[4], ARGV[2]) or '[0,0,0,0,0,0]')
for index, count in ipairs(cjson.decode(ARGV[4])) do
  if count ~= last[index] then redis.call('HINCRBY', KEYS[1], names[index], count - last[index]) end
end
local life = redis.call('PTTL', KEYS[1])
redis.call('HSET', KEYS[4], ARGV[2], ARGV[4])
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[4], life)
redis.call('PEXPIRE', KEYS[3], life)
if ARGV[5] == '' then
  redis.call('HDEL', KEYS[2], ARGV[2])
  redis.call('HDEL', KEYS[5], ARGV[2])
else
  local left = redis.call('PTTL', KEYS[2])
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[5])
  if left < 0 then left = math.max(1, redis.call('HGET', KEYS[1], 'createdAt') + 86400000 - now) end
  redis.call('PEXPIRE', KEYS[2], left)
end
changed(KEYS[1])
return redis.call('HGET', KEYS[1], 'cancelled') and 'cancelled' or 'done'`);

/** KEYS: job. ARGV: owner, chunks, total. */
export const PREPARED = new Script(`${NOW}${OWNER}
if not owned(KEYS[1], ARGV[1]) then return 'lost' end
redis.call('HSET', KEYS[1], 'prepared', 1, 'chunks', ARGV[2], 'total', ARGV[3])
changed(KEYS[1])
return 'done'`);

const END = `${LOG_MOVE}
local function finish(id, state, problem, life)
  redis.call('HSET', KEYS[1], 'state', state, 'finishedAt', now, 'problem', problem, 'owner', '')
  redis.call('DEL', KEYS[2], KEYS[3])
  redis.call('ZREM', KEYS[5], id)
  local slot = redis.call('HGET', KEYS[4], id)
  if slot then
    slot = cjson.decode(slot)
    slot.over, slot.ends, slot.bytes = true, now + life, math.floor(slot.bytes / 2)
    redis.call('HSET', KEYS[4], id, cjson.encode(slot))
  end
  changed(KEYS[1])
  logMove(KEYS[6], 'job', id, state, redis.call('HGETALL', KEYS[1]))
end`;

/** KEYS: job, waiting, calls, slots, unfinished, moves. ARGV: owner, id, state, problem or '', life of the job. */
export const FINISH = new Script(`${NOW}${OWNER}${END}
if not owned(KEYS[1], ARGV[1]) then return 'lost' end
finish(ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]))
return 'done'`);

/** KEYS: those of FINISH. ARGV: id, life of the job. Returns 0 if the job has ended. */
export const CANCEL = new Script(`${NOW}${OWNER}${END}
local state, started = unpack(redis.call('HMGET', KEYS[1], 'state', 'startedAt'))
if state ~= 'queued' and state ~= 'running' then return 0 end
redis.call('HSET', KEYS[1], 'cancelled', 1)
if started then changed(KEYS[1]) else finish(ARGV[1], 'cancelled', '', tonumber(ARGV[2])) end
return 1`);
