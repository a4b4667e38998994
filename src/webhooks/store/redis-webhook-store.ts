import type { RedisCommander } from 'ioredis';
import { Script } from '../../kit/redis-script/redis-script.ts';
import type { Sealer } from '../../kit/sealed-store/sealed-store.ts';
import type { TaskHold } from '../../kit/task-queue/task-queue.ts';
import { MOVES_KEPT_MS } from '../../order-ledger/move-log.ts';
import { OrderLedgerUnavailable } from '../../order-ledger/order-ledger-store.ts';
import { storeKeys } from '../../order-ledger/store-keys.ts';
import type { SharedRedis } from '../../redis/shared-redis.ts';
import type { Delivery, WebhookProgress, Webhook } from './webhook-record.ts';
import { type Deliveries, firstProgress, type Place, type WebhookStore } from './webhook-store.ts';

/** In the hash of places, after the id of a webhook that is called. */
const CALLED = ':called';

/** KEYS: webhooks, places. ARGV: id, value, caller, most of the caller, progress. */
const ADD = new Script(`
local own = 0
for _, value in ipairs(redis.call('HVALS', KEYS[1])) do
  if cjson.decode(value).caller == ARGV[3] then own = own + 1 end
end
if own >= tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[5])
return 1`);

/** KEYS: webhooks. ARGV: id, value before, value after. */
const CHANGE = new Script(`
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1`);

/** KEYS: webhooks, places, deliveries. ARGV: id. */
const REMOVE = new Script(`
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1], ARGV[1] .. '${CALLED}')
redis.call('DEL', KEYS[3])
return 1`);

/** KEYS: webhooks, places, deliveries. ARGV: id, event, delivery. */
const PUT = new Script(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[1] .. '${CALLED}', 1)
return 1`);

/** KEYS: webhooks, places. ARGV: id. */
const CALL = new Script(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1] .. '${CALLED}', 1)
return 1`);

/** KEYS: webhooks, places, deliveries. ARGV: id. */
const BEGIN = new Script(`
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {} end
redis.call('HDEL', KEYS[2], ARGV[1] .. '${CALLED}')
return {redis.call('HGET', KEYS[2], ARGV[1]), redis.call('HGETALL', KEYS[3])}`);

/**
 * A process whose task was given to another one, or whose webhook was removed, writes nothing.
 * KEYS: webhooks, places, deliveries, lock of the task. ARGV: id, owner, progress, life, then events and their deliveries.
 */
const KEEP = new Script(`
if redis.call('GET', KEYS[4]) ~= ARGV[2] or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
for at = 5, #ARGV, 2 do
  if ARGV[at + 1] == '' then redis.call('HDEL', KEYS[3], ARGV[at])
  else redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1]) end
end
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return 1`);

