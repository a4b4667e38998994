import type { LoggerService } from '@nestjs/common';
import { rfc3339 } from '../shared/rfc3339.ts';
import { destination as openDestination, type DestinationStream, pino } from 'pino';
import { Redactor, type SecretSource } from './redactor.ts';

const STDOUT = 1;
/** Characters that wait while nobody reads; what comes after them is dropped. */
const MAX_BACKLOG = 1024 * 1024;
/** Lines of so much time, or so many characters, are written together: each write costs as much as making ten lines. */
const GATHER_MS = 10;
const GATHER_CHARACTERS = 16 * 1024;

const LISTEN_FAILURE = /^Error: listen E[A-Z]+/;

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
  /** From now on no line has one of these in it. */
  abstract conceal(source: SecretSource): void;
  /** Masks the same secrets in words that go to callers. */
  abstract readonly redactor: Redactor;
}

export function createLog(level: string, destination?: DestinationStream): Log {
  const redactor = new Redactor();
  const options = {
    level,
    base: undefined,
    timestamp: () => `,"time":"${rfc3339(Date.now())}"`,
    formatters: { level: label },
    hooks: { streamWrite: (line: string) => redactor.redactLine(line) },
  };
  const logger = pino(options, destination ?? standardOutput());
  return Object.assign(logger, { redactor, conceal: (source: SecretSource) => redactor.add(source) });
}

/** A reader that stalls, is gone, or has no room left costs log lines and never a request. */
function standardOutput(): DestinationStream {
  let isFailing = false;
  let gathered = '';
  const write = () => {
    const lines = gathered;
    gathered = '';
    if (lines !== '') stream.write(lines);
  };
  // Before the destination's own listener, which writes what it has; where that fails, again and again for ever.
  process.once('exit', () => {
    if (isFailing) stream.destroy();
    else write();
  });
  const stream = openDestination({ dest: STDOUT, sync: false, maxLength: MAX_BACKLOG });
  // Without a listener the error would end the process.
  stream.on('error', () => (isFailing = true));
  stream.on('write', () => (isFailing = false));
  return {
    write: (line) => {
      // Not the destination's own gathering: what comes while it writes would stay there until the next line.
      if (gathered === '') setTimeout(write, GATHER_MS).unref();
      gathered += line;
      if (gathered.length >= GATHER_CHARACTERS) write();
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
    // The process ends with that, and says which variable to change.
    if (LISTEN_FAILURE.test(String(message))) return;
    this.target.error({ event: 'framework', ...(typeof stack === 'string' && { stack }) }, String(message));
  }
}
