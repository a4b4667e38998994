import type {
  Event,
  ImportMembersInput,
  DryRun,
  Job,
  JobRow,
  ExportMembersInput,
  GetJobRowsInput,
  WatchEventsInput,
} from './api.ts';
import type { CallOptions, EventsOptions, Walk } from './call-options.ts';
import { type Exchange, responseOf } from './exchange.ts';
import { MAX_TIMER_MS, paused } from './paused.ts';
import type { Acting, Payload } from './prepare.ts';
import { isGatewayUnreachable, isProblem, Problem, type ProblemBody } from './problem.ts';
import { streams } from './operations.ts';

/** Rows in CSV with a header line, or JSON lines: a text, bytes, or a stream of bytes, such as `file.stream()`. */
export type Rows = Payload['body'];
export type RowFormat = 'csv' | 'ndjson';

export interface ImportOptions extends CallOptions {
  /** The format of the rows. The default is `csv`. */
  readonly format?: RowFormat | undefined;
}

export interface EventsInput extends Omit<WatchEventsInput, 'type'> {
  readonly types?: readonly Event['type'][] | undefined;
}

/** The longest wait before a lost watch is restored, if the gateway does not name a time. */
const WAIT_MS = 2_000;
/**
 * The time without an answer after which a stream is reported once, if no function receives its retries. A server in between may hold it
 * back.
 */
const QUIET_MS = 30_000;
/** The silence after which a stream of events counts as lost. The gateway sends a comment at least every 15 s. */
const SILENT_MS = 60_000;
/** The longest line, which is far more than the gateway writes: a row has its account and a message, an event one job. */
const MAX_LINE = 1_000_000;
const TYPES = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;
const ENDED = new Set(['succeeded', 'completed', 'cancelled', 'failed']);

/** A job of the gateway, which goes on without this process. `for await (const progress of job)` watches it. */
export class ImportJob implements AsyncIterable<Job> {
  readonly jobId: string;
  readonly #calls: StreamCalls;
  readonly #options: EventsOptions;

  constructor(jobId: string, calls: StreamCalls, options: EventsOptions = {}) {
    this.jobId = jobId;
    this.#calls = calls;
    this.#options = options;
  }

  /**
   * Yields the progress of the job, at least each second while it changes, up to its end. A lost connection is restored, and the watch
   * continues.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Job, void, undefined> {
    const watched = this.#calls.watch('watchJob', { jobId: this.jobId }, undefined, this.#options);
    for await (const data of watched) {
      const job = JSON.parse(data) as Job;
      yield job;
      if (ENDED.has(job.state)) return;
    }
  }

  /** Resolves to the job at its end. */
  async done(): Promise<Job> {
    let last: Job | undefined;
    for await (const job of this) last = job;
    // The watch ends with the job only.
    return last as Job;
  }

  /** Yields the result of each row, or of the rows with one status. Rejects if the gateway cannot read all of them. */
  async *rows(status?: GetJobRowsInput['status']): AsyncGenerator<JobRow, void, undefined> {
    const input = { jobId: this.jobId, ...(status !== undefined && { status }) };
    const stream = await this.#calls.open('getJobRows', input, { accept: TYPES.ndjson });
    for await (const line of lines(stream)) {
      if (line === '') continue;
      const row = JSON.parse(line) as JobRow | { problem: ProblemBody };
      // Incomplete rows end with this line, and the connection breaks off after it.
      if ('problem' in row) {
        const { requestId = '', attempts = 1 } = responseOf(stream) ?? {};
        throw new Problem({ ...row.problem, requestId }, { operation: 'getJobRows', requestId, attempts });
      }
      yield row;
    }
  }

  failedRows(): AsyncGenerator<JobRow, void, undefined> {
    return this.rows('failed');
  }

