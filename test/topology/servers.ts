import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { newSecret } from '../support/canary.ts';
import { makeCertificates } from '../support/certificates.ts';
import {
  freePort,
  type RunningRedis,
  serverFolder,
  startConfigured,
  startServer,
  until,
} from '../support/redis.ts';
import type { Host, Network } from './network.ts';

/** The credentials of one order store's servers and users. */
export class Credentials {
  readonly folder = serverFolder('redis-identity-');
  readonly caFile = join(this.folder, 'ca.pem');
  /** The gateways', at Redis and at the sentinels. */
  readonly gateway = { user: 'gateway', password: newSecret('r') };
  /** Those of Redis' own processes, which write them into their files in plain text, so without the leak marker. */
  readonly internal = { user: 'internal', password: randomBytes(16).toString('hex') };

  static async make(): Promise<Credentials> {
    const made = new Credentials();
    const { ca, good } = await makeCertificates();
    writeFileSync(made.caFile, ca);
    writeFileSync(join(made.folder, 'cert.pem'), good.cert);
    writeFileSync(join(made.folder, 'key.pem'), good.key, { mode: 0o600 });
    return made;
  }

  /** TLS for all connections from other machines. The port without TLS is for the test itself. */
  get tls(): [string, string][] {
    return [
      ['tls-cert-file', join(this.folder, 'cert.pem')],
      ['tls-key-file', join(this.folder, 'key.pem')],
      ['tls-ca-cert-file', this.caFile],
      ['tls-auth-clients', 'no'],
      ['tls-replication', 'yes'],
    ];
  }

  /**
   * `may`: the rights of the gateways' user. The user `default` is locked by `off` alone and keeps its rights: Redis 7.0 repeats the
   * transactions of its log as that user when it starts, and leaves out commands that the user may not run.
   */
  users(may: string): [string, string][] {
    return [
      ['user', `default off resetpass allkeys allchannels +@all`],
      ['user', `${this.internal.user} on #${sha256(this.internal.password)} allkeys allchannels +@all`],
      ['user', `${this.gateway.user} on #${sha256(this.gateway.password)} ${may}`],
    ];
  }

