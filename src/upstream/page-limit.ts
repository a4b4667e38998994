import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { UpstreamGaps } from './gaps.ts';
import { operations } from './operations.ts';
import { ContractNotes } from './wire/contract-notes.ts';

/** Large, for few pages. The interface does not say how large a page may be. */
const LARGEST = 200;
/** Then a larger page is tried again: the platform may have got another limit. */
const KEPT_MS = 60 * 60 * 1000;
/** How long a replica does not see what another one has learned. It learns the same by one call more. */
const ASK_EVERY_MS = 60 * 1000;

/** How many members to ask for at once: what the platform has given or accepted, for all replicas. */
@Injectable()
export class PageLimit {
  readonly #key: string;
  #size: Promise<number> | undefined;
  #until = 0;

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly gaps: UpstreamGaps,
  ) {
    this.#key = `${environmentName(config.baseUrl)}:member-page-size`;
  }

  size(): Promise<number> {
    if (this.#size && performance.now() < this.#until) return this.#size;
    return this.#keep(this.#shared(), ASK_EVERY_MS);
  }

  /** The platform has shown that its pages have no more members than that. */
  async learn(size: number): Promise<void> {
    this.note('data.pageSize');
    if (size >= (await this.size())) return;
    await this.#keep(Promise.resolve(size), this.redis.configured ? ASK_EVERY_MS : KEPT_MS);
    await this.redis
      .run((client) => client.set(this.#key, String(size), 'PX', KEPT_MS))
      .catch(() => undefined);
  }

  /** A limit of the platform that its interface does not have. */
  note(path: string): void {
    const notes = new ContractNotes();
    notes.add(path, 'limit');
    this.gaps.add(operations.listMembers, notes);
  }

  #keep(size: Promise<number>, forMs: number): Promise<number> {
    this.#until = performance.now() + forMs;
    return (this.#size = size);
  }

  /** While Redis cannot say it, what this replica knows. */
  async #shared(): Promise<number> {
    const known = this.#size;
    if (!this.redis.configured) return LARGEST;
    try {
      const size = await this.redis.run((client) => client.get(this.#key));
      return /^[1-9]\d{0,2}$/.test(size ?? '') ? Math.min(LARGEST, Number(size)) : LARGEST;
    } catch {
      return (await known) ?? LARGEST;
    }
  }
}
