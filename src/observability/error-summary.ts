import { cleanText } from '../shared/clean-text.ts';
import { mappedStack } from '../shared/mapped-stack.ts';
import { MASK } from '../shared/secret-fields.ts';

/** The form of names of classes. A name that was made of data does not match. */
const KIND = /^[A-Za-z]{1,60}$/;
/** A quotation in a message. It may be data: a text that is no JSON, a header, a value. Names of fields and files have single quotes. */
const QUOTED = /"[^"]*"?|`[^`]*`?/g;
const LOGIN_OF_URL = /(?<=\/\/)[^/\s@]+@/g;
/** Words that may be a token, key or password. The log masks the gateway's own secrets, which it knows. */
const LONG = /[A-Za-z0-9+=_-]{12,}/g;
/** A change between a small letter and a capital. A random word has one at about every second letter, a name only at its words. */
const CHANGE = /[a-z](?=[A-Z])|[A-Z](?=[a-z])/g;
/** The beginning of the keys that `npm run new-key` makes, a few of which have no digit. */
const KEY = 'lgw_';
const MOST = 300;

/**
 * Summarises an unexpected failure for the log: its class, its message without quotations and possible secrets, and its stack without the
 * message.
 */
export function errorSummary(error: unknown): { error: string; message: string; stack: string } {
  if (typeof error === 'string') return { error: 'string', message: masked(error), stack: '' };
  if (!(error instanceof Error)) return { error: typeof error, message: '', stack: '' };
  const { name, message, stack } = error;
  const text = String(stack);
  // The frames begin after the message, whose lines may look like frames.
  const start = message === '' ? 0 : text.indexOf(message) + message.length;
  const frames = text
    .slice(start)
    .split('\n')
    .filter((line) => line.startsWith('    at '));
  return {
    error: KIND.test(name) ? name : 'Error',
    message: masked(message),
    stack: mappedStack(frames.join('\n')),
  };
}

function masked(message: string): string {
  const mask = (text: string): string =>
    text
      .replace(LOGIN_OF_URL, `${MASK}@`)
      .replace(QUOTED, (quoted) => (quoted.length > 2 ? `"${MASK}"` : quoted))
      .replace(LONG, (word) => (isRandom(word) ? MASK : word));
  return cleanText(message, mask).slice(0, MOST).toWellFormed();
}

function isRandom(word: string): boolean {
  if (word.startsWith(KEY)) return true;
  const changes = word.match(CHANGE)?.length ?? 0;
  return (/\d/.test(word) && /[A-Za-z]/.test(word)) || changes > word.length / 3;
}
