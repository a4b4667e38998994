import { Licensing } from '../licensing.ts';
import { UsageError } from './command.ts';
import { tell } from './output.ts';
import { isHttpUrl, profileOf } from './profiles.ts';
import { secretOf } from './secret-of.ts';

/** The options of a command that name the gateway and the credentials. */
interface Access {
  readonly url?: string;
  readonly profile?: string;
  readonly as?: string;
  readonly debug?: true;
}

export function licensingOf({ url, profile, as, debug }: Access): Licensing {
  // A profile has both, so that the key of one gateway is not sent to another.
  const known =
    profile === undefined
      ? {
          from: 'LICENSING_URL',
          url: process.env['LICENSING_URL'],
          apiKey: secretOf('LICENSING_API_KEY'),
          as: undefined,
        }
      : profileOf(profile);
  const { apiKey } = known;
  const baseUrl = url ?? known.url;
  if (baseUrl === undefined || apiKey === undefined)
    throw new UsageError('Set LICENSING_URL (or --url) and LICENSING_API_KEY (or LICENSING_API_KEY_FILE)');
  checkUrl(url === undefined ? known.from : '--url', baseUrl);
  const licensing = new Licensing({ baseUrl, apiKey, fetch: debug ? toldFetch : notedFetch });
  const alias = as ?? known.as;
  return alias === undefined ? licensing : licensing.as(alias);
}

/** Refuses an invalid URL. `name` is its option or variable. The value of a variable may be a key by mistake, so it is not shown. */
export function checkUrl(name: string, value: string): void {
  const named = name.startsWith('--') ? `: ${value}` : '';
  if (!isHttpUrl(value)) throw new UsageError(`${name} is no http or https URL${named}`);
}

/** True once the gateway has said that it has carried out a write: 202 leaves that open, and 207 names what failed. */
export const writes = { areDone: false };

async function notedFetch(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const isWrite = init.method !== 'GET' && !/\/dry-run(?:[/?]|$)/.test(url);
  if (isWrite && [200, 201, 204].includes(response.status)) writes.areDone = true;
  return response;
}

/** The headers that `--debug` shows. No other header is shown, because it might contain a secret. */
const SHOWN = [
  'x-request-id',
  'x-acting-user',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
];
const SHOWN_OF_RESPONSE = ['retry-after', 'age', 'idempotent-replayed', 'server-timing'];

async function toldFetch(url: string, init: RequestInit): Promise<Response> {
  const begun = performance.now();
  const after = () => `after ${Math.round(performance.now() - begun)} ms`;
  tell(`> ${init.method} ${url}${shown(new Headers(init.headers), SHOWN)}`);
  try {
    const response = await notedFetch(url, init);
    tell(`< ${response.status} ${after()}${shown(response.headers, SHOWN_OF_RESPONSE)}`);
    return response;
  } catch (error) {
    tell(`< no response ${after()}`);
    throw error;
  }
}

function shown(headers: Headers, names: readonly string[]): string {
  return names
    .filter((name) => headers.has(name))
    .map((name) => `, ${name}: ${headers.get(name)}`)
    .join('');
}