  /** The gateways' credentials, in front of `@host` in a URL. */
  get userInfo(): string {
    return `${this.gateway.user}:${this.gateway.password}`;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The rights that a gateway needs in its order store: data, and reading the settings. */
const GATEWAY_MAY =
  'allkeys allchannels +@all -@admin -@dangerous +info +config|get +role +wait +cluster|slots +cluster|shards +cluster|nodes';
const GATEWAY_MAY_AT_SENTINELS =
  'resetkeys allchannels -@all +auth +hello +ping +client +subscribe +psubscribe +unsubscribe +punsubscribe +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|replicas +sentinel|slaves +sentinel|myid';

/** A Redis server with TLS and users, on a machine of the test's network; it can be killed and started again with its data. */
export class Node {
  #running: RunningRedis | undefined;
  readonly dataFolder = serverFolder('order-store-');

  readonly host: Host;
  /** Its address for all other hosts. */
  readonly port: number;
  /** For the test itself, without TLS. */
  readonly plainPort: number;
  readonly #file = join(serverFolder('order-store-settings-'), 'redis.conf');
  readonly #credentials: Credentials;

  private constructor(
    { host, port, plainPort }: { host: Host; port: number; plainPort: number },
    credentials: Credentials,
  ) {
    this.host = host;
    this.port = port;
    this.plainPort = plainPort;
    this.#credentials = credentials;
  }

  static async start(
    host: Host,
    network: Network,
    credentials: Credentials,
    { settings = [], bus = false }: { settings?: readonly (readonly [string, string])[]; bus?: boolean } = {},
  ): Promise<Node> {
    const [plainPort, tlsPort] = [await freePort(), await freePort()];
    const port = await network.expose(host, tlsPort);
    const all: (readonly [string, string])[] = [
      ['port', String(plainPort)],
      ['tls-port', String(tlsPort)],
      ['bind-source-addr', host],
      ['save', '""'],
      ['repl-diskless-sync-delay', '0'],
      ['appendonly', 'yes'],
      ['appendfsync', 'always'],
      ['maxmemory-policy', 'noeviction'],
      ['masteruser', credentials.internal.user],
      ['masterauth', credentials.internal.password],
      ['repl-ping-replica-period', '1'],
      ...credentials.tls,
      ...credentials.users(GATEWAY_MAY),
      ...settings,
    ];
    if (bus) {
      const busPort = await freePort();
      all.push(
        ['cluster-port', String(busPort)],
        ['cluster-announce-ip', '127.0.0.1'],
        ['cluster-announce-port', String(plainPort)],
        ['cluster-announce-tls-port', String(port)],
        ['cluster-announce-bus-port', String(await network.expose(host, busPort))],
      );
    } else all.push(['replica-announce-ip', '127.0.0.1'], ['replica-announce-port', String(port)]);
    const node = new Node({ host, port, plainPort }, credentials);
    node.#write([...all, ['dir', node.dataFolder]]);
    await node.start();
    return node;
  }

  /** With its last settings: a server that became a replica stays one. */
  async start(): Promise<void> {
    this.#running = await startConfigured(this.#file, { port: this.plainPort, dataFolder: this.dataFolder });
  }

  get running(): RunningRedis {
    if (!this.#running) throw new Error('not started');
    return this.#running;
  }

  async kill9(): Promise<void> {
    await this.running.kill9();
  }

  /** By the test's own connection, without cuts and user rules. */
  async ask<T>(commands: (client: Redis) => Promise<T>): Promise<T> {
    const { user, password } = this.#credentials.internal;
    const client = new Redis({
      port: this.plainPort,
      username: user,
      password,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    });
    client.on('error', () => undefined);
    try {
      return await commands(client);
    } finally {
      client.disconnect();
    }
  }

  /** Replicas that follow it. */
  async followers(): Promise<number> {
    const info = await this.ask((client) => client.info('replication'));
    return info.match(/state=online/g)?.length ?? 0;
  }

  async isMaster(): Promise<boolean> {
    const [role] = (await this.ask((client) => client.call('ROLE')).catch(() => [''])) as [string];
    return role === 'master';
  }

  #write(settings: readonly (readonly [string, string])[]): void {
    writeFileSync(this.#file, settings.map((line) => line.join(' ')).join('\n'), { mode: 0o600 });
  }

  async stop(): Promise<void> {
    await this.running.stop();
    rmSync(this.dataFolder, { recursive: true, force: true });
  }
}

export const kinds = ['sentinel', 'cluster'] as const;
export type Kind = (typeof kinds)[number];

/** An order store of several servers, in the form that gateways use. */
export interface OrderStore {
  /** In the form of ORDER_REDIS_URL. */
  readonly url: string;
  readonly credentials: Credentials;
  readonly nodes: readonly Node[];
  /** The machines of the sentinels. */
  readonly sentinels: readonly Host[];
  /** The master of the orders, as the other servers see it; a server that is cut off may also believe to be it. */
  master(): Promise<Node>;
  /** All servers that can replace it. */
  replicas(): Promise<readonly Node[]>;
  /** An operator's change of masters, without any failure. */
  switchOver(): Promise<void>;
  stop(): Promise<void>;
}

const SENTINELS = 3;
const REPLICAS = 2;

/**
 * A server without a response for this time counts as gone. Long enough for a slow machine, on which no server is gone, and for the test to
 * see the state in between.
 */
const GONE_MS = 3_000;

/** A master, two replicas and three sentinels, each on a machine of its own. Some seconds after the master has gone, another is chosen. */
export async function startSentinelStore(network: Network): Promise<OrderStore> {
  const credentials = await Credentials.make();
  const first = await Node.start('127.0.2.1', network, credentials);
  const others = await Promise.all(
    Array.from({ length: REPLICAS }, (_, index) =>
      Node.start(`127.0.2.${index + 2}`, network, credentials, {
        settings: [['replicaof', `127.0.0.1 ${first.port}`]],
      }),
    ),
  );
  const nodes = [first, ...others];
  await until('the replicas follow', async () => (await first.followers()) === REPLICAS);
  const machines = Array.from({ length: SENTINELS }, (_, index): Host => `127.0.3.${index + 1}`);
  const sentinels = await Promise.all(
    machines.map((host) => startSentinelProcess(host, network, credentials, first.port)),
  );
  await until('the sentinels know each other and the replicas', async () => {
    const told = await Promise.all(sentinels.map((sentinel) => sentinel.status()));
    return told.every((text) => text.includes(`status=ok`) && text.includes(`slaves=2,sentinels=3`));
  });
  const { userInfo, gateway } = credentials;
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join();
  const store: OrderStore = {
    url: `rediss-sentinel://${userInfo}@${hosts}?sentinelMasterId=main&sentinelUsername=${gateway.user}&sentinelPassword=${gateway.password}`,
    credentials,
    nodes,
    sentinels: machines,
    master: async () => {
      const ports = await Promise.all(sentinels.map((sentinel) => sentinel.masterPort()));
      const most = [...Map.groupBy(ports, (port) => port)].find(([, same]) => same.length > SENTINELS / 2);
      const node = nodes.find(({ port }) => port === most?.[0]);
      if (!node) throw new Error('the sentinels do not agree');
      return node;
    },
    replicas: async () => {
      const master = await store.master();
      return nodes.filter((node) => node !== master);
    },
    switchOver: async () => {
      await sentinels[0]?.failOver();
    },
    stop: async () => {
      await Promise.all([...sentinels, ...nodes].map((server) => server.stop()));
      credentials.remove();
    },
  };
  return store;
}

interface RunningSentinelProcess {
  readonly port: number;
  status(): Promise<string>;
  masterPort(): Promise<number>;
  failOver(): Promise<unknown>;
  stop(): Promise<void>;
}

async function startSentinelProcess(
  host: Host,
  network: Network,
  credentials: Credentials,
  masterPort: number,
): Promise<RunningSentinelProcess> {
  // Outside the files of the leak scan, since a sentinel keeps passwords in this file.
  const folder = serverFolder('sentinel-');
  const file = join(folder, 'sentinel.conf');
  const [own, tlsPort] = [await freePort(), await freePort()];
  const port = await network.expose(host, tlsPort);
  const { user, password } = credentials.internal;
  const settings: (readonly [string, string])[] = [
    ['port', String(own)],
    ['tls-port', String(tlsPort)],
    ['bind-source-addr', host],
    ...credentials.tls,
    ...credentials.users(GATEWAY_MAY_AT_SENTINELS),
    ['sentinel sentinel-user', user],
    ['sentinel sentinel-pass', password],
    ['sentinel announce-ip', '127.0.0.1'],
    ['sentinel announce-port', String(port)],
    ['sentinel monitor', `main 127.0.0.1 ${masterPort} 2`],
    ['sentinel auth-user', `main ${user}`],
    ['sentinel auth-pass', `main ${password}`],
    ['sentinel down-after-milliseconds', `main ${GONE_MS}`],
    ['sentinel failover-timeout', 'main 6000'],
  ];
  writeFileSync(file, settings.map((line) => line.join(' ')).join('\n'));
  const server = await startServer([file, '--sentinel'], '+monitor');
  const asked = async <T>(...words: [string, ...string[]]) => {
    const client = new Redis({ port: own, username: user, password, retryStrategy: () => null });
    client.on('error', () => undefined);
    try {
      return (await client.call(...words)) as T;
    } finally {
      client.disconnect();
    }
  };
  // A sentinel finds the others, and takes a former master back, after some of these; as they are it takes 10 s.
  await asked('SENTINEL', 'DEBUG', 'PUBLISH-PERIOD', '250', 'INFO-PERIOD', '1000', 'ASK-PERIOD', '250');
  return {
    port,
    status: () => asked<string>('INFO', 'sentinel'),
    masterPort: async () => Number((await asked<string[]>('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main'))[1]),
    failOver: () => asked('SENTINEL', 'FAILOVER', 'main'),
    stop: async () => {
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const SLOTS = 16_384;
const SHARDS = 3;

/** Three masters and a replica of each, on a machine of its own. `key` has the slot of all orders. */
export async function startClusterStore(network: Network, key: string): Promise<OrderStore> {
  const credentials = await Credentials.make();
  const nodes = await Promise.all(
    Array.from({ length: 2 * SHARDS }, (_, index) =>
      Node.start(`127.0.2.${index + 1}`, network, credentials, {
        bus: true,
        settings: [
          ['cluster-enabled', 'yes'],
          ['tls-cluster', 'yes'],
          ['cluster-node-timeout', String(GONE_MS)],
          ['cluster-replica-validity-factor', '0'],
          ['cluster-allow-replica-migration', 'no'],
        ],
      }),
    ),
  );
  const [first] = nodes as [Node];
  for (const [index, node] of nodes.entries()) {
    await node.ask(async (client) => {
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
      const from = Math.ceil((SLOTS * index) / SHARDS);
      const to = Math.ceil((SLOTS * (index + 1)) / SHARDS) - 1;
      if (index < SHARDS) await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to));
    });
  }
  for (const node of nodes.slice(1)) {
    const bus = (await node.ask((client) => client.config('GET', 'cluster-announce-bus-port'))) as string[];
    await first.ask((client) =>
      client.call('CLUSTER', 'MEET', '127.0.0.1', String(node.port), bus[1] as string),
    );
  }
  const states = () => Promise.all(nodes.map((node) => node.ask((client) => client.call('CLUSTER', 'INFO'))));
  await until('the nodes know each other', async () =>
    (await states()).every((text) => /known_nodes:6/.test(String(text)) && /state:ok/.test(String(text))),
  );
  for (const [index, node] of nodes.slice(SHARDS).entries()) {
    const id = (await nodes[index]?.ask((client) => client.call('CLUSTER', 'MYID'))) as string;
    await node.ask((client) => client.call('CLUSTER', 'REPLICATE', id));
  }
  await until('the replicas follow', async () => {
    const counts = await Promise.all(nodes.slice(0, SHARDS).map((node) => node.followers()));
    return counts.every((count) => count === 1);
  });
  const slots = async (node: Node) =>
    (await node.ask((client) => client.call('CLUSTER', 'SLOTS'))) as [
      number,
      number,
      ...[string, number, string][],
    ][];
  /** As most of the reachable ones see it: the master first. */
  const shard = async (): Promise<Node[]> => {
    const views = await Promise.all(
      nodes.map(async (node) => {
        try {
          const slot = (await node.ask((client) => client.cluster('KEYSLOT', key))) as number;
          const [, , ...members] = (await slots(node)).find(([from, to]) => from <= slot && slot <= to) ?? [];
          return members?.map(([, port]) => port as number).join();
        } catch {
          return undefined;
        }
      }),
    );
    const seen = [...Map.groupBy(views.filter(Boolean), (view) => view)].sort(
      ([, one], [, other]) => other.length - one.length,
    );
    const ports = (seen[0]?.[0] ?? '').split(',').map(Number);
    return ports.map((port) => nodes.find((node) => node.port === port || node.plainPort === port) as Node);
  };
  const store: OrderStore = {
    url: `rediss-cluster://${credentials.userInfo}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}`,
    credentials,
    nodes,
    sentinels: [],
    master: async () => (await shard())[0] as Node,
    replicas: async () => (await shard()).slice(1),
    switchOver: async () => {
      const [replica] = await store.replicas();
      await replica?.ask((client) => client.call('CLUSTER', 'FAILOVER'));
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      credentials.remove();
    },
  };
  await until('the nodes know their replicas', async () => (await store.replicas()).length === 1);
  return store;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
