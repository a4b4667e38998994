import type { ServerResponse } from 'node:http';
import { finished, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy, StreamableFile } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';

/** The most watchers, because each of them reads the store several times a second. */
const MAX_WATCHERS = 500;
const MAX_WATCHERS_OF_CALLER = 100;

/** The result of a search for news. */
export interface Look {
  readonly texts?: readonly string[];
  /** `again` means that more may be found at once. `end` means that nothing follows. Otherwise the next search follows after a pause. */
  readonly next?: 'again' | 'end';
}

interface Pace {
  readonly pauseMs: number;
  /** The time without news after which a comment is sent, so that the connection does not count as stalled. */
  readonly quietMs: number;
  readonly comment: () => string;
}

/** The open streams of server-sent events (of the HTML standard). */
@Injectable()
export class Watchers implements OnModuleDestroy {
  readonly #shutdown = new AbortController();
  /** The number of open streams of each caller. */
  readonly #open = new Map<string, number>();

  onModuleDestroy(): void {
    this.#shutdown.abort();
  }

  /** Yields the results of one search after the other. It also ends when the process ends: a client then connects to another process. */
  async *follow(
    look: () => Promise<Look>,
    { pauseMs, quietMs, comment }: Pace,
  ): AsyncGenerator<string, void> {
    const { signal } = this.#shutdown;
    let quietSince = performance.now();
    while (!signal.aborted) {
      const { texts = [], next } = await look();
      yield* texts;
      if (next === 'end') return;
      if (texts.length > 0) quietSince = performance.now();
      // A long search that finds nothing is quiet too.
      if (performance.now() - quietSince > quietMs) {
        quietSince = performance.now();
        yield comment();
      }
      if (next === 'again') continue;
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Returns the response that streams these events. It counts as one of the caller's streams until it has ended, and then the events are
   * not read any more.
   */
  stream(caller: string, response: ServerResponse, events: AsyncGenerator<string>): StreamableFile {
    const all = this.#open.values().reduce((sum, count) => sum + count, 0);
    const own = this.#open.get(caller) ?? 0;
    if (all >= MAX_WATCHERS || own >= MAX_WATCHERS_OF_CALLER)
      throw new ProblemException('overloaded', { retryAfter: 1 });
    this.#open.set(caller, own + 1);
    const stream = Readable.from(opened(events), { objectMode: false });
    const over = edge('end of a watch', () => {
      stream.destroy();
      const left = (this.#open.get(caller) ?? 1) - 1;
      if (left > 0) this.#open.set(caller, left);
      else this.#open.delete(caller);
    });
    finished(response, over);
    return new StreamableFile(stream, { type: 'text/event-stream' });
  }
}

/** Returns one event. The line separators of Unicode are escaped in its JSON, because many readers take them for the end of a line. */
export function eventText(id: string | number, name: string, data: object): string {
  const json = JSON.stringify(data)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);
  return `id: ${id}\nevent: ${name}\ndata: ${json}\n\n`;
}

/** Sends a comment first, so that the head and the first bytes arrive at once, even if no event follows for long. */
async function* opened(events: AsyncGenerator<string>): AsyncGenerator<string> {
  yield ': open\n\n';
  yield* events;
}
