import type { LoggerService } from '@nestjs/common';
import { rfc3339 } from '../rfc3339.ts';
import { destination as openDestination, type DestinationStream, pino } from 'pino';

const STDOUT = 1;
/** Characters that wait while nobody reads; what comes after them is dropped. */
const MAX_BACKLOG = 1024 * 1024;
/** Lines of so much time, or so many characters, are written together: each write costs as much as making ten lines. */
const GATHER_MS = 10;
const GATHER_CHARACTERS = 8 * 1024;

type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * JSON lines on standard output. Fields are chosen one by one and are plain values: an object, a request or an error
 * cannot be handed over whole, so nothing unforeseen can be in it.
 */
export abstract class Log {
  abstract debug(fields: Fields, message: string): void;
  abstract info(fields: Fields, message: string): void;
  abstract warn(fields: Fields, message: string): void;
  abstract error(fields: Fields, message: string): void;
}

export function createLog(level: string, destination?: DestinationStream): Log {
  const options = {
    level,
    base: undefined,
    timestamp: () => `,"time":"${rfc3339(Date.now())}"`,
    formatters: { level: label },
  };
  return pino(options, destination ?? standardOutput());
}

/** A reader that stalls, is gone, or has no room left costs log lines and never a request. */
function standardOutput(): DestinationStream {
  let isFailing = false;
  // Before the destination's own listener, which would write what is left again and again for ever.
  process.once('exit', () => {
    if (isFailing) stream.destroy();
  });
  const stream = openDestination({
    dest: STDOUT,
    sync: false,
    minLength: GATHER_CHARACTERS,
    maxLength: MAX_BACKLOG,
  });
  // Without a listener the error would end the process.
  stream.on('error', () => (isFailing = true));
  stream.on('write', () => (isFailing = false));
  let isGathering = false;
  const flush = () => {
    isGathering = false;
    stream.flush();
  };
  return {
    write: (line) => {
      stream.write(line);
      if (isGathering) return;
      isGathering = true;
      // What waits when the process ends is written by the destination itself.
      setTimeout(flush, GATHER_MS).unref();
    },
  };
}

function label(level: string): { level: string } {
  return { level };
}

/** Nest's own messages (start, routes, shutdown) on the same lines. */
export class NestLog implements LoggerService {
  constructor(private readonly target: Log) {}

  log(message: unknown, context?: unknown): void {
    this.target.debug({ event: 'framework', context: String(context) }, String(message));
  }

  warn(message: unknown, context?: unknown): void {
    this.target.warn({ event: 'framework', context: String(context) }, String(message));
  }

  error(message: unknown, stack?: unknown): void {
    this.target.error({ event: 'framework', stack: String(stack) }, String(message));
  }
}
