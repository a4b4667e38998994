import { randomUUID } from 'node:crypto';
import type { KnownReadings } from '../config/platform-profile.ts';
import { freshBytes, freshHex } from '../shared/random-bytes.ts';

const LETTERS_AND_DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** The most digits of a nonce, because the platform may store it as a long integer. */
const MAX_DIGITS = 18;
const SHORT = 16;

/** Makes a nonce in the form that the platform is known to demand. */
export function freshNonce(form: KnownReadings['nonceForm']): string {
  switch (form) {
    case 'uuid':
      return randomUUID();
    case 'digits':
      return String(freshBytes(8).readBigUInt64BE() % 10n ** BigInt(MAX_DIGITS)).padStart(MAX_DIGITS, '0');
    case 'short':
      return Array.from(
        freshBytes(SHORT),
        (byte) => LETTERS_AND_DIGITS[byte % LETTERS_AND_DIGITS.length],
      ).join('');
    default:
      return freshHex(16);
  }
}

/** Returns the header's value for a token: `clientToken` or `userToken`. */
export function tokenHeader(form: KnownReadings['clientToken'], token: string): string {
  return form === 'bearer' ? `Bearer ${token}` : token;
}
