import { format } from 'node:util';
import type { LoggerService } from '@nestjs/common';
import { destination as openDestination, type DestinationStream, pino } from 'pino';
import { Redactor, type SecretSource } from './redactor.ts';
import { errorSummary } from './error-summary.ts';
import { cleanText } from '../shared/clean-text.ts';
import { edge } from '../shared/edge.ts';
import { rfc3339 } from '../shared/rfc3339.ts';

const METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;
/** The most different texts that are logged, each once. A library prints the same text again at each connection. */
const MAX_TEXTS = 100;

/** The shortest time between two lines of an edge. A timer may fail forty times a second. */
const EVERY_MS = 1_000;

const STDOUT = 1;
/** The most characters that are kept while no process reads the output. Further lines are dropped. */
const MAX_BACKLOG = 1024 * 1024;
/**
 * The time for which lines are gathered before they are written together, unless they reach the size below. One write costs as much as
 * making ten lines.
 */
const GATHER_MS = 10;
const GATHER_CHARACTERS = 16 * 1024;

const LISTEN_FAILURE = /^Error: (listen|getaddrinfo) E[A-Z_]+/;

type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * JSON lines on standard output. Fields are chosen one by one and are plain values. An object, a request or an error cannot be logged
 * whole, so a line has no unexpected data. It uses pino without nestjs-pino (decision 2).
 */
export abstract class Log {
  abstract debug(fields: Fields, message: string): void;
  abstract info(fields: Fields, message: string): void;
  abstract warn(fields: Fields, message: string): void;
  abstract error(fields: Fields, message: string): void;
  /** Writes a line of the trail of writes, at every level but `silent`. */
  abstract audit(fields: Fields, message: string): void;
  /** Masks these secrets in every later line. */
  abstract addSecrets(...sources: readonly SecretSource[]): void;
  /** Masks the same secrets in texts for callers. */
  abstract readonly redactor: Redactor;
}

export function createLog(level: string, destination?: DestinationStream): Log {
  const redactor = new Redactor();
  const options = {
    level,
    base: undefined,
    timestamp: () => `,"time":"${rfc3339(Date.now())}"`,
    formatters: { level: label },
    hooks: { streamWrite: (line: string) => (isOwn(line) ? line : redactor.redact(line)) },
  };
  const logger = pino(options, destination ?? standardOutput());
  const trail = logger.child({}, { level: level === 'silent' ? level : 'info' });
  return Object.assign(logger, {
    redactor,
    audit: (fields: Fields, message: string) => trail.info(fields, message),
    addSecrets: (...sources: readonly SecretSource[]) => redactor.add(...sources),
  });
}

/** True if a line has only numbers and words of the gateway, as nearly all lines do. It is not searched for secrets. */
function isOwn(line: string): boolean {
  const hasText = line.includes('"problem":') && !line.includes('"problem":"overloaded"');
  return !hasText && line.includes('"event":"request"');
}

/**
 * Returns the destination of log lines. If the reader of the output stalls, ends or has no space, log lines are lost, but no request fails.
 */
function standardOutput(): DestinationStream {
  let isFailing = false;
  let gathered = '';
  const write = () => {
    const lines = gathered;
    gathered = '';
    try {
      if (lines !== '') stream.write(lines);
    } catch {
      // No log is left in which to report this.
      isFailing = true;
    }
  };
  // This listener runs before the destination's own, which writes its rest and, if that fails, tries again for ever.
  process.once('exit', () => {
    if (isFailing) stream.destroy();
    else write();
  });
  const stream = openDestination({ dest: STDOUT, sync: false, maxLength: MAX_BACKLOG });
  // Without this listener an error would end the process.
  stream.on('error', () => (isFailing = true));
  stream.on('write', () => (isFailing = false));
  return {
    write: (line) => {
      // The destination's own buffer is not used, because lines that arrive during a write would stay in it until the next line.
      if (gathered === '') setTimeout(write, GATHER_MS).unref();
      gathered += line;
      if (gathered.length >= GATHER_CHARACTERS) write();
    },
  };
}

function label(level: string): { level: string } {
  return { level };
}

export class NestLog implements LoggerService {
  constructor(private readonly target: Log) {}

  log(message: unknown, context?: unknown): void {
    this.target.debug({ event: 'framework', context: String(context) }, String(message));
  }

  warn(message: unknown, context?: unknown): void {
    this.target.warn({ event: 'framework', context: String(context) }, String(message));
  }

  error(message: unknown, stack?: unknown): void {
    // `main` reports this failure, names the variable to change, and ends the process.
    if (LISTEN_FAILURE.test(String(message))) return;
    this.target.error({ event: 'framework', ...(typeof stack === 'string' && { stack }) }, String(message));
  }
}

export function faultLog(log: Log): (at: string, fault: unknown) => void {
  const edges = new Map<string, { toldAt: number; untold: number }>();
  return (at, fault) => {
    const now = performance.now();
    const known = edges.get(at);
    if (known && now - known.toldAt < EVERY_MS) {
      known.untold++;
      return;
    }
    edges.set(at, { toldAt: now, untold: 0 });
    log.error(
      { event: 'fault', at, ...errorSummary(fault), untold: known?.untold || undefined },
      'Something failed inside the gateway, which goes on',
    );
  };
}

/** Converts the output of libraries and of Node, on the console or as warnings of the process, to lines of the log. */
export function logLibraryOutput(log: Log): void {
  const logged = new Set<string>();
  const logOnce = (text: string) => {
    if (logged.has(text) || logged.size >= MAX_TEXTS) return;
    logged.add(text);
    log.warn({ event: 'library' }, cleanText(text));
  };
  for (const method of METHODS) console[method] = (...values: unknown[]) => logOnce(format(...values));
  // Node's own listener prints the warnings.
  process.removeAllListeners('warning');
  const warned = edge('library', ({ name, message }: Error) => logOnce(`${name}: ${message}`));
  process.on('warning', warned);
}
