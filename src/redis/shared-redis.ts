import { randomUUID, X509Certificate } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { SpanKind, type SpanOptions } from '@opentelemetry/api';
import { Cluster, type Redis } from 'ioredis';
import { RedisConfig } from '../config/app-config.ts';
import { poll } from '../kit/poll/poll.ts';
import { StoreSealer, Sealer } from '../kit/sealed-store/sealed-store.ts';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { Log } from '../observability/log.ts';
import type { SealedInRedis } from '../observability/metric-tables.ts';
import { Metrics } from '../observability/metrics.ts';
import { inSpan } from '../observability/tracing.ts';
import { COMMAND_MS, inTime, redisClient, serverOf } from './redis-client.ts';
import { isRefusal, redisErrorReason, type RedisErrorReason, redisErrorWords } from './redis-error.ts';
import { environmentName } from './key-names.ts';
import { refusalsOf } from './rights.ts';
import { edge } from '../shared/edge.ts';

/** The longest wait at the start. Parts that need Redis report its absence themselves, and the rest works. */
const START_MS = 2_000;
const PROBE_EVERY_MS = 500;
/** The interval of checks, because rights, memory and the server's role may change while a connection is open. */
const CHECK_EVERY_MS = 2_000;
/** The most different errors that are logged while Redis is away. */
const MAX_REASONS = 20;
/** The keys that the probe reads in many slots of a cluster. They are enough to notice a lost master that serves a tenth of the slots. */
const PROBE_KEYS = 40;
/** The commands of rates, generations and lists, which {@link SharedRedis.atEndOfTurn} sends. */
const SENT_AT_ONCE = ['evalsha', 'get', 'mget'];

const STUCK: ReadonlySet<string> = new Set(['disconnecting', 'close', 'end']);

/** Redis is away, so the command was not sent. */
export class RedisAway extends Error {
  override readonly name = 'RedisAway';
}

/**
 * The connection to Redis for tokens, sessions, cache and limits. Without a URL there is no connection, and all data stays in the process.
 * A command takes 250 ms at most, and only the first command waits that long. While Redis is away no command is sent, until Redis replies
 * to a probe in the background.
 */
