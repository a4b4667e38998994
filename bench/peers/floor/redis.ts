import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';

/** The data of the floor in Redis: rates, generations and lists. */

const { REDIS_URL = '', ENCRYPTION_KEYS = '' } = process.env;
const redis = new Redis(REDIS_URL);
const KEY = Buffer.from(ENCRYPTION_KEYS.split(':')[1] ?? '', 'base64');
const [IV_BYTES, TAG_BYTES] = [12, 16];

/** Seals with AES-256-GCM. The text can be opened under the same name only. */
export function seal(text: string, name: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', KEY, iv).setAAD(Buffer.from(name));
  const parts = [iv, cipher.update(text, 'utf8'), cipher.final()];
  return Buffer.concat([...parts, cipher.getAuthTag()]).toString('base64url');
}

function open(sealed: string, name: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', KEY, bytes.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString();
}

export const fingerprint = (text: string): string =>
  createHmac('sha256', KEY).update(text).digest('base64url');

type Send<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

const due: (() => void)[] = [];
/** Sends all commands of a turn of the event loop to Redis in one write. */
function atEndOfTurn(run: () => void): void {
  if (due.push(run) > 1) return;
  setImmediate(() => {
    redis.stream.cork();
    for (const each of due.splice(0)) each();
    redis.stream.uncork();
  });
}

/** Runs one command at a time, for all items that arrived since the last one. */
export class Batch<Item, Result> {
  readonly #items: Item[] = [];
  #results = Promise.withResolvers<readonly Result[]>();
  #isBusy = false;

  constructor(private readonly send: Send<Item, Result>) {}

  async add(item: Item): Promise<Result> {
    const place = this.#items.push(item) - 1;
    const { promise } = this.#results;
    if (!this.#isBusy) this.#start();
    return (await promise)[place] as Result;
  }

  #start(): void {
    this.#isBusy = true;
    atEndOfTurn(() => void this.#run());
  }

  async #run(): Promise<void> {
    const items = this.#items.splice(0);
    const { resolve, reject } = this.#results;
    this.#results = Promise.withResolvers();
    await this.send(items).then(resolve, reject);
    this.#isBusy = false;
    if (this.#items.length > 0) this.#start();
  }
}

/** The script of the gateway (src/caller/rate-window.ts). */
const TAKE = await loaded(`
redis.set_repl(redis.REPL_REPLICA)
local asked, limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = redis.pcall('GET', KEYS[1])
local used = type(stored) == 'string' and string.match(stored, '^%d+$') and tonumber(stored)
local left = redis.call('PTTL', KEYS[1])
if not used or left <= 0 then used, left = 0, window end
if left > window then left = window end
local granted = math.min(asked, math.max(limit - used, 0))
redis.call('SET', KEYS[1], string.format('%d', used + granted), 'PX', left)
return {granted, used + granted, left}
`);

/** The script of the gateway (src/read-cache/redis-store.ts). */
const STORE = await loaded(`
redis.set_repl(redis.REPL_REPLICA)
for i = 1, #KEYS do
  redis.call('SET', KEYS[i], ARGV[2 * i - 1], 'PX', ARGV[2 * i])
end
`);

async function loaded(script: string): Promise<string> {
  return String(await redis.script('LOAD', script));
}

export interface Rate {
  readonly admitted: boolean;
  readonly left: number;
  readonly endsInS: number;
}

/** The window of a caller, counted in Redis for all replicas. */
export function rateOf(name: string, requests: number, perSeconds: number): () => Promise<Rate> {
  const window = new Batch<undefined, Rate>(async (asked) => {
    const all = [1, `rate:${name}`, asked.length, requests, perSeconds * 1_000] as const;
    const [granted, used, leftMs] = (await redis.evalsha(TAKE, ...all)) as [number, number, number];
    const endsInS = Math.max(Math.ceil(leftMs / 1_000), 0);
    return asked.map((_, at) => {
      const admitted = at < granted;
      return { admitted, left: admitted ? requests - (used - granted) - at - 1 : 0, endsInS };
    });
  });
  return () => window.add(undefined);
}

const GENERATION_MS = 24 * 3_600_000;
const generationKey = (tag: string) => `{gen}:${tag}`;
const newWord = (tag: string) => redis.set(generationKey(tag), randomUUID(), 'PX', GENERATION_MS);
const firstWord = (tag: string) => redis.set(generationKey(tag), randomUUID(), 'PX', GENERATION_MS, 'NX');

const words = new Batch<readonly string[], string>(async (readers) => {
  const tags = [...new Set(readers.flat())];
  const keys = tags.map(generationKey);
  let found = await redis.mget(keys);
  if (found.includes(null)) {
    await Promise.all(tags.map((tag) => firstWord(tag)));
    found = await redis.mget(keys);
  }
  const known = new Map(tags.map((tag, at) => [tag, found[at]]));
  return readers.map((wanted) => wanted.map((tag) => known.get(tag)).join());
});
/** Returns the generation of an enterprise's data. Each write makes a new one. */
export const generationOf = (enterprise: string): Promise<string> =>
  words.add(['all', `enterprise:${enterprise}`]);

const advances = new Batch<undefined, undefined>(async (writes) => {
  await Promise.all([newWord('any'), newWord('all')]);
  return writes.map(() => undefined);
});
/** Makes a new generation after a write that names no enterprise. */
export const advance = (): Promise<undefined> => advances.add(undefined);

export interface SharedList {
  readonly text: string;
  readonly askedAt: number;
  readonly generation: string;
}

const sharedKey = (key: string) => `list:${hash('sha256', key, 'base64url')}`;
const lookups = new Batch<string, string | null>((keys) => redis.mget([...keys]));
export async function findList(key: string): Promise<SharedList | undefined> {
  const name = sharedKey(key);
  const sealed = await lookups.add(name);
  if (sealed === null) return undefined;
  const stored = open(sealed, name);
  const end = stored.indexOf('\n');
  const [askedAt, generation = ''] = stored.slice(0, end).split(' ');
  return { text: stored.slice(end + 1), askedAt: Number(askedAt), generation };
}

const stores = new Batch<
  { readonly name: string; readonly sealed: string; readonly lifeMs: number },
  undefined
>(async (lists) => {
  const values = lists.flatMap(({ sealed, lifeMs }) => [sealed, lifeMs]);
  await redis.evalsha(STORE, lists.length, ...lists.map(({ name }) => name), ...values);
  return lists.map(() => undefined);
});
export async function storeList(key: string, list: SharedList, lifeMs: number): Promise<void> {
  const name = sharedKey(key);
  const sealed = seal(`${list.askedAt} ${list.generation}\n${list.text}`, name);
  await stores.add({ name, sealed, lifeMs: Math.floor(lifeMs) });
}
