import type { ServerResponse } from 'node:http';
import { finished, Readable } from 'node:stream';
import { type BeforeApplicationShutdown, Injectable, StreamableFile } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';

/** Each watcher asks the store several times a second. */
const MAX_WATCHERS = 500;
const MAX_WATCHERS_OF_CALLER = 100;

/** Those who have a stream of server-sent events open. */
@Injectable()
export class Watchers implements BeforeApplicationShutdown {
  readonly #shutdown = new AbortController();
  /** How many each caller has. */
  readonly #open = new Map<string, number>();

  /** The process ends: a client whose events end connects again, to another process. */
  get over(): AbortSignal {
    return this.#shutdown.signal;
  }

  beforeApplicationShutdown(): void {
    this.#shutdown.abort();
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