@Injectable()
export class SharedRedis implements OnModuleInit, OnApplicationShutdown {
  /** The first part of this gateway's keys. */
  readonly environment: string;
  readonly #sealer: Sealer | undefined;
  readonly #client: Redis | Cluster | undefined;
  readonly #listeners: (() => void)[] = [];
  /** Undefined until the first attempt to connect has ended. */
  #up: boolean | undefined;
  #stopped = false;
  #evictionChecked = false;
  #lastError: unknown;
  readonly #told = new Set<string>();
  readonly #asSpan: SpanOptions = {
    kind: SpanKind.CLIENT,
    attributes: { 'db.system.name': 'redis' },
  };
  /** Why Redis is away, in the words of Redis if it replied. */
  #said: string | undefined;
  #refusal: string | undefined;
  readonly #probe = new SingleFlight<void>();
  readonly #askNow = edge('redis', () => this.#ask());
  readonly #checkNow = edge('redis check', () => this.#checkWrites());
  #atEnd: (() => void)[] = [];
  #endProbes: (() => void) | undefined;
  #endChecks: (() => void) | undefined;

  constructor(
    config: RedisConfig,
    private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.environment = environmentName(config.platform);
    const server = serverOf(config);
    if (!server) return;
    this.#sealer = new Sealer(config.encryptionKeys);
    this.metrics.redisUp(false);
    const { cert } = server.certificates;
    if (server.tls && cert)
      this.metrics.set(
        'gateway_certificate_expiry_timestamp_seconds',
        { certificate: 'redis' },
        new X509Certificate(cert).validToDate.getTime() / 1_000,
      );
    this.#client = redisClient(server, SENT_AT_ONCE, this.commandMs);
    const failed = edge('redis', (error: Error & { code?: string }) => {
      // A failed connection that follows a refusal does not replace the refusal as the reason.
      if (isRefusal(error) || !isRefusal(this.#lastError)) this.#lastError = error;
      const reason = redisErrorReason(error);
      this.metrics.count('gateway_redis_errors_total', { reason });
      this.metrics.connectionFailed('redis', error);
      this.log.debug({ event: 'redis-error', reason: error.code ?? reason }, 'Redis connection failed');
      if (this.#up === false && isRefusal(error)) this.#tell(error);
    });
    const closed = edge('redis', () => this.#away(this.#lastError));
    this.#client.on('error', failed).on('ready', this.#askNow).on('close', closed);
  }

  protected get commandMs(): number {
    return COMMAND_MS;
  }

  async onModuleInit(): Promise<void> {
    if (!this.#client) {
      this.log.warn(
        { event: 'no-redis' },
        'No Redis is configured: its data stays in this process, so run one process only',
      );
      return;
    }
    const connected = this.#client.connect().then(() => this.#ask());
    // If the server is away at the start, the client tries again in the background.
    await Promise.race([connected.catch(() => undefined), wait(START_MS, undefined, { ref: false })]);
    if (!this.#up) this.#away(this.#lastError);
    if (this.#stopped) return;
    await this.#checkWrites();
    this.#endChecks = poll('redis check', CHECK_EVERY_MS, () => this.#checkWrites());
  }

  get configured(): boolean {
    return this.#client !== undefined;
  }

  /** `off` if no Redis is configured. `down` also if Redis can be read but refuses writes. */
  get status(): 'up' | 'down' | 'off' {
    if (!this.#client) return 'off';
    return this.#up && this.#refusal === undefined ? 'up' : 'down';
  }

  /** Tells an operator why the status is `down`. */
  get reason(): string | undefined {
    if (this.status !== 'down') return undefined;
    return this.#up ? this.#refusal : (this.#said ?? 'no connection');
  }

  /**
   * Runs a command, or fails at once with {@link RedisAway}. An error reply concerns this command only. A missing reply, or a reply that
   * Redis cannot serve anything, concerns all commands.
   */
  async run<T>(command: (client: Redis | Cluster) => Promise<T>): Promise<T> {
    const client = this.#client;
    if (!this.#up || client?.status !== 'ready') throw new RedisAway();
    try {
      return await inSpan('redis', this.#asSpan, () => inTime(command(client), this.commandMs));
    } catch (error) {
      const reason = redisErrorReason(error);
      this.metrics.count('gateway_redis_errors_total', { reason });
      if (isAway(reason)) this.#away(error);
      throw error;
    }
  }

  /** Returns the sealer of a store. Undefined if no Redis is configured. `store` is its name in metrics. */
  sealed(store: SealedInRedis): StoreSealer | undefined {
    if (!this.#sealer) return undefined;
    const unreadable = () => this.metrics.count('gateway_redis_unreadable_total', { store });
    return new StoreSealer(this.#sealer, unreadable);
  }

  /**
   * Calls `ask` at the end of this turn of the event loop. All commands then go out in one write, because two replies would wake this
   * process twice.
   */
  atEndOfTurn(ask: () => void): void {
    if (this.#atEnd.push(edge('redis commands', ask)) > 1) return;
    const askAll = () => {
      const asking = this.#atEnd;
      this.#atEnd = [];
      for (const each of asking) each();
    };
    const inOneWrite = () => {
      // A cluster has a connection for each node.
      const stream = this.#client instanceof Cluster ? undefined : this.#client?.stream;
      stream?.cork();
      try {
        askAll();
      } finally {
        stream?.uncork();
      }
    };
    setImmediate(edge('redis commands', inOneWrite, askAll));
  }

  /** Adds a listener that runs whenever Redis can be used again. */
  onReady(listener: () => unknown): void {
    this.#listeners.push(edge('redis is back', listener));
  }

  onApplicationShutdown(): void {
    this.#stopped = true;
    this.#endProbes?.();
    this.#endChecks?.();
    this.#client?.disconnect();
  }

  #away(error: unknown): void {
    if (this.#up === false || this.#stopped) return;
    this.#up = false;
    this.metrics.redisUp(false);
    this.#told.clear();
    this.#tell(error);
    // This also probes at once: if this process was blocked for a moment, the reply has already arrived.
    this.#askNow();
    this.#endProbes = poll('redis', PROBE_EVERY_MS, () => this.#ask());
  }

  #back(): void {
    if (this.#up === true || this.#stopped) return;
    this.#up = true;
    this.#endProbes?.();
    this.#lastError = undefined;
    this.metrics.redisUp(this.status === 'up');
    this.log.info({ event: 'redis-ready' }, 'Redis is connected');
    for (const listener of this.#listeners) listener();
    void this.#checkEviction().catch(() => undefined);
    this.#checkNow();
  }

  /** Logs why Redis is away, in the server's words if there are any. Each reason is logged once while Redis is away. */
  #tell(error: unknown): void {
    const said = error === undefined ? undefined : redisErrorWords(error);
    this.#said = said;
    if (this.#told.has(said ?? '') || this.#told.size >= MAX_REASONS) return;
    this.#told.add(said ?? '');
    const reason: RedisErrorReason = error === undefined ? 'connection' : redisErrorReason(error);
    this.log.warn(
      { event: 'redis-away', reason, said },
      'Redis is away: no command is sent until it replies to a probe',
    );
  }

  /** Checks whether Redis accepts writes and grants the gateway its rights. Reads go on in any case. Never fails. */
  async #checkWrites(): Promise<void> {
    if (!this.#up) return;
    let refusal: string | undefined;
    try {
      const { missing, words } = await this.run((client) => refusalsOf(client, this.environment));
      refusal = missing.length > 0 ? `denies ${missing.join(' and ')}` : words;
    } catch {
      return; // Either Redis is away, which is logged, or the next check tries again.
    }
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    this.metrics.redisUp(this.status === 'up');
    if (refusal === undefined) this.log.info({ event: 'redis-ready' }, 'Redis takes writes again');
    else
      this.log.error(
        { event: 'redis-refuses', said: refusal },
        'Redis refuses what the gateway needs: it is read, and nothing new is kept there',
      );
  }

  /** Probes whether Redis can be used. Only one probe runs at a time. It never fails. */
  #ask(): Promise<void> {
    return this.#probe.run('', () => this.#answers());
  }

  async #answers(): Promise<void> {
    const client = this.#client;
    if (!client || this.#stopped) return;
    // A cluster client stays in these states if a redirected command opens a connection while all others are closed.
    if (STUCK.has(client.status)) void client.connect().catch(() => undefined);
    if (client.status !== 'ready') return;
    try {
      const probe: Promise<unknown> = client instanceof Cluster ? probeCluster(client) : client.ping();
      await inTime(probe, this.commandMs);
    } catch (error) {
      const reason = redisErrorReason(error);
      if (isAway(reason)) {
        // A new connection asks the name server, the sentinels or the cluster again. An old one may stay dead for hours.
        if (reason !== 'loading' && client.status === 'ready') client.disconnect(true);
        return this.#away(error);
      }
    }
    this.#back();
  }

  /**
   * Warns if Redis may evict keys, because users would lose their sessions and locks would be lost. Some servers do not reveal their
   * policy.
   */
  async #checkEviction(): Promise<void> {
    if (this.#evictionChecked) return;
    const info = await this.run((client) => client.info('memory'));
    this.#evictionChecked = true;
    const policy = /^maxmemory_policy:([\w-]{1,40})/m.exec(info)?.[1];
    if (policy === undefined || policy === 'noeviction') return;
    this.log.warn(
      { event: 'redis-evicts', policy },
      'Redis may evict sessions and locks: set its maxmemory-policy to noeviction',
    );
  }
}

function isAway(reason: RedisErrorReason): boolean {
  return reason === 'timeout' || reason === 'connection' || reason === 'loading';
}

async function probeCluster(cluster: Cluster): Promise<void> {
  await Promise.all(Array.from({ length: PROBE_KEYS }, () => cluster.exists(randomUUID())));
}
