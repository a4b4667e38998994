import { Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { type AskPage, isLastPage, MemberPages, listViolation } from './member-pages.ts';
import { PageLimit } from './page-limit.ts';

/** The most members of an enterprise. A longer list is no list of an enterprise. */
const MAX_MEMBERS = 500_000;
const MAX_CALLS = 10_000;

interface Listed {
  readonly memberGlobalId: string;
  readonly deleted: boolean | null;
}

/** The members of one page that no earlier page had. */
export interface Part<T> {
  readonly items: readonly T[];
  /** The position of the page's first member in the list, from 0. */
  readonly at: number;
  /** The number of members without deleted employees; null while it is not known. */
  readonly total: number | null;
  /** The number of members on the page without an id. The gateway can show nothing of them. */
  readonly nameless: number;
}

/**
 * How a list ended. `changed`: the list became shorter, or showed fewer different members than it counts, or showed members twice and does
 * not count them, or the last member of a page moved while the next one was read. Some members may then be on a page that was read before.
 * `short`: its pages ended before all members were shown.
 */
type End = 'whole' | 'changed' | 'short';

interface ReadTerms {
  readonly pagesAtATime?: number | undefined;
  /**
   * True if the end of each page is looked at once more after the next page came, with one further call. Otherwise a member is missed who moves
   * to a page that was read, because an earlier one left, while another one joins and the list counts as many as before.
   */
  readonly isExact?: boolean;
}

/** The positions to read, and the way to read them. `again` means that the list is read for the second time. */
interface Span extends ReadTerms {
  readonly from: number;
  readonly to: number;
  readonly again: boolean;
}

/**
 * The only reader of the platform's list of members (interface section 4.2, operation 5), which is paged. The interface does not say how
 * large a page may be: a platform may cut pages or refuse large ones. So the reader trusts the page that arrived and not the requested
 * size. A platform may also list deleted employees. They are no members, and are left out.
 */
@Injectable()
export class MemberList {
  constructor(private readonly limit: PageLimit) {}

  /**
   * Yields every member once. A list that changed while it was read, or that ended early, is read once more, and then fails. If a list
   * shows the same members twice, and fewer members than it counts, it counts some of them twice.
   */
  async *all<T extends Listed>(ask: AskPage<T>, terms: ReadTerms = {}): AsyncGenerator<Part<T>> {
    const seen = new Map<string, boolean>();
    const span = { ...terms, from: 0, to: Infinity };
    const first = yield* this.#pass(ask, { ...span, again: false }, seen);
    if (first === 'whole') return;
    const shown = seen.size;
    const second = yield* this.#pass(ask, { ...span, again: true }, seen);
    if (second === 'whole') return;
    const isSame = seen.size === shown && [...seen.values()].every((again) => again);
    if (second === 'short') throw listViolation('The platform counts more members than it shows.');
    if (first === 'changed' && isSame) return this.limit.note('data.total');
    throw new ProblemException('upstream-unavailable', {
      detail: 'The list of members changed each time that it was read.',
      retryAfter: 1,
    });
  }

  /**
   * Returns one page in the caller's size. `total` is null if the platform sends none and the end of the list was not seen. A page that ends
   * before its members were shown is read once more. It then fails, unless the list ends there and only its total is too high.
   */
  async page<T extends Listed>(
    ask: AskPage<T>,
    { page, pageSize }: { readonly page: number; readonly pageSize: number },
  ): Promise<{ items: T[]; total: number | null }> {
    const from = (page - 1) * pageSize;
    let items: T[] = [];
    let total: number | null = null;
    for (const again of (await this.limit.listsDeleted()) ? [] : [false, true]) {
      items = [];
      let nameless = 0;
      const span = { from, to: from + pageSize, again };
      const parts = this.#pass(ask, span, new Map());
      let part = await parts.next();
      for (; !part.done; part = await parts.next()) {
        items.push(...part.value.items);
        nameless += part.value.nameless;
        total = part.value.total;
      }
      if (part.value === 'whole') break;
      if (again && part.value === 'short' && !(await this.limit.listsDeleted()))
        total = await this.#endAfter(ask, span, items.length + nameless);
    }
    // If the list has a deleted employee, the positions of the members can only be counted.
    return (await this.limit.listsDeleted()) ? this.#counted(ask, from, from + pageSize) : { items, total };
  }

  /** Returns where the list ends if this span shows its last members. Throws if the span shows none, or if the list goes on after it. */
  async #endAfter<T extends Listed>(ask: AskPage<T>, span: Span, shown: number): Promise<number> {
    const next = { ...span, from: span.to, to: 2 * span.to - span.from };
    const part = await this.#pass(ask, next, new Map()).next();
    const goesOn = !part.done && part.value.items.length + part.value.nameless > 0;
    if (shown === 0 || goesOn)
      throw listViolation('The platform counts members on this page that it does not show.');
    return span.from + shown;
  }

  async count(ask: AskPage<Listed>): Promise<number> {
    let counted = 0;
    for await (const { items, nameless, total } of this.all(ask)) {
      if (total !== null && !(await this.limit.listsDeleted())) return total;
      if (nameless > 0) throw listViolation('Members came without an id, so they cannot be counted.');
      counted += items.length;
    }
    return counted;
  }

  async #counted<T extends Listed>(
    ask: AskPage<T>,
    from: number,
    to: number,
  ): Promise<{ items: T[]; total: number | null }> {
    const found: T[] = [];
    let counted = 0;
    for await (const { items } of this.all(ask)) {
      found.push(...items.slice(Math.max(0, from - counted), Math.max(0, to - counted)));
      counted += items.length;
      if (counted > to) return { items: found, total: null };
    }
    return { items: found, total: counted };
  }

  /** Reads a span once. `seen` has the members that were yielded, each with the last pass that saw it. */
  async *#pass<T extends Listed>(
    ask: AskPage<T>,
    { from, to, again, pagesAtATime = 1, isExact = false }: Span,
    seen: Map<string, boolean>,
  ): AsyncGenerator<Part<T>, End> {
    const size = Math.min(await this.limit.size(), to - from);
    // A list without a fixed order shows different members in pages of another size.
    const pages = new MemberPages(
      ask,
      again,
      again && to === Infinity ? Math.max(1, size - 1) : size,
      this.limit,
    );
    let next = from;
    let maxTotal = 0;
    let hasShrunk = false;
    /**
     * True if a member was shown a second time who was not on the previous page. Other members may then have moved to a page that was read.
     */
    let hasRepeated = false;
    let last = new Set<string>();
    /** The last member of the page before, and its position. */
    let end: { readonly at: number; readonly member: T | null } | undefined;
    /** A list with an entry for each page but the last: whether its last member has moved. */
    const moves: Promise<boolean>[] = [];
    /** The number of members without an id, who cannot be told apart. */
    let nameless = 0;
    /** The end of the members that the platform has shown. Null if it has shown none. */
    let reached = from === 0 ? 0 : null;
    for (let calls = 0; calls < MAX_CALLS && next < MAX_MEMBERS + from; calls++) {
      const { size: asked, isSmaller } = pages;
      const read = await pages.read(next);
      if (!read) continue;
      const { at, until, page } = read;
      const { came, total } = page;
      if (total !== null) {
        hasShrunk ||= total < maxTotal;
        maxTotal = Math.max(maxTotal, total);
      }
      if (at === undefined && (total === null || next < total)) continue;
      const shown = at === undefined ? [] : page.items.slice(Math.max(0, from - at), to - at);
      const named = shown.filter((item) => item !== null);
      const isNew = new Set<T>();
      const ids = new Set<string>();
      for (const item of named) {
        if (seen.get(item.memberGlobalId) !== again && !ids.has(item.memberGlobalId)) isNew.add(item);
        ids.add(item.memberGlobalId);
      }
      const fresh = [...isNew];
      // Some platforms repeat their last page beyond the end of the list.
      const repeated = named.filter((item) => !isNew.has(item) && !last.has(item.memberGlobalId));
      const overlaps = at !== undefined && at < next;
      hasRepeated ||= !overlaps && repeated.length > 0;
      last = ids;
      if (fresh.some(({ deleted }) => deleted === true)) await this.limit.sawDeleted();
      const items = fresh.filter(
        ({ memberGlobalId, deleted }) => deleted !== true && !seen.has(memberGlobalId),
      );
      for (const { memberGlobalId } of fresh) seen.set(memberGlobalId, again);
      const lost = shown.length - named.length;
      if (fresh.length > 0) nameless += lost;
      if (isExact && end?.member && at === end.at + 1) moves.push(pages.hasMoved(end.member, end.at));
      if (at !== undefined) end = { at: at + shown.length - 1, member: shown.at(-1) ?? null };
      if (at !== undefined && fresh.length > 0) {
        // A short page after the first one may have a member who joined while the list was read.
        if (isSmaller && (at === 0 || came >= asked)) await this.limit.learn(asked);
        next = Math.max(next, until);
        reached = Math.max(reached ?? 0, at + came);
      }
      const isOver = fresh.length === 0 || isLastPage(page, next);
      if (!isOver && next < to && total !== null) pages.readAhead(next, Math.min(total, to), pagesAtATime);
      const counted = isOver ? reached : null;
      // A page that is not the last one contradicts a total that ends with it.
      const isCounted = total !== null && (isOver || next < total);
      const shownTotal = isCounted ? Math.max(total, reached ?? 0) : counted;
      yield {
        items,
        at: at ?? next,
        total: (await this.limit.listsDeleted()) ? null : shownTotal,
        nameless: lost,
      };
      if (!isOver && next < to) continue;
      if (hasShrunk || (await Promise.all(moves)).includes(true)) return 'changed';
      if (total === null) return hasRepeated && to === Infinity ? 'changed' : 'whole';
      if (next < Math.min(total, to)) {
        this.limit.note('data.total');
        this.limit.beginsWith(undefined);
        return 'short';
      }
      return to === Infinity && seen.size + nameless < total ? 'changed' : 'whole';
    }
    throw listViolation('The list of members does not end.');
  }
}
