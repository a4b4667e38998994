import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { Replica } from './replica.ts';
import type { ReplicaState } from './replica-state.ts';
import { SAMPLE_MS } from './traffic.ts';
import { edge } from '../shared/edge.ts';

/** A replica that has not reported for this time has died, or has lost Redis. */
export const SILENT_MS = 3 * SAMPLE_MS;
/** After this time the console forgets it. */
const FORGOTTEN_MS = 5 * 60_000;

/** All replicas, as far as they can be seen from here. */
export interface Seen {
  /** This process first. */
  readonly states: readonly ReplicaState[];
  /** `none`: no Redis is configured; `away`: only this process can be seen. */
  readonly others: 'seen' | 'none' | 'away';
}

/** Each replica reports its state through Redis, sealed, so that the console of one shows all. */
@Injectable()
export class Replicas implements OnModuleInit, OnApplicationShutdown {
  readonly #key: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    config: UpstreamConfig,
    private readonly replica: Replica,
    private readonly redis: SharedRedis,
  ) {
    this.#key = `${environmentName(config.baseUrl)}:replicas`;
  }

  onModuleInit(): void {
    if (this.redis.configured)
      this.#timer = setInterval(
        edge('replicas', () => this.#report().catch(() => undefined)),
        SAMPLE_MS,
      ).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.redis.run((client) => client.hdel(this.#key, this.replica.id)).catch(() => undefined);
  }

  async all(): Promise<Seen> {
    const own = await this.replica.state();
    if (!this.redis.configured) return { states: [own], others: 'none' };
    try {
      const sealed = await this.redis.run((client) => client.hgetall(this.#key));
      const others = Object.entries(sealed).flatMap(([id, text]) =>
        id === own.id ? [] : this.#opened(id, text),
      );
      return { states: [own, ...others.toSorted((a, b) => a.startedAt - b.startedAt)], others: 'seen' };
    } catch {
      return { states: [own], others: 'away' };
    }
  }

  async #report(): Promise<void> {
    const { sealer } = this.redis;
    if (!sealer) return;
    const { id } = this.replica;
    const sealed = sealer.seal(JSON.stringify(await this.replica.state()), `${this.#key}:${id}`);
    await this.redis.run(async (client) => {
      await client.hset(this.#key, id, sealed);
      await client.pexpire(this.#key, FORGOTTEN_MS);
    });
  }

  /** A replica with other keys, or that is gone for long, is left out. */
  #opened(id: string, sealed: string): ReplicaState[] {
    const text = this.redis.sealer?.open(sealed, `${this.#key}:${id}`);
    const state = text === undefined ? undefined : (JSON.parse(text) as ReplicaState);
    if (state && Date.now() - state.at < FORGOTTEN_MS) return [state];
    void this.redis.run((client) => client.hdel(this.#key, id)).catch(() => undefined);
    return [];
  }
}