  /** Starts a new job of the failed rows. The gateway no longer has their passwords, so you pass the rows again. */
  async retry(rows: Rows, options?: ImportOptions): Promise<ImportJob> {
    const job = (await this.#calls.send('retryJob', { jobId: this.jobId }, rows, options)) as Job;
    return new ImportJob(job.jobId, this.#calls);
  }
}

/** The operations that transfer files and events. */
export class StreamCalls {
  readonly #exchange: Exchange;
  readonly #acting: Acting;

  constructor(exchange: Exchange, acting: Acting) {
    this.#exchange = exchange;
    this.#acting = acting;
  }

  async import(input: ImportMembersInput, rows: Rows, options?: ImportOptions): Promise<ImportJob> {
    const job = (await this.send('importMembers', input, rows, options)) as Job;
    return new ImportJob(job.jobId, this);
  }

  async previewImport(input: ImportMembersInput, rows: Rows, options?: ImportOptions): Promise<DryRun> {
    return (await this.send('importMembers', input, rows, options, true)) as DryRun;
  }

  async export(
    input: ExportMembersInput,
    { format = 'csv', ...options }: ImportOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return this.open('exportMembers', input, { accept: TYPES[format], ...options });
  }

  /**
   * Yields the events of the gateway from now on, or after `after`. After a lost connection it continues where it was, so each event comes
   * once.
   */
  async *events({ after, types, ...input }: EventsInput = {}, options: EventsOptions = {}): Walk<Event> {
    const query = { ...input, ...(types && { type: types }) };
    for await (const data of this.watch('watchEvents', query, after, options))
      yield JSON.parse(data) as Event;
  }

  /** Yields the data of server-sent events. It has no end of its own. */
  async *watch(
    id: 'watchJob' | 'watchEvents',
    input: object,
    after?: string,
    { onOpen, onRetry, ...options }: EventsOptions = {},
  ): AsyncGenerator<string, void, undefined> {
    let lastEventId = after;
    let quiet: ReturnType<typeof setTimeout> | undefined;
    let why = 'a proxy may hold it back';
    try {
      for (;;) {
        if (!onRetry) quiet ??= warnWhenQuiet(id, () => why);
        let wait = Math.random() * WAIT_MS;
        const opened = await this.open(id, input, { ...options, lastEventId }).catch((error: unknown) => {
          if (!isForNow(error)) throw error;
          onRetry?.(error);
          why = error.message;
          wait += (error as Problem).retryAfterMs ?? 0;
        });
        if (opened) {
          clearTimeout(quiet);
          quiet = undefined;
          onOpen?.();
          try {
            for await (const { id: place, data } of events(opened)) {
              lastEventId = place ?? lastEventId;
              if (data !== undefined) yield data;
            }
          } catch (error) {
            if (!isForNow(error)) throw error;
          }
        }
        options.signal?.throwIfAborted();
        await paused(wait, options.signal);
      }
    } finally {
      clearTimeout(quiet);
    }
  }

  send(
    id: keyof typeof streams,
    input: object,
    body: Rows,
    { format = 'csv', ...options }: ImportOptions = {},
    dry = false,
  ): Promise<unknown> {
    const payload = { body, type: TYPES[format] };
    return this.#exchange.call(id, { ...streams[id], dry }, { ...input }, options, this.#acting, payload);
  }

  open(
    id: keyof typeof streams,
    input: object,
    options: CallOptions & Pick<Payload, 'accept' | 'lastEventId'>,
  ): Promise<ReadableStream<Uint8Array>> {
    const { accept = 'text/event-stream', lastEventId, ...callOptions } = options;
    const payload = { body: undefined, accept, ...(lastEventId !== undefined && { lastEventId }) };
    const opened = this.#exchange.call(id, streams[id], { ...input }, callOptions, this.#acting, payload);
    return opened as Promise<ReadableStream<Uint8Array>>;
  }
}

/** Warns on the console that a stream has no answer, unless it is cleared before. */
function warnWhenQuiet(id: string, why: () => string): ReturnType<typeof setTimeout> {
  return setTimeout(() => {
    console.warn(
      `licensing: ${id} got no answer for 30 s (${why()}), and is tried again; onRetry hears of it`,
    );
  }, QUIET_MS);
}

/** True for a lost connection, and for a refusal that may end. */
function isForNow(error: unknown): error is Error {
  return isProblem(error) ? error.retryable : isGatewayUnreachable(error);
}

/**
 * Yields the lines of a text, each of at most {@link MAX_LINE} characters. It searches only the new part with each chunk. A silence of
 * `silentMs` ends the text.
 */
async function* lines(
  body: ReadableStream<Uint8Array>,
  silentMs = MAX_TIMER_MS,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const end = () => reader.cancel().catch(() => undefined);
  const decoder = new TextDecoder();
  let begun: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const timer = setTimeout(() => void end(), silentMs);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      const parts = (done ? decoder.decode() : decoder.decode(value, { stream: true })).split('\n');
      const rest = parts.pop() ?? '';
      for (const part of parts) {
        yield [...begun, part].join('').replace(/\r$/, '');
        begun = [];
        length = 0;
      }
      begun.push(rest);
      length += rest.length;
      if (length > MAX_LINE)
        throw new Error(`A line of more than ${MAX_LINE} characters is not the gateway's`);
      if (done) {
        if (length > 0) yield begun.join('');
        return;
      }
    }
  } finally {
    // The request ends if the caller stopped reading.
    await end();
  }
}

/** Yields the data of server-sent events, and the places without data. An event that is cut off is dropped. */
async function* events(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<{ id: string | undefined; data: string | undefined }, void, undefined> {
  let id: string | undefined;
  let data: string[] = [];
  for await (const line of lines(body, SILENT_MS)) {
    if (line === '') {
      yield { id, data: data.length > 0 ? data.join('\n') : undefined };
      data = [];
      continue;
    }
    const [, field, value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (field === 'id') id = value;
    if (field === 'data') data.push(value);
  }
}
