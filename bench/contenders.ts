import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Fleet } from '../test/support/fleet.ts';
import type { startGatewayProcess } from '../test/support/gateway-process.ts';
import { type Container, newContainer } from '../test/support/container.ts';
import { openFleet, type Platform, SCOPES, secret } from './fleet.ts';
import { startNginx } from './nginx.ts';
import { pidOf, type Running, startPeer } from './processes.ts';
import { type Asked, type Dialect, gatewayAsked, platformAsked } from './tasks.ts';
import type { Tree } from './tree.ts';

type HowToStart = Parameters<typeof startGatewayProcess>[1];

export interface Contender {
  readonly running: Running;
  readonly asked: Asked;
}

/** The Redis of commits that did not keep their orders in the database: a log on disk of every order before it is sent, and no eviction. */
const ORDER_REDIS = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];
export const SHIPPED = {
  NODE_ENV: 'production',
  DATABASE_INIT: 'auto',
  CACHE_TTL_MS: '5000',
  LOG_LEVEL: 'info',
};
/** The settings for such a commit. */
export const BEFORE = { ...SHIPPED, ORDER_STORE_INIT: 'auto' };
/** The settings for one process with its own database, and everything else in memory. */
const ALONE = { ...SHIPPED, NODE_ENV: 'development', DOCS: 'off', REDIS_URL: '' };
const IN_MEMORY = { ...ALONE, DATABASE_URL: 'sqlite::memory:', ENCRYPTION_KEYS: '' };

