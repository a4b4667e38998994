import { describe, expect, it, jest } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { endings } from '../../test/support/endings.ts';
import { ledgerBegin } from '../../test/support/ledger-order.ts';
import { connect, PatientOrderStoreRedis } from '../../test/support/patient-redis.ts';
import { ask, freePort, type RunningRedis, startRedis, until } from '../../test/support/redis.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import type { CallerRegistry } from '../caller/caller.registry.ts';
import { Maintenance } from '../control/maintenance.ts';
import { ConfigError } from '../config/config-error.ts';
import { Metrics } from '../observability/metrics.ts';
import { orderName } from '../order-ledger/ledger-record.ts';
import { Generations } from '../read-cache/read-keys.ts';
import { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import { RedisMaintenanceStore } from '../order-ledger/redis-maintenance-store.ts';
import { RedisMoveLog } from '../order-ledger/redis-move-log.ts';
import { RedisOrderLedger } from '../order-ledger/redis-order-ledger.ts';
import { storeKeys } from '../order-ledger/store-keys.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { StoreEpoch } from './epoch.ts';
import { BudgetWatch } from './budget-watch.ts';
import { MaintenanceWatch } from './maintenance-watch.ts';
import { OrderStoreKeeper } from './keeper.ts';
import { StoreWatch } from './watch.ts';

jest.setTimeout(120_000);

const keys = newEncryptionKey();
const environment = environmentName(settings().upstream.baseUrl);
const name = orderName('crm', 'SO-1');

const { atEnd } = endings();

async function newServer(...args: string[]): Promise<RunningRedis> {
  const server = await startRedis(args);
  atEnd(() => server.stop());
  return server;
}

/** A gateway's keeper on that store, as it starts; `open`: how it connects. */
async function keeperOf(
  { url }: { url: string },
  more: Record<string, string> = {},
  open: (redis: PatientOrderStoreRedis) => Promise<unknown> = connect,
) {
  const config = settings({ ORDER_REDIS_URL: url, ENCRYPTION_KEYS: keys, ...more });
  const recorded = new RecordedLog();
  const metrics = new Metrics();
  const redis = new PatientOrderStoreRedis(config.orderStore, recorded.log, metrics);
  atEnd(() => redis.onApplicationShutdown());
  await open(redis);
  const shared = new SharedRedis(config.redis, recorded.log, metrics);
  atEnd(() => shared.onApplicationShutdown());
  await shared.onModuleInit();
  const { orderStore } = config;
  const epoch = new StoreEpoch(orderStore, config.redis, redis, shared);
  atEnd(() => epoch.onApplicationShutdown());
  const watch = new StoreWatch(orderStore, redis, epoch, recorded.log);
  const store = new RedisOrderLedger(redis, redis.environment, watch);
  const generations = new Generations(config.upstream, config.cache, shared, recorded.log, metrics);
  const ledger = new ObservedOrderLedger(store, recorded.log, metrics, generations);
  const keeper = new OrderStoreKeeper(
    redis,
    watch,
    ledger,
    new RedisMoveLog(redis, redis.environment, watch),
    recorded.log,
    metrics,
    new MaintenanceWatch(
      new RedisMaintenanceStore(redis, redis.environment, watch),
      new Maintenance(),
      recorded.log,
      metrics,
    ),
    new BudgetWatch({ all: [] } as unknown as CallerRegistry, ledger, metrics),
  );
  atEnd(() => keeper.onApplicationShutdown());
  await keeper.onModuleInit();
  return { keeper, ledger, recorded };
}

/** The same while no server is there. */
const keeperWithout = (port: number) =>
  keeperOf({ url: `redis://127.0.0.1:${port}` }, {}, (redis) => redis.onModuleInit());

type Kept = Awaited<ReturnType<typeof keeperOf>>;

const begin = ({ ledger }: Kept, channelOrderId = 'SO-1') =>
  ledger.begin(ledgerBegin(channelOrderId, { owner: 'me' }));

const told = ({ recorded }: Kept) =>
  recorded.lines
    .filter(({ event }) => event === 'order-store-stopped' || event === 'order-store-away')
    .map(({ msg }) => String(msg));

const warned = ({ recorded }: Kept) =>
  recorded.lines.filter(({ event }) => event === 'order-store-weak').map(({ msg }) => String(msg));

const refusal = (start: Promise<unknown>) =>
  start.then(
    () => 'started',
    (error: unknown) => (error instanceof ConfigError ? error.message : error),
  );

describe('an order store that is not fit', () => {
  it('is no reason to start where it evicts', async () => {
    const server = await newServer('--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru');
    expect(await refusal(keeperOf(server))).toMatch(/ORDER_REDIS_URL.*maxmemory-policy noeviction/);
  });

  it('is no reason to start where it is a replica', async () => {
    const master = await newServer();
    const replica = await newServer('--replicaof', '127.0.0.1', String(master.port));
    // While it loads its master's data it cannot be asked what it is.
    await until('it follows', async () =>
      (await ask(replica, (client) => client.info('replication'))).includes('master_link_status:up'),
    );
    expect(await refusal(keeperOf(replica))).toMatch(/ORDER_REDIS_URL is a replica/);
  });

  it.each([
    ['forgets when it restarts', ['--appendonly', 'no'], [/appendonly yes/]],
    ['writes to disk once a second', ['--appendonly', 'yes', '--appendfsync', 'everysec'], [/fsync always/]],
    ['does none of that', ['--appendonly', 'yes', '--appendfsync', 'always'], []],
  ])('is used, with a warning for each promise that it weakens: it %s', async (_, args, warnings) => {
    const kept = await keeperOf(await newServer(...args));
    expect(warned(kept)).toEqual(warnings.map((warning) => expect.stringMatching(warning)));
    expect(told(kept)).toEqual([]);
  });
});

describe('an order store that is fit', () => {
  it('stops orders when it is emptied, until an operator says that it is fine, also with ORDER_STORE_INIT=auto', async () => {
    const server = await newServer();
    await ask(server, (client) => client.set(storeKeys(environment).epoch, 'operator:1'));
    const kept = await keeperOf(server, { ORDER_STORE_INIT: 'auto' });
    await begin(kept);
    await ask(server, (client) => client.flushall());
    await expect(begin(kept)).rejects.toMatchObject({ reason: 'stopped' });
    await kept.keeper.tick();
    expect(told(kept)).toEqual([expect.stringMatching(/emptied/)]);
    await expect(begin(kept)).rejects.toMatchObject({ reason: 'stopped' });

    // Another gateway's first start is no operator.
    await ask(server, (client) => client.set(storeKeys(environment).epoch, 'auto:2'));
    await kept.keeper.tick();
    await expect(begin(kept)).rejects.toMatchObject({ reason: 'stopped' });
    expect(told(kept)).toHaveLength(2);

    await ask(server, (client) => client.set(storeKeys(environment).epoch, 'operator:3'));
    await kept.keeper.tick();
    expect(await begin(kept)).toMatchObject({ kind: 'begun' });
  });

  it('may be away at the start: orders are refused until it is there', async () => {
    const port = await freePort();
    const kept = await keeperWithout(port);
    await expect(begin(kept)).rejects.toMatchObject({ name: 'OrderLedgerUnavailable' });
    expect(told(kept)).toEqual([expect.stringMatching(/is away/)]);
    await newServer('--port', String(port));
    await until('the order may be sent', async () => (await begin(kept)).kind === 'begun');
  });

  it('N10 that has lost writes is stopped for every gateway as soon as one that has seen them is connected again', async () => {
    const server = await newServer();
    const kept = await keeperOf(server);
    expect(await begin(kept)).toMatchObject({ kind: 'begun' });
    // From now on it does not look by itself.
    kept.keeper.onApplicationShutdown();
    const { count } = storeKeys(environment);
    await ask(server, async (client) => {
      await client.set(count, 0);
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    });
    await until('no gateway begins a write', () =>
      ask(server, async (client) => Number(await client.get(count)) < 0),
    );
  });
});

it('O2 keeps a gateway without its key from starting, with the number of them', async () => {
  const server = await newServer();
  const kept = await keeperOf(server);
  for (const number of ['SO-1', 'SO-2', 'SO-3']) await begin(kept, number);
  await kept.ledger.move({ name, by: 'owner', owner: 'me', to: 'in_doubt' });
  // What is settled is not needed as much.
  const settled = orderName('crm', 'SO-3');
  await kept.ledger.move({ name: settled, by: 'owner', owner: 'me', to: 'succeeded' });

  const other = newEncryptionKey('k2');
  expect(await refusal(keeperOf(server, { ENCRYPTION_KEYS: other }))).toMatch(
    /^configuration: ENCRYPTION_KEYS lacks .* 2 orders/,
  );
  const rotated = await keeperOf(server, { ENCRYPTION_KEYS: `${other},${keys}` });
  expect(await rotated.ledger.read(name)).toMatchObject({ state: 'in_doubt' });
});
