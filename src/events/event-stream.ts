import { Injectable } from '@nestjs/common';
import { eventText, type Look, Watchers } from '../operation/watchers.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { Grants } from '../request/call-context.ts';
import type { WatchEventsQuery } from './dto/event.dto.ts';
import { EventsService } from './events.service.ts';

const LOOK_MS = 250;
const COMMENT_MS = 15_000;
/** The most events that the process holds for one slow reader. Large ones are fewer, because a page has few bytes. */
const PAGE = 100;

/** Sends events as server-sent events. */
@Injectable()
export class EventStream {
  #askedAt = -Infinity;
  #newest: Promise<string | undefined> = Promise.resolve(undefined);

  constructor(
    private readonly events: EventsService,
    private readonly watchers: Watchers,
  ) {}

  /**
   * Yields the events after the cursor `after`. `grantsNow` resolves to the rights of the caller at this moment; without any, the stream ends. The
   * stream also ends where events were dropped that the reader has not had. The reader is told so when it connects again.
   */
  async *after(
    after: string,
    wanted: WatchEventsQuery,
    grantsNow: () => Promise<Grants | undefined>,
  ): AsyncGenerator<string> {
    let next = after;
    // The cursor is sent at once, so that a reader that loses its stream before the first event misses none.
    yield placeOf(next);
    const look = async (): Promise<Look> => {
      const grants = await grantsNow();
      if (!grants) return { next: 'end' };
      const newest = await this.#ask();
      if (newest === undefined || newest <= next) return {};
      const page = await this.#page({ ...wanted, after: next, limit: PAGE }, grants, newest);
      if (page === 'dropped') return { next: 'end' };
      if (!page) return {};
      next = page.next;
      return { texts: page.items.map((event) => eventText(event.id, event.type, event)), next: 'again' };
    };
    const comment = () => `: no event\n${placeOf(next)}`;
    yield* this.watchers.follow(look, { pauseMs: LOOK_MS, quietMs: COMMENT_MS, comment });
  }

  /** Asks the store once for all streams of the process. While the store is away there is no newest event, and readers keep what they have. */
  #ask(): Promise<string | undefined> {
    if (performance.now() - this.#askedAt < LOOK_MS / 2) return this.#newest;
    this.#askedAt = performance.now();
    return (this.#newest = this.events.newest().catch(() => undefined));
  }

  async #page(query: WatchEventsQuery & { limit: number }, grants: Grants, newest: string) {
    try {
      return await this.events.page(query, grants, newest);
    } catch (error) {
      return error instanceof ProblemException && error.slug === 'events-expired' ? 'dropped' : undefined;
    }
  }
}

/** An id without data is no event: it tells the reader the cursor from which to go on. */
function placeOf(cursor: string): string {
  return `id: ${cursor}\n\n`;
}
