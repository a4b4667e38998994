import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Agent, Pool } from 'undici';
import { UpstreamConfig } from '../../config/app-config.ts';

const MAX_CONNECTIONS = 128;
const MAX_HEADER_BYTES = 16 * 1024;
const KEEP_ALIVE_MS = 4_000;

/**
 * The only connections to the platform. No redirects, no proxies: undici's pools know neither, and nothing is added.
 * `unshared` opens a connection a call (`pipelining: 0`): an idle connection that is closed as we send would leave
 * the outcome of an order unknown for no reason.
 */
@Injectable()
export class UpstreamPools implements OnApplicationShutdown {
  readonly shared: Pool;
  readonly unshared: Pool;
  readonly tokens: Agent;

  constructor(config: UpstreamConfig) {
    const options = {
      connect: { timeout: config.connectTimeoutMs },
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
    };
    this.shared = new Pool(config.baseUrl.origin, { ...options, connections: MAX_CONNECTIONS });
    this.unshared = new Pool(config.baseUrl.origin, {
      ...options,
      connections: MAX_CONNECTIONS,
      pipelining: 0,
    });
    this.tokens = new Agent({ ...options, connections: 4 });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.shared.close(), this.unshared.close(), this.tokens.close()]);
  }
}