/** Starts a program with the duties of the gateway and without its framework, with the servers of a fleet. */
async function floor(platform: Platform): Promise<Contender> {
  const { fleet, serverPids, stop } = await openFleet(platform);
  try {
    const running = await startPeer('floor', { ...fleet.environment, ...SHIPPED });
    const stopAll = async () => {
      await running.stop();
      await stop();
    };
    const asked = gatewayAsked([fleet.key, ...Object.values(fleet.keys)]);
    return { running: { ...running, serverPids, stop: stopAll }, asked };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Gateways {
  readonly count?: number;
  readonly how?: HowToStart;
  readonly container?: Container;
  readonly dialect?: Dialect;
  /** True if webhooks and streams wait for other events than those of orders. */
  readonly isWatched?: boolean;
}

async function gateways(
  platform: Platform,
  environment: Record<string, string>,
  { count = 1, how = {}, container, dialect, isWatched = false }: Gateways = {},
): Promise<Contender> {
  const { fleet, serverPids, stop } = await openFleet(platform, {
    ...(isWatched && { scopes: [...SCOPES, 'events:read', 'webhooks:write'] }),
    ...(environment === BEFORE && { redis: ORDER_REDIS }),
  });
  const isAlone = environment['REDIS_URL'] === '';
  const own: Record<string, string> =
    isAlone && environment !== IN_MEMORY
      ? { DATABASE_URL: `sqlite:${join(fleet.folder, 'gateway.db')}` }
      : {};
  try {
    for (let index = 0; index < count; index++)
      await fleet.launch(
        { ...environment, ...own },
        {
          ...how,
          ...(container && { controlGroup: container.door }),
          logFile: join(fleet.folder, `gateway-${index}.log`),
        },
      );
    if (isWatched) await watch(fleet);
    const running = {
      ports: fleet.gateways.map(({ url }) => Number(new URL(url).port)),
      pids: fleet.gateways.map(({ child }) => pidOf(child)),
      serverPids: isAlone ? () => [] : serverPids,
      stop: async () => {
        await stop();
        container?.remove();
      },
    };
    return { running, asked: gatewayAsked([fleet.key, ...Object.values(fleet.keys)], dialect) };
  } catch (error) {
    await stop();
    container?.remove();
    throw error;
  }
}

const WATCHED = { ...SHIPPED, WEBHOOK_HOSTS: '127.0.0.1' };
const WEBHOOKS = 20;
const STREAMS = 5;
const OTHER_TYPE = 'job.failed';

async function watch({ gateways: [gateway], key }: Fleet): Promise<void> {
  const headers = { 'x-api-key': key };
  const webhook = { url: 'http://127.0.0.1:9/hook', types: [OTHER_TYPE] };
  const create = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(webhook),
  };
  for (let made = 0; made < WEBHOOKS; made++) {
    const { status } = await fetch(`${gateway?.url}/v1/webhooks`, create);
    if (status !== 201) throw new Error(`no webhook: ${status}`);
  }
  for (let opened = 0; opened < STREAMS; opened++) {
    const { body } = await fetch(`${gateway?.url}/v1/events/stream?type=${OTHER_TYPE}`, { headers });
    // The stream is read until the gateway ends.
    void body?.pipeTo(new WritableStream()).catch(() => undefined);
  }
}

async function peer(
  name: string,
  platform: Platform,
  asked: Asked,
  more: Record<string, string> = {},
): Promise<Contender> {
  return { running: await startPeer(name, { UPSTREAM: platform.url, ...more }), asked };
}

/** The key of the peers' caller. */
const KEY = secret();
const KEY_HASH = createHash('sha256').update(KEY).digest('hex');

/** Returns the way to start another commit. */
export function startOf({ folder, start }: Tree): HowToStart {
  return { folder, command: start };
}

/**
 * The option with which naive Nest and the gateway are started if their memory is compared. V8's space for young objects is then the same.
 */
const YOUNG_SPACE = '--max-semi-space-size=16';

type Contend = (platform: Platform, how: HowToStart, before: Tree | undefined) => Promise<Contender>;

/** Every contender, with the function that starts it. */
export const contenders = {
  /** The least that any gateway on Node must do. */
  bare: (platform) =>
    peer(
      'bare',
      platform,
      platformAsked((answer) => answer),
    ),
  /** The gateway as shipped, including bundle and options of Node: with callers, request log, metrics, PostgreSQL and Redis. */
  gateway: (platform, how) => gateways(platform, SHIPPED, { how }),
  /** The gateway with webhooks and streams that wait for other events than those of orders. */
  'gateway, watched': (platform, how) => gateways(platform, WATCHED, { how, isWatched: true }),
  /** The shipped gateway of another commit. */
  'gateway, before': (platform, how, before) => {
    if (!before) throw new Error('there is no other commit');
    const { dialect } = before;
    return gateways(platform, BEFORE, { how: { ...how, ...startOf(before) }, dialect });
  },
  /** The gateway with a file of SQLite, and without any other server. */
  'gateway, file': (platform, how) => gateways(platform, ALONE, { how }),
  'gateway, in memory': (platform, how) => gateways(platform, IN_MEMORY, { how }),
  'gateway, young 16': (platform, how) =>
    gateways(platform, SHIPPED, { how: { ...how, nodeOptions: YOUNG_SPACE } }),
  'gateway, 512 MiB': (platform, how) => gateways(platform, SHIPPED, { how, container: newContainer(512) }),
  'gateway, 2 GiB': (platform, how) => gateways(platform, SHIPPED, { how, container: newContainer(2_048) }),
  'two gateways': (platform) => gateways(platform, SHIPPED, { count: 2 }),
  /** The duties of the gateway, written by hand, for a comparison. */
  floor: (platform) => floor(platform),
  'naive Nest': (platform) => peer('naive', platform, gatewayAsked([''])),
  /** Naive Nest with keys, request log and metrics too. */
  'naive Nest, all': (platform) => peer('naive', platform, gatewayAsked([KEY]), { API_KEY_HASH: KEY_HASH }),
  'naive Nest, young 16': (platform) =>
    peer('naive', platform, gatewayAsked([KEY]), { API_KEY_HASH: KEY_HASH, NODE_OPTIONS: YOUNG_SPACE }),
  'nginx + njs': async (platform) => ({
    running: await startNginx(platform.url, KEY_HASH),
    asked: gatewayAsked([KEY]),
  }),
  /** The platform without a gateway in between. */
  direct: ({ running }) =>
    Promise.resolve({
      running: { ...running, stop: async () => {} },
      asked: platformAsked((answer) => (answer as { data: unknown }).data),
    }),
} satisfies Record<string, Contend>;

export type ContenderName = keyof typeof contenders;