/** The webhooks of all replicas, in the order store. What was decided about a webhook is sealed; its deliveries have no content. */
export class RedisWebhookStore implements WebhookStore {
  readonly #webhooks: string;
  readonly #places: string;
  readonly #prefix: string;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
  ) {
    const { webhooks } = storeKeys(environment);
    this.#webhooks = webhooks;
    this.#places = `${webhooks}:places`;
    this.#prefix = `${webhooks}:deliveries:`;
  }

  async list(): Promise<readonly Webhook[]> {
    const all = await this.#ask((client) => client.hgetall(this.#webhooks));
    return Object.entries(all).flatMap(([id, value]) => this.#opened(id, value) ?? []);
  }

  async read(webhookId: string): Promise<Webhook | undefined> {
    const value = await this.#ask((client) => client.hget(this.#webhooks, webhookId));
    return value === null ? undefined : this.#opened(webhookId, value);
  }

  async add(webhook: Webhook, cursor: string, mostOfCaller: number): Promise<boolean> {
    const { webhookId, caller } = webhook;
    const progress = JSON.stringify(firstProgress(caller, cursor));
    const values = [webhookId, this.#sealed(webhook), caller, mostOfCaller, progress];
    return (await this.#run(ADD, [this.#webhooks, this.#places], values)) === 1;
  }

  async change(webhookId: string, changed: (webhook: Webhook) => Webhook): Promise<Webhook | undefined> {
    for (;;) {
      const value = await this.#ask((client) => client.hget(this.#webhooks, webhookId));
      const before = value === null ? undefined : this.#opened(webhookId, value);
      if (value === null || !before) return undefined;
      const after = changed(before);
      const written = await this.#run(CHANGE, [this.#webhooks], [webhookId, value, this.#sealed(after)]);
      if (written === 1) return after;
    }
  }

  async remove(webhookId: string): Promise<void> {
    await this.#run(REMOVE, this.#keysOf(webhookId), [webhookId]);
  }

  async places(): Promise<ReadonlyMap<string, Place>> {
    const all = await this.#ask((client) => client.hgetall(this.#places));
    return new Map(
      Object.entries(all).flatMap(([id, value]) =>
        id.endsWith(CALLED)
          ? []
          : [[id, { ...(JSON.parse(value) as WebhookProgress), isCalled: id + CALLED in all }] as const],
      ),
    );
  }

  async deliveries(webhookId: string): Promise<Deliveries> {
    const all = await this.#ask((client) => client.hgetall(this.#prefix + webhookId));
    return deliveriesOf(Object.entries(all));
  }

  async put(webhookId: string, eventId: string, delivery: Delivery): Promise<void> {
    await this.#run(PUT, this.#keysOf(webhookId), [webhookId, eventId, JSON.stringify(delivery)]);
  }

  async call(webhookId: string): Promise<void> {
    await this.#run(CALL, [this.#webhooks, this.#places], [webhookId]);
  }

  async begin(webhookId: string) {
    const [progress, flat = []] = await this.#run<[string?, string[]?]>(BEGIN, this.#keysOf(webhookId), [
      webhookId,
    ]);
    if (progress === undefined) return undefined;
    const pairs = flat.flatMap((id, at) => (at % 2 === 0 ? [[id, flat[at + 1] ?? ''] as const] : []));
    return { progress: JSON.parse(progress) as WebhookProgress, deliveries: deliveriesOf(pairs) };
  }

  async keep(
    webhookId: string,
    { key, owner }: TaskHold,
    progress: WebhookProgress,
    changed: ReadonlyMap<string, Delivery | undefined>,
  ): Promise<boolean> {
    const pairs = [...changed].flatMap(([id, each]) => [id, each ? JSON.stringify(each) : '']);
    const values = [webhookId, owner, JSON.stringify(progress), MOVES_KEPT_MS, ...pairs];
    return (await this.#run(KEEP, [...this.#keysOf(webhookId), key], values)) === 1;
  }

  #keysOf(webhookId: string): readonly string[] {
    return [this.#webhooks, this.#places, this.#prefix + webhookId];
  }

  #sealed(webhook: Webhook): string {
    const sealed = this.#sealer.seal(JSON.stringify(webhook), `${this.#webhooks}:${webhook.webhookId}`);
    return JSON.stringify({ caller: webhook.caller, sealed });
  }

  #opened(webhookId: string, value: string): Webhook | undefined {
    const { sealed } = JSON.parse(value) as { sealed: string };
    const text = this.#sealer.open(sealed, `${this.#webhooks}:${webhookId}`);
    return text === undefined ? undefined : (JSON.parse(text) as Webhook);
  }

  get #sealer(): Sealer {
    if (!this.redis.sealer) throw new Error('webhooks need encryption keys');
    return this.redis.sealer;
  }

  #run<T>(script: Script, keys: readonly string[], values: readonly (string | number)[]): Promise<T> {
    return this.#ask((client) => script.run<T>(client, keys, values));
  }

  async #ask<T>(command: (client: RedisCommander) => Promise<T>): Promise<T> {
    try {
      return await this.redis.run(command);
    } catch (error) {
      throw new OrderLedgerUnavailable('away', error);
    }
  }
}

function deliveriesOf(entries: readonly (readonly [string, string])[]): Deliveries {
  return new Map(entries.map(([id, value]) => [id, JSON.parse(value) as Delivery]));
}
