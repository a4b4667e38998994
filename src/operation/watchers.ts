import type { ServerResponse } from 'node:http';
import { finished, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, StreamableFile } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';

/** Each watcher asks the store several times a second. */
const MAX_WATCHERS = 500;
const MAX_WATCHERS_OF_CALLER = 100;

/** What a look has found. */
export interface Look {
  readonly texts?: readonly string[];
  /** `again`: there may be more to find at once. `end`: nothing follows. Else the next look is after a pause. */
  readonly next?: 'again' | 'end';
}

interface Pace {
  readonly pauseMs: number;
  /** A comment follows where nothing was found for this time, so that the connection does not count as stalled. */
  readonly quietMs: number;
  readonly comment: () => string;
}

/** Those who have a stream of server-sent events (of the HTML standard) open. */
@Injectable()
export class Watchers implements BeforeApplicationShutdown {
  readonly #shutdown = new AbortController();
  /** How many each caller has. */
  readonly #open = new Map<string, number>();

  beforeApplicationShutdown(): void {
    this.#shutdown.abort();
  }

  /** What one look after the other finds. It also ends when the process does: a client connects again, to another process. */
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
      if (next === 'again') continue;
      if (performance.now() - quietSince > quietMs) {
        quietSince = performance.now();
        yield comment();
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** The response that streams these events. It counts as one of the caller until it has ended, and then nothing more is asked for it. */
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

/** A comment comes first, so that the head and the first bytes arrive at once, even if no event follows for long. */
async function* opened(events: AsyncGenerator<string>): AsyncGenerator<string> {
  yield ': open\n\n';
  yield* events;
}
