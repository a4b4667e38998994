import { ProblemException } from '../problem/problem.exception.ts';
import { upstreamCodes } from './problems/upstream-codes.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import type { MemberPage } from './wire/member-page.ts';

/** The platform may round a page up to its own size. A list far longer than the requested size is not the page. */
const PAGE_TOLERANCE = 1.1;
/** Statuses of a request that is refused without an envelope. */
const BAD_REQUEST: ReadonlySet<number | undefined> = new Set([400, 422]);

/** Reads one page of the platform's list. `again`: the list is read for the second time, so no page of it may be from a cache. */
export type AskPage<T> = (
  wanted: { readonly pageNum: string; readonly pageSize: string },
  again: boolean,
) => Promise<MemberPage<T>>;

/** The platform's pages, in the largest size that it has shown to have. */
export class MemberPages<T> {
  /** They were asked to be smaller: it helped where the next one brings members. */
  isSmaller = false;
  readonly #most: number;
  readonly #ahead = new Map<number, Promise<MemberPage<T>>>();
  #refusal: unknown;
  /** A page of this size came full. */
  #full: number | undefined;

  constructor(
    private readonly ask: AskPage<T>,
    private readonly again: boolean,
    public size: number,
  ) {
    this.#most = size * PAGE_TOLERANCE;
  }

  /**
   * The page with this position, where it begins, and the position that the next page has; undefined where the platform refuses a page of this size.
   * Without `at` the platform's pages have another size, so this one has other members.
   */
  async read(
    position: number,
  ): Promise<{ at: number | undefined; until: number; page: MemberPage<T> } | undefined> {
    const { size } = this;
    const number = Math.floor(position / size) + 1;
    try {
      const page = await (this.#ahead.get(number) ?? this.#ask(number));
      this.#ahead.delete(number);
      if (page.came > this.#most) throw violation();
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
      // It is thrown where the page is read.
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

/** How many members the pages of the platform have: by its own word, else by what came. */
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

/** A platform that counts has said the last word: its flags may be made of the size that was asked for. */
export function isLastPage(
  { came, total, isLast }: MemberPage<unknown>,
  next: number,
  size: number,
): boolean {
  if (total === null) return isLast === true;
  return next >= total && (isLast !== false || came < size);
}

/** A refusal of the parameters, none of which it names, or one that the interface does not have. */
function mayMeanTheSize(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  const { code = '', status } = error.details;
  if (error.kind === 'unreadable') return BAD_REQUEST.has(status);
  const known = upstreamCodes.get(code);
  const isOfParameters = known?.slug === 'upstream-rejected' && known.field === undefined;
  return error.kind === 'refused' && (known === undefined || isOfParameters);
}

export function violation(detail?: string): ProblemException {
  return new ProblemException('upstream-contract-violation', {
    outcome: 'not_processed',
    ...(detail !== undefined && { detail }),
  });
}
