import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Agent, Pool } from 'undici';
import { UpstreamConfig } from '../../config/app-config.ts';
import type { GroupName } from '../operations.ts';

/** Each group's own, so that one that stalls takes none from the others; reads get more, since there are more of them. */
export const connections: Readonly<Record<GroupName, number>> = {
  orderReads: 128,
  orders: 64,
  orderWrites: 64,
  memberReads: 128,
  memberWrites: 64,
};
const MAX_HEADER_BYTES = 16 * 1024;
const KEEP_ALIVE_MS = 4_000;

/** An exchange under way. */
export interface Ending {
  /** Ends it now, as if its time were up. */
  timeUp(): void;
}

/**
 * The only connections to the platform. No redirects, no proxies: undici's pools know neither, and nothing is added.
 * Orders open a connection a call (`pipelining: 0`): an idle connection that is closed as we send would leave the outcome
 * of an order unknown for no reason.
 */
@Injectable()
export class UpstreamPools implements OnApplicationShutdown {
  readonly tokens: Agent;
  /** Exchanges under way, of all groups. */
  readonly exchanges = new Set<Ending>();
  readonly #groups: ReadonlyMap<GroupName, Pool>;

  constructor(config: UpstreamConfig) {
    const options = {
      connect: { timeout: config.connectTimeoutMs },
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
    };
    const pool = (group: GroupName, limit: number) =>
      new Pool(config.baseUrl.origin, {
        ...options,
        connections: limit,
        ...(group === 'orders' && { pipelining: 0 }),
      });
    this.#groups = new Map(
      Object.entries(connections).map(([name, limit]) => [name as GroupName, pool(name as GroupName, limit)]),
    );
    this.tokens = new Agent({ ...options, connections: 4 });
  }

  of(group: GroupName): Pool {
    return this.#groups.get(group) as Pool;
  }

  /** Ends what is still under way: the process cannot wait for it any longer. */
  endExchanges(): void {
    for (const each of this.exchanges) each.timeUp();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#groups.values(), this.tokens].map((each) => each.close()));
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#groups.values(), this.tokens].map((each) => each.destroy()));
  }
}
