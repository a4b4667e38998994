import { format } from 'node:util';
import { cleanText } from '../shared/clean-text.ts';
import type { Log } from './log.ts';
import { edge } from '../shared/edge.ts';

const METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const;
/** So many different texts are logged, each once: a library prints the same text again at each connection. */
const MOST_TEXTS = 100;

/** Turns what libraries and Node itself print, on the console or as warnings of the process, into lines of the log. */
export function logLibraryOutput(log: Log): void {
  const logged = new Set<string>();
  const logOnce = (text: string) => {
    if (logged.has(text) || logged.size >= MOST_TEXTS) return;
    logged.add(text);
    log.warn({ event: 'library' }, cleanText(text));
  };
  for (const method of METHODS) console[method] = (...values: unknown[]) => logOnce(format(...values));
  // Node's own listener prints them.
  process.removeAllListeners('warning');
  process.on(
    'warning',
    edge('library', ({ name, message }: Error) => logOnce(`${name}: ${message}`)),
  );
}
