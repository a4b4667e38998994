import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { ContractNotes, UpstreamGaps } from './gaps.ts';
import { operations } from './operations.ts';
import { PlatformReadings } from './platform-readings.ts';
import { meaningOf } from './problems/upstream-codes.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import type { MemberPage } from './wire/member.ts';

/** The gateway asks for large pages, so that they are few. The interface does not say how large a page may be. */
const MAX_PAGE_SIZE = 200;
/** After this time a larger page is tried again: the platform may have got another limit. */
const KEPT_MS = 60 * 60 * 1000;
/** How long a replica does not see what another one has learned. It learns the same by one call more. */
const ASK_EVERY_MS = 60 * 1000;
/** The platform may round a page up to its own size. A list far longer than the requested size is not the page. */
const PAGE_TOLERANCE = 1.1;

/** Reads one page of the platform's list. `again`: the list is read for the second time, so no page of it may be from a cache. */
export type AskPage<T> = (
  wanted: { readonly pageNum: string; readonly pageSize: string },
  again: boolean,
) => Promise<MemberPage<T>>;

/** How many members the gateway asks for at once: as many as the platform has shown to give. All replicas share it in Redis. */
@Injectable()
export class PageLimit {
  readonly #key: string;
  #size: Promise<number> | undefined;
  #until = 0;

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
    private readonly gaps: UpstreamGaps,
    private readonly readings: PlatformReadings,
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

/** The platform's pages, in the largest size that it has shown to have. */
export class MemberPages<T> {
  /** The last request asked for smaller pages. That helped where the next page brings members. */
  isSmaller = false;
  readonly #maxItems: number;
  readonly #ahead = new Map<number, Promise<MemberPage<T>>>();
  #refusal: unknown;
  /** The size in which a page came full. */
  #full: number | undefined;

  constructor(
    private readonly ask: AskPage<T>,
    private readonly again: boolean,
    public size: number,
  ) {
    this.#maxItems = size * PAGE_TOLERANCE;
  }

  /**
   * The page with this position, where it begins (`at`), and where the next page begins (`until`); undefined where the platform refuses a
   * page of this size. Where `at` is undefined the platform's pages have another size, so this page has other members.
   */
  async read(
    position: number,
  ): Promise<{ at: number | undefined; until: number; page: MemberPage<T> } | undefined> {
    const { size } = this;
    const number = Math.floor(position / size) + 1;
    try {
      const page = asNumbered(await (this.#ahead.get(number) ?? this.#ask(number)), number, size);
      this.#ahead.delete(number);
      if (page.came > this.#maxItems) throw violation();
      const unit = await this.#unitOf(page, number);
      if (unit !== size) this.#resize(unit);
      else this.isSmaller = false;
      const at = (number - 1) * size;
      const isPart = page.total === null && unit === size;
      return {
        at: unit !== size && number > 1 ? undefined : at,
        until: at + (isPart ? size : page.came),
        page,
      };
    } catch (error) {
      if (!mayMeanTheSize(error)) throw error;
      this.#refusal ??= error;
      if (size === 1) throw this.#refusal;
      this.#resize(Math.floor(size / 2));
      return undefined;
    }
  }

  /** Begins to read the pages from a position to another one, a few at a time. */
  readAhead(from: number, to: number, pagesAtATime: number): void {
    if (pagesAtATime === 1) return;
    const last = Math.ceil(to / this.size);
    for (let number = Math.floor(from / this.size) + 1; number <= last; number++) {
      if (this.#ahead.size >= pagesAtATime) return;
      if (this.#ahead.has(number)) continue;
      const page = this.#ask(number);
      // `read` throws the failure.
      page.catch(() => undefined);
      this.#ahead.set(number, page);
    }
  }

  async #unitOf(page: MemberPage<T>, number: number): Promise<number> {
    const { size } = this;
    if (page.came >= size) this.#full = size;
    const unit = unitOf(page, number, size);
    if (unit >= size || number === 1) return unit;
    // A last page is short, too. The first page shows which size the platform's pages have.
    if (this.#full !== size && (await this.#ask(1)).came >= size) this.#full = size;
    return this.#full === size ? size : unit;
  }

  #ask(number: number): Promise<MemberPage<T>> {
    return this.ask({ pageNum: String(number), pageSize: String(this.size) }, this.again);
  }

  #resize(size: number): void {
    this.isSmaller = size < this.size;
    this.size = size;
    this.#ahead.clear();
  }
}

/** Some platforms answer with their last page where one beyond the end is asked for. Then the page that was asked for is empty. */
function asNumbered<T>(page: MemberPage<T>, number: number, size: number): MemberPage<T> {
  const { pageNum, total } = page;
  const isBeyond =
    total !== null && number > 1 && (number - 1) * Math.min(size, page.pageSize ?? size) >= total;
  const isOther = pageNum !== null && pageNum < number;
  return isBeyond || isOther ? { ...page, items: [], came: 0 } : page;
}

/** How many members a page of the platform has: as many as the response says, else as many as came. */
function unitOf(
  { came, pageSize, total, isLast }: MemberPage<unknown>,
  number: number,
  asked: number,
): number {
  if (came >= asked) return came;
  if (pageSize !== null && pageSize >= Math.max(1, came) && pageSize < asked) return pageSize;
  if (came === 0) return asked;
  if (total === null) return isLast === true ? asked : came;
  const due = total - (number - 1) * asked;
  return came === due || (number === 1 && came > due) ? asked : came;
}

/** Where the platform gives a total, the total decides: the flags may follow from the size that was asked for. */
export function isLastPage(
  { came, total, isLast }: MemberPage<unknown>,
  next: number,
  size: number,
): boolean {
  if (total === null) return isLast === true;
  return next >= total && (isLast !== false || came < size);
}

/** True for a refusal of the parameters that names none of them, and for one that the interface does not have. */
function mayMeanTheSize(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  const { status } = error.details;
  if (error.kind === 'unreadable') return status === 400 || status === 422;
  const known = meaningOf(error.operation, error.details);
  const isOfParameters = known?.slug === 'upstream-rejected' && known.field === undefined;
  return error.kind === 'refused' && (known === undefined || isOfParameters);
}

export function violation(detail?: string): ProblemException {
  return new ProblemException('upstream-contract-violation', { outcome: 'not_processed', detail });
}
