import type { ProblemException } from '../problem/problem.exception.ts';
import { operations } from './operations.ts';
import type { FirstPage, PageLimit } from './page-limit.ts';
import { meaningOf } from './problems/upstream-codes.ts';
import { violation } from './problems/violation.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import type { MemberPage } from './wire/member.ts';

/**
 * A page may be longer than requested by this factor, because the platform may round it up to its own size. A far longer list is not the
 * page.
 */
const PAGE_TOLERANCE = 1.1;

/** Reads one page of the platform's list. `again` means that the list is read for the second time, so no page may come from a cache. */
export type AskPage<T> = (
  wanted: { readonly pageNum: string; readonly pageSize: string },
  again: boolean,
) => Promise<MemberPage<T>>;

/** The platform's pages, in the largest size that it has shown to support. */
export class MemberPages<T extends { readonly memberGlobalId: string }> {
  /** True if the last request asked for smaller pages. That helped if the next page has members. */
  isSmaller = false;
  readonly #maxItems: number;
  readonly #ahead = new Map<number, Promise<MemberPage<T>>>();
  #refusal: unknown;
  /** The size of a page that arrived full. */
  #full: number | undefined;
  #isAskedAgain = false;
  #first: FirstPage | undefined;
  #hasForgotten = false;
  /** True once a page was the requested one, although its number or the total says that it is not. */
  #isMisstated = false;

  constructor(
    private readonly ask: AskPage<T>,
    private readonly again: boolean,
    public size: number,
    private readonly limit: PageLimit,
  ) {
    this.#maxItems = size * PAGE_TOLERANCE;
  }

