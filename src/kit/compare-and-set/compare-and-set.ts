import { createHash } from 'node:crypto';
import { type RunCommand, Script } from '../redis-script/redis-script.ts';

/** `endsInMs` is negative if the value never expires. */
export interface KeptValue {
  readonly value: string;
  readonly endsInMs: number;
}

interface Change {
  /** The index of the key in the list of keys. */
  readonly index: number;
  readonly value: string;
  /** The time to live. 0 deletes the value. */
  readonly lifeMs: number;
}

/** `now` is in ms, by Redis' own clock, because the clocks of replicas differ. */
type Decide<T> = (
  kept: readonly (KeptValue | undefined)[],
  now: number,
) => { readonly result: T; readonly changes: readonly Change[] };

const SAME_LIFE_MS = -1;

/**
 * KEYS: any, in one slot. ARGV: the mark of the values by which a step was decided, then for each change the number of its key, the value
 * and its life in ms (0 deletes, -1 keeps the expiry). If the keys still have that mark, the script makes the changes and returns nothing.
 * Otherwise it returns the mark, the time, and for each key its value and the rest of its life. A value of another type counts as missing.
 */
const CHANGE = new Script(`
local values = {}
for i, key in ipairs(KEYS) do
  local value = redis.pcall('GET', key)
  values[i] = type(value) == 'string' and value or ''
end
local mark = redis.sha1hex(table.concat(values, ' '))
if ARGV[1] == mark then
  for i = 2, #ARGV, 3 do
    local key, value, lifeMs = KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2]
    if lifeMs == '0' then redis.call('DEL', key)
    elseif lifeMs == '${SAME_LIFE_MS}' then redis.call('SET', key, value, 'KEEPTTL')
    else redis.call('SET', key, value, 'PX', lifeMs) end
  end
  return {}
end
local clock = redis.call('TIME')
local found = {mark, clock[1] * 1000 + math.floor(clock[2] / 1000)}
for i, key in ipairs(KEYS) do
  found[2 * i + 1] = values[i]
  found[2 * i + 2] = redis.call('PTTL', key)
end
return found
`);

function change(
  run: RunCommand,
  keys: readonly string[],
  mark: string,
  changes: readonly Change[],
): Promise<(string | number)[]> {
  const values = changes.flatMap(({ index, value, lifeMs }) => [index + 1, value, lifeMs]);
  return run((client) => CHANGE.run(client, keys, [mark, ...values]));
}

/** Runs one atomic step. If another owner has changed a value since the read, `decide` runs again, so it must have no other effect. */
export async function atomicStep<T>(run: RunCommand, keys: readonly string[], decide: Decide<T>): Promise<T> {
  let found = await change(run, keys, '', []);
  for (;;) {
    const [mark = '', now, ...kept] = found;
    const values = keys.map((_, index) => {
      const value = String(kept[2 * index]);
      return value === '' ? undefined : { value, endsInMs: Number(kept[2 * index + 1]) };
    });
    const { result, changes } = decide(values, Number(now));
    if (changes.length === 0) return result;
    found = await change(run, keys, String(mark), changes);
    if (found.length === 0) return result;
  }
}

/**
 * Replaces a value that was read, and keeps its expiry. Undefined deletes it. Resolves to false if the value is gone or has changed since
 * the read.
 */
export async function replaceValue(
  run: RunCommand,
  key: string,
  read: string,
  value: string | undefined,
): Promise<boolean> {
  const mark = createHash('sha1').update(read).digest('hex');
  const lifeMs = value === undefined ? 0 : SAME_LIFE_MS;
  return (await change(run, [key], mark, [{ index: 0, value: value ?? '', lifeMs }])).length === 0;
}
