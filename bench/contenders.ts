import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Fleet } from '../test/support/fleet.ts';
import type { startGatewayProcess } from '../test/support/gateway-process.ts';
import { type Container, newContainer } from '../test/support/container.ts';
import { startNginx } from './nginx.ts';
import { pidOf, type Running, startPeer } from './processes.ts';
import { type Asked, type Dialect, gatewayAsked, platformAsked } from './tasks.ts';
import type { Tree } from './tree.ts';

type HowToStart = Parameters<typeof startGatewayProcess>[1];

export interface Contender {
  readonly running: Running;
  readonly asked: Asked;
}

/** The platform with fixed responses, the same for all contenders. */
export class Platform {
  readonly running: Running;

  private constructor(running: Running) {
    this.running = running;
  }

  static async start(): Promise<Platform> {
    return new Platform(await startPeer('upstream'));
  }

  get url(): string {
    return `http://127.0.0.1:${this.running.ports[0]}`;
  }

  /** How many reads and orders it has received. */
  async asked(): Promise<number> {
    return ((await (await fetch(`${this.url}/asked`)).json()) as { asked: number }).asked;
  }
}

/** Scopes that older gateways know, too. */
const SCOPES = ['orders:read', 'orders:write', 'members:read'];

/** As an operator would set it: a log on disk of every order before it is sent, and no eviction. */
const ORDER_REDIS = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];
export const SHIPPED = {
  NODE_ENV: 'production',
  ORDER_STORE_INIT: 'auto',
  CACHE_TTL_MS: '5000',
  LOG_LEVEL: 'info',
};
/** The order ledger in the process, without Redis, which production refuses. */
const EMBEDDED = { ...SHIPPED, NODE_ENV: 'development', DOCS: 'off', REDIS_URL: '', ENCRYPTION_KEYS: '' };

/** The parts of a fleet before its processes: a Redis, and a caller whose limit is out of reach. */
export function openFleet({ url }: Platform, scopes: readonly string[] = SCOPES): Promise<Fleet> {
  const platform = { url, tokenUrl: `${url}/oauth/token`, appKey: 'bench', appSecret: secret() };
  return Fleet.start({ ...platform, seedPassword: secret() }, 0, {
    redis: ORDER_REDIS,
    caller: { rateLimit: { requests: 1_000_000_000, perSeconds: 1 }, scopes: [...scopes] },
  });
}

interface Gateways {
  readonly count?: number;
  readonly how?: HowToStart;
  readonly container?: Container;
  readonly dialect?: Dialect;
  /** Webhooks and streams wait for other events than those of orders. */
  readonly isWatched?: boolean;
}

async function gateways(
  platform: Platform,
  environment: Record<string, string>,
  { count = 1, how = {}, container, dialect, isWatched = false }: Gateways = {},
): Promise<Contender> {
  const fleet = await openFleet(platform, isWatched ? [...SCOPES, 'events:read', 'webhooks:write'] : SCOPES);
  try {
    for (let index = 0; index < count; index++)
      await fleet.launch(environment, {
        ...how,
        ...(container && { controlGroup: container.door }),
        logFile: join(fleet.folder, `gateway-${index}.log`),
      });
    if (isWatched) await watch(fleet);
    const running = {
      ports: fleet.gateways.map(({ url }) => Number(new URL(url).port)),
      pids: fleet.gateways.map(({ child }) => pidOf(child)),
      redisPid: environment === EMBEDDED ? undefined : pidOf(fleet.redis.process),
      stop: async () => {
        await fleet.stop();
        container?.remove();
      },
    };
    return { running, asked: gatewayAsked(fleet.key, dialect) };
  } catch (error) {
    await fleet.stop();
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
    // Read until the gateway ends.
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

/** Of the caller of peers. */
const KEY = secret();
const KEY_HASH = createHash('sha256').update(KEY).digest('hex');

/** How another commit is started, with the variables under the names that it reads. */
export function startOf({ folder, start }: Tree): HowToStart {
  return { folder, command: start };
}

/** How naive Nest and the gateway are started where their memory is compared: V8's space for young objects is the same. */
const YOUNG_SPACE = '--max-semi-space-size=16';
/** Of a small container. */
const SMALL_MIB = 512;

type Contend = (platform: Platform, how: HowToStart, before: Tree | undefined) => Promise<Contender>;

/** Every contender, and how it is started. */
export const contenders = {
  /** The least that any gateway on Node must do. */
  bare: (platform) =>
    peer(
      'bare',
      platform,
      platformAsked((answer) => answer),
    ),
  /** As shipped, bundle and options of Node included: with callers, request log, metrics, order ledger and Redis. */
  gateway: (platform, how) => gateways(platform, SHIPPED, { how }),
  /** With webhooks and streams that wait for other events than those of orders. */
  'gateway, watched': (platform, how) => gateways(platform, WATCHED, { how, isWatched: true }),
  /** The same of another commit. */
  'gateway, before': (platform, how, before) => {
    if (!before) throw new Error('there is no other commit');
    const { dialect } = before;
    return gateways(platform, before.named(SHIPPED), { how: { ...how, ...startOf(before) }, dialect });
  },
  /** With everything in the process instead of in Redis. */
  'gateway, embedded': (platform, how) => gateways(platform, EMBEDDED, { how }),
  'gateway, young 16': (platform, how) =>
    gateways(platform, SHIPPED, { how: { ...how, nodeOptions: YOUNG_SPACE } }),
  'gateway, 512 MiB': (platform, how) =>
    gateways(platform, SHIPPED, { how, container: newContainer(SMALL_MIB) }),
  'two gateways': (platform) => gateways(platform, SHIPPED, { count: 2 }),
  'naive Nest': (platform) => peer('naive', platform, gatewayAsked('')),
  /** With keys, request log and metrics too. */
  'naive Nest, all': (platform) => peer('naive', platform, gatewayAsked(KEY), { API_KEY_HASH: KEY_HASH }),
  'naive Nest, young 16': (platform) =>
    peer('naive', platform, gatewayAsked(KEY), { API_KEY_HASH: KEY_HASH, NODE_OPTIONS: YOUNG_SPACE }),
  'nginx + njs': async (platform) => ({
    running: await startNginx(platform.url, KEY_HASH),
    asked: gatewayAsked(KEY),
  }),
  /** No gateway in between. */
  direct: ({ running }) =>
    Promise.resolve({
      running: { ...running, stop: async () => {} },
      asked: platformAsked((answer) => (answer as { data: unknown }).data),
    }),
} satisfies Record<string, Contend>;

export type ContenderName = keyof typeof contenders;

function secret(): string {
  return randomBytes(16).toString('base64url');
}
