/** What the value of a variable may be. Messages say what a value should be, never what it was. */
import { createSecretKey } from 'node:crypto';
import * as z from 'zod';
import type { EncryptionKey } from '../kit/sealed-store/sealed-store.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { parseListedHosts } from './listed-hosts.ts';
import { parseRedisUrl, REDIS_URL_FORMS } from './redis-url.ts';
import { Secret, SECRET_TEXT } from './secret.ts';

export const text = z.string();
export const port = (fallback: number) => integer(0, 65_535).default(fallback);
export const milliseconds = (fallback: number) => integer(1, 600_000).default(fallback);
/** Drops the line breaks and blanks around a value, which come from a file or a shell. */
export const word = text.trim().min(1, { error: 'must not be blank' });
export const secret = word
  .regex(SECRET_TEXT, { error: 'must not contain control characters; a file must be UTF-8' })
  .transform((value) => new Secret(value));
/** A scope of OAuth 2.0 (RFC 6749 3.3). An empty text sends none. */
export const scope = text.trim().regex(/^(?:[!#-[\]-~]+(?: [!#-[\]-~]+)*)?$/, {
  error: 'must be words of printable ASCII without " and \\, separated by single blanks',
});
export const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

export function integer(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return text
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error });
}

export function oneOf<const T extends readonly [string, ...string[]]>(...words: T) {
  return z.enum(words, { error: `must be one of ${words.join(', ')}` });
}

export function httpUrl({ query = false } = {}) {
  const error = `must be an http or https URL without credentials${query ? '' : ', query'} or fragment`;
  return text.transform((value, context) => {
    const url = URL.parse(value);
    const plain = url && !url.username && !url.password && (query || !url.search) && !url.hash;
    if (plain && (url.protocol === 'https:' || url.protocol === 'http:')) return url;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

export const redisUrl = text
  .refine((value) => parseRedisUrl(value) !== undefined, { error: `must be ${REDIS_URL_FORMS}` })
  .transform((value) => new Secret(value));

export const databaseUrl = text.transform((value, context) => {
  const address = parseDatabaseUrl(value);
  if (typeof address !== 'string') return address;
  context.addIssue({ code: 'custom', message: address });
  return z.NEVER;
});

export const listedHosts = text.transform((value, context) => {
  const hosts = parseListedHosts(value);
  if (hosts) return hosts;
  context.addIssue({
    code: 'custom',
    message:
      'must be host names, ends of host names with a dot in front, addresses or CIDR ranges, comma separated, each with :port or for any',
  });
  return z.NEVER;
});

/** Node decodes what comes before the first `=` and ignores the rest, such as further keys after a wrong separator. So the form is checked. */
const KEY = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]{43}=?)$/;

export const encryptionKeys = text.transform((value, context): EncryptionKey[] => {
  const entries = value.split(',');
  const keys = entries.flatMap((entry) => {
    const [, kid, encoded] = KEY.exec(entry.trim()) ?? [];
    return kid && encoded ? [{ kid, key: createSecretKey(encoded, 'base64') }] : [];
  });
  if (new Set(keys.map(({ kid }) => kid)).size === entries.length) return keys;
  context.addIssue({
    code: 'custom',
    message: 'must be kid:base64(32 bytes), comma separated, each kid 1 to 32 of [A-Za-z0-9_-] and used once',
  });
  return z.NEVER;
});

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const MIN_REFRESH_MS = 10 * 60_000;
const MAX_REFRESH_MS = 7 * 86_400_000;

/** A time in ms, or `off`. */
export const refreshTime = text.transform((value, context): number | 'off' => {
  if (value === 'off') return value;
  const [, count, unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(value) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? Number.NaN);
  if (ms >= MIN_REFRESH_MS && ms <= MAX_REFRESH_MS) return ms;
  context.addIssue({
    code: 'custom',
    message: 'must be off, or a time from 10m to 7d, such as 30m, 6h or 1d',
  });
  return z.NEVER;
});
