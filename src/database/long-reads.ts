import { Injectable } from '@nestjs/common';
import { LimitPerKey } from '../kit/limit-per-key/limit-per-key.ts';
import { edge, inBackground } from '../shared/edge.ts';
import { DatabaseUnavailable } from './database-unavailable.ts';

/** The longest time for which a result that is not sent keeps the next one waiting: its caller may read slowly, or not at all. */
const SENT_MS = 30_000;

interface Reader {
  readonly caller: { readonly name: string };
  /** Aborted when the caller hangs up. */
  readonly abandon?: AbortSignal | undefined;
}

/**
 * Runs the reads of lists for callers, one of each caller at a time. The database reads on few connections, and the lists of one caller must
 * not keep those of others waiting.
 */
@Injectable()
export class LongReads {
  readonly #ofCallers = new LimitPerKey(1);
  /** Apart from the reads: those of the caller that are not large do not wait until a list is sent. */
  readonly #sending = new LimitPerKey(1);

  /** `read` must not wait for another read of this kind, and reads one thing after the other. */
  run<T>({ caller, abandon }: Reader, read: () => Promise<T>): Promise<T> {
    return this.#ofCallers.run(caller.name, async () => {
      if (abandon?.aborted) throw new DatabaseUnavailable('abandoned');
      return read();
    });
  }

  /**
   * Runs a read with a result that may be large. The caller's next read of this kind begins when this one has ended, and `sent` too, or 30
   * seconds later. Other reads do not wait for `sent`.
   */
  runUntilSent<T>(reader: Reader, read: () => Promise<T>, sent: () => Promise<void> | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const work = async () => {
      resolve(await this.run(reader, read));
      const sending = sent();
      if (!sending) return;
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(edge('list for a caller', late.resolve), SENT_MS).unref();
      await Promise.race([sending, late.promise]);
      clearTimeout(timer);
    };
    inBackground('list for a caller', () => this.#sending.run(reader.caller.name, work).catch(reject));
    return promise;
  }
}