  /**
   * Reads the page with this position. `at` is where it begins, and `until` is where the next page begins. Returns undefined if the
   * platform refuses the page, and the next one is requested in another way. If `at` is undefined, the platform's pages have another size, so this page has other members.
   */
  async read(
    position: number,
  ): Promise<{ at: number | undefined; until: number; page: MemberPage<T> } | undefined> {
    const { size } = this;
    const number = Math.floor(position / size) + 1;
    try {
      await this.#findFirst(number);
      const asked = this.#ahead.get(number) ?? this.#ask(number);
      this.#ahead.delete(number);
      const page = await this.#asRequested(await asked, number);
      if (page.came > this.#maxItems) throw listViolation();
      const unit = await this.#unitOf(page, number);
      if (unit !== size) this.#resize(unit);
      else {
        this.isSmaller = false;
        this.#isAskedAgain = false;
        this.limit.gave(size);
      }
      const at = (number - 1) * size;
      const isPlaced = unit === size || number === 1;
      const counted = isPlaced ? this.#counted(page, at, { unit, size }) : page;
      // A page that ends at the total may be shorter than the others, and not be the last one.
      const isPart = unit === size && (counted.total === null || at + page.came >= counted.total);
      return {
        at: isPlaced ? at : undefined,
        until: at + (isPart ? size : page.came),
        page: counted,
      };
    } catch (error) {
      if (!mayMeanTheSize(error)) throw error;
      if (this.#forgetsZero()) return undefined;
      this.#refusal ??= error;
      if (size > 1 && (await this.#isTheSize())) return undefined;
      throw this.#refusal;
    }
  }

  /** Whether another member is at this position now. It counts as no if the platform does not show a page of one member. */
  hasMoved({ memberGlobalId }: T, position: number): Promise<boolean> {
    const pageNum = String(this.#numberOf(position + 1));
    const moved = this.ask({ pageNum, pageSize: '1' }, true).then(
      ({ came, items: [item] }) => came === 1 && item != null && item.memberGlobalId !== memberGlobalId,
      (error: unknown) => {
        if (mayMeanTheSize(error)) return false;
        throw error;
      },
    );
    // The reader throws the failure at the end of the list.
    moved.catch(() => undefined);
    return moved;
  }

  /**
   * Decides whether a refusal means the size. The first size, and one that the platform has given before, is requested once more, because
   * one refusal says nothing about it. After a second refusal a size that was given before is the reason only if the platform returns the
   * smallest page. Any other size is halved.
   */
  async #isTheSize(): Promise<boolean> {
    const isGivenBefore = this.limit.isGiven(this.size);
    if (isGivenBefore || !this.isSmaller) {
      this.#isAskedAgain = !this.#isAskedAgain;
      if (this.#isAskedAgain) return true;
    }
    if (isGivenBefore) {
      const isGiven = this.ask({ pageNum: String(this.#numberOf(1)), pageSize: '1' }, this.again).then(
        () => true,
        () => false,
      );
      if (!(await isGiven)) return false;
    }
    this.#resize(Math.floor(this.size / 2));
    return true;
  }

  /** Finds out the number of the first page. A page that does not claim to be the first one is compared with the page before it. */
  async #findFirst(wanted: number): Promise<void> {
    this.#first ??= this.limit.firstPage;
    if (this.#first !== undefined) return;
    if (wanted > 1) {
      const deep = await this.#ask(wanted);
      this.#ahead.set(wanted, Promise.resolve(deep));
      // The position of a page that was cut proves nothing: a page of a list that begins with page 0 may have the same one.
      const isFull = deep.came === this.size && deep.startRow === (wanted - 1) * this.size + 1;
      if (isFull && deep.pageNum === wanted) {
        this.limit.beginsWith((this.#first = 1));
        return;
      }
    }
    const page = await this.#ask(1);
    // A platform may answer a request beyond the end with the first page, which then has another number.
    const isSaid = page.isFirst === true && (page.pageNum === null || page.pageNum === 1);
    // A platform may answer a request beyond the end with the last page. That is page 0 if it is the only one. An empty page may have any
    // number.
    const isOnly = page.isLast !== false && (page.total === null || page.total <= page.came);
    const isZero = page.pageNum === 0 && page.came > 0 && isOnly && !this.#hasForgotten;
    const first = isSaid ? 1 : isZero ? 0 : await this.#comparedFirst(page);
    if (first !== undefined) this.limit.beginsWith(first);
    this.#first = first;
    if (first === 0) this.#ahead.clear();
    else if (wanted === 1) this.#ahead.set(1, Promise.resolve(page));
  }

  /** Returns undefined if both pages show the same members and no other page follows. The number cannot be determined then. */
  async #comparedFirst(page: MemberPage<T>): Promise<FirstPage | undefined> {
    const asked = this.ask({ pageNum: '0', pageSize: String(this.size) }, this.again);
    const before = await asked.catch((error: unknown) => {
      if (error instanceof UpstreamFailure && (error.kind === 'refused' || mayMeanTheSize(error)))
        return undefined;
      throw error;
    });
    if (!before || before.came === 0) return page.came === 0 ? undefined : 1;
    if (!showsAgain(page, before)) return 0;
    return page.isLast === false || (page.total !== null && page.total > page.came) ? 1 : undefined;
  }

  /** Forgets that the first page is page 0, once: one odd page may have said so, and the platform then refuses page 0. */
  #forgetsZero(): boolean {
    if (this.#first !== 0 || this.#hasForgotten) return false;
    this.#hasForgotten = true;
    this.#first = undefined;
    this.#ahead.clear();
    this.limit.beginsWith(undefined);
    return true;
  }

  #numberOf(page: number): number {
    return page - 1 + (this.#first ?? 1);
  }

  /** Begins to read the pages between two positions, a few at a time. */
  readAhead(from: number, to: number, pagesAtATime: number): void {
    if (pagesAtATime === 1) return;
    const last = Math.ceil(to / this.size);
    for (let number = Math.floor(from / this.size) + 1; number <= last; number++) {
      if (this.#ahead.size >= pagesAtATime) return;
      if (this.#ahead.has(number)) continue;
      const page = this.#ask(number);
      // `read` throws the failure when it awaits this page.
      page.catch(() => undefined);
      this.#ahead.set(number, page);
    }
  }

  async #unitOf(page: MemberPage<T>, number: number): Promise<number> {
    const { size } = this;
    if (page.came >= size) this.#full = size;
    const unit = unitOf(page, number, size);
    if (unit >= size || number === 1) return unit;
    // The last page is short, too. The first page shows the platform's page size.
    if (this.#full !== size && (await this.#ask(1)).came >= size) this.#full = size;
    return this.#full === size ? size : unit;
  }

  /**
   * Returns an empty page if the platform answered with another page, as some do beyond the end of the list. A wrong page number or a total
   * that is too low looks the same, so the page counts as another one only if it shows the members of that one.
   */
  async #asRequested(page: MemberPage<T>, number: number): Promise<MemberPage<T>> {
    const { came, pageNum, total } = page;
    const asked = this.#numberOf(number);
    const isOther = pageNum !== null && pageNum < asked;
    const from = (number - 1) * Math.min(this.size, page.pageSize ?? this.size);
    const isBeyond = total !== null && from >= total && pageNum !== asked;
    if (came === 0 || !(isOther || isBeyond)) return page;
    if (number > 1 && !this.#isMisstated) {
      const other = isOther ? Math.max(1, pageNum + number - asked) : number - 1;
      if (showsAgain(page, await this.#ask(other))) return { ...page, items: [], came: 0 };
      this.#isMisstated = true;
    }
    if (isOther) this.limit.note('data.pageNum', 'wrong-type');
    return page;
  }

  /** Notes a total that is too low. It then says nothing of what follows a full page, and neither do flags that may follow from it. */
  #counted(page: MemberPage<T>, at: number, { unit, size }: { unit: number; size: number }): MemberPage<T> {
    const { came, total } = page;
    if (total === null || came === 0 || at + came <= total) return page;
    this.limit.note('data.total');
    if (came < unit) return page;
    // A platform that sends more than was requested does not cut its pages there, so only what came is counted.
    return { ...page, total: came > size ? total : null, isLast: null };
  }

  #ask(number: number): Promise<MemberPage<T>> {
    const pageNum = String(this.#numberOf(number));
    return this.ask({ pageNum, pageSize: String(this.size) }, this.again);
  }

  #resize(size: number): void {
    this.isSmaller = size < this.size;
    this.#isAskedAgain = false;
    this.size = size;
    this.#ahead.clear();
  }
}

/** True if most members of a page were on another page too. The list may change between the two answers. */
function showsAgain<T extends { readonly memberGlobalId: string }>(
  page: MemberPage<T>,
  other: MemberPage<T>,
): boolean {
  const shown = new Set(other.items.map((item) => item?.memberGlobalId));
  const again = page.items.filter((item) => shown.has(item?.memberGlobalId)).length;
  return again > page.came / 2;
}

/**
 * Returns the number of members on a page of the platform, as the response states it, or else as it arrived. A page that is shorter than
 * requested has the requested size only if its position says so, or if it says that it is the last one.
 */
function unitOf(
  { came, pageSize, total, startRow, isLast }: MemberPage<unknown>,
  number: number,
  asked: number,
): number {
  if (came >= asked) return came;
  if (pageSize !== null && pageSize >= Math.max(1, came) && pageSize < asked) return pageSize;
  if (came === 0) return asked;
  const before = (number - 1) * asked;
  if (startRow !== null && before > 0) return startRow === before + 1 ? asked : came;
  const isEnd = total === null ? before === 0 : came === total - before;
  return isLast === true && isEnd ? asked : came;
}

/** True for the last page. A total says nothing alone. If the flags are computed from the requested size, the total contradicts them. */
export function isLastPage({ total, isLast }: MemberPage<unknown>, next: number): boolean {
  return isLast === true && (total === null || next >= total);
}

/** True for a refusal of the parameters that names none of them, and for a refusal that the interface does not have. */
function mayMeanTheSize(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  const { status } = error.details;
  if (error.kind === 'unreadable') return status === 400 || status === 422;
  const known = meaningOf(error.operation, error.details);
  const isOfParameters = known?.slug === 'upstream-rejected' && known.field === undefined;
  return error.kind === 'refused' && (known === undefined || isOfParameters);
}

/** Returns the problem of a list of members that arrived and cannot be used. */
export function listViolation(detail?: string): ProblemException {
  return violation(detail, { operation: operations.listMembers.name, status: 200 });
}
