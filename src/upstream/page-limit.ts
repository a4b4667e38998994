import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { Readings } from '../config/readings.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { ContractNotes, UpstreamGaps } from './gaps.ts';
import { operations } from './operations.ts';
import { PlatformReadings } from './platform-readings.ts';

/** The gateway asks for large pages, so that they are few. The interface does not say how large a page may be. */
const MAX_PAGE_SIZE = 200;
/** After this time a larger page is tried again: the platform may have got another limit. */
const KEPT_MS = 60 * 60 * 1000;
/** How long a replica does not see what another one has learned. It learns the same by one call more. */
const ASK_EVERY_MS = 60 * 1000;

/** The number of the first page. */
export type FirstPage = 0 | 1;

/**
 * Keeps what the platform has shown of its list of members: how many members it gives at once, which number the first page has, and whether it
 * lists deleted employees. All replicas share the size and the last one in Redis.
 */
@Injectable()
export class PageLimit {
  readonly #key: string;
  readonly #deletedKey: string;
  #size: Promise<number> | undefined;
  #until = 0;
  /** The largest size in which the platform has given a page. */
  #given = 0;
  #first: { readonly page: FirstPage; readonly until: number } | undefined;
  #listsDeleted = { value: false, until: 0 };

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly gaps: UpstreamGaps,
    private readonly readings: PlatformReadings,
  ) {
    this.#key = `${environmentName(config.baseUrl)}:member-page-size`;
    this.#deletedKey = `${environmentName(config.baseUrl)}:member-list-deleted`;
  }

  size(): Promise<number> {
    if (this.#size && performance.now() < this.#until) return this.#size;
    return this.#keep(this.#shared(), ASK_EVERY_MS);
  }

  /** The platform has shown that its pages have no more members than that. */
  async learn(size: number): Promise<void> {
    this.note('data.pageSize');
    this.#given = Math.min(this.#given, size);
    if (size >= (await this.size())) return;
    await this.#keep(Promise.resolve(size), this.redis.configured ? ASK_EVERY_MS : KEPT_MS);
    await this.redis
      .run((client) => client.set(this.#key, String(size), 'PX', KEPT_MS))
      .catch(() => undefined);
  }

  /** The platform has given a page of this size, so one refusal does not mean the size. */
  isGiven(size: number): boolean {
    return size <= this.#given;
  }

  gave(size: number): void {
    this.#given = Math.max(this.#given, size);
  }

  /** Undefined while it is not known. */
  get firstPage(): FirstPage | undefined {
    const known = this.readings.of('firstPage');
    if (known !== undefined) return known === 0 ? 0 : 1;
    return this.#first && performance.now() < this.#first.until ? this.#first.page : undefined;
  }

  /** Undefined: what was found is in doubt. */
  beginsWith(page: FirstPage | undefined): void {
    this.#first = page === undefined ? undefined : { page, until: performance.now() + KEPT_MS };
  }

  /** How the platform shows mobile numbers; undefined while it is not known. */
  get mobiles(): Readings['mobiles'] | undefined {
    return this.readings.of('mobiles');
  }

  /** Whether the platform is known to list deleted employees too. */
  async listsDeleted(): Promise<boolean> {
    const known = this.readings.of('deletedMembers');
    if (known !== undefined) return known === 'listed' || this.#listsDeleted.value;
    if (!this.redis.configured || performance.now() < this.#listsDeleted.until)
      return this.#listsDeleted.value;
    const { value } = this.#listsDeleted;
    this.#listsDeleted = { value, until: performance.now() + ASK_EVERY_MS };
    const shared = await this.redis.run((client) => client.exists(this.#deletedKey)).catch(() => 0);
    return (this.#listsDeleted.value ||= shared === 1);
  }

  async sawDeleted(): Promise<void> {
    if (this.#listsDeleted.value) return;
    this.#listsDeleted = { value: true, until: performance.now() + ASK_EVERY_MS };
    await this.redis.run((client) => client.set(this.#deletedKey, '1', 'PX', KEPT_MS)).catch(() => undefined);
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

  /** Where Redis is away, this replica goes on with what it knows. */
  async #shared(): Promise<number> {
    const known = this.#size;
    const largest = Math.min(MAX_PAGE_SIZE, this.readings.of('maxPageSize') ?? MAX_PAGE_SIZE);
    if (!this.redis.configured) return largest;
    try {
      const size = await this.redis.run((client) => client.get(this.#key));
      return /^[1-9]\d{0,2}$/.test(size ?? '') ? Math.min(largest, Number(size)) : largest;
    } catch {
      return (await known) ?? largest;
    }
  }
}
