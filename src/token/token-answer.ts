import { isJsonText, numberText, parseJson } from '../shared/json.ts';
import { retryAfterSeconds } from '../transport/retry-after.ts';
import { TokenFailure } from './token-failure.ts';

/** The deepest nesting of a response. Unknown fields may be trees, such as the organisation of a user. */
const MAX_DEPTH = 64;
const MAX_RETRY_AFTER_S = 3_600;
/** The wait after a 429 that names no time. */
const DEFAULT_RETRY_AFTER_S = 60;
/** The form of an error code of RFC 6749. The log has only such words, because the rest of a response is foreign text. */
const WORD = /^[a-z_]{1,40}$/;
const SHOWN_CODE = /^\d{1,10}$/;
/** Errors that another request with the same credentials cannot change (RFC 6749 5.2). */
const REJECTIONS = new Set(['invalid_client', 'invalid_grant', 'unauthorized_client', 'invalid_scope']);
/** The codes of the interface that refuse credentials, each with the equivalent error of RFC 6749 (section 5.4). */
const CREDENTIAL_CODES: ReadonlyMap<string, string> = new Map([
  ['60000', 'invalid_client'],
  ['60005', 'invalid_grant'],
]);

/** A code of the interface, and errors of RFC 6749, that tell of a failure of the endpoint and refuse no password. */
const OWN_FAILURES = new Set(['500', 'server_error', 'temporarily_unavailable']);

/** The request for a token. */
interface Asked {
  /** The owner of the token. A taught code refuses this owner's credentials. */
  readonly of: 'application' | 'user';
  readonly withPassword: boolean;
  /** True for a code that is missing from the interface, and that refuses credentials by the profile. */
  readonly taught: (code: string) => boolean;
}

export interface TokenAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: Buffer;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a token from a response of RFC 6749 5.1, or from `data` of the platform's own envelope. The endpoint is not documented, so only the
 * fields that the gateway uses are checked. An unusable `refresh_token` counts as absent, and `lifetime` is checked by its reader. Throws a
 * {@link TokenFailure} if the response has no token.
 */
export function readTokenAnswer(answer: TokenAnswer, asked: Asked) {
  const places = placesOf(answer.body);
  const isSuccess = answer.status >= 200 && answer.status < 300;
  const granted = isSuccess ? places.find(({ access_token: token }) => isText(token)) : undefined;
  if (!granted) throw failureOf(answer, places, asked);
  const { access_token: token, refresh_token: refreshToken, expires_in: lifetime } = granted;
  return {
    access_token: token as string,
    lifetime: numberText(lifetime) ?? lifetime,
    ...(isText(refreshToken) && { refresh_token: refreshToken }),
  };
}

/** Returns the object of the response, and the object in its `data`. */
export function placesOf(body: Buffer): Fields[] {
  try {
    const json = parseJson(body, { maxDepth: MAX_DEPTH });
    return [json, isFields(json) ? json['data'] : undefined].filter(isFields);
  } catch {
    return [];
  }
}

function failureOf({ status, headers }: TokenAnswer, places: readonly Fields[], asked: Asked): TokenFailure {
  const said = places.flatMap(({ error, code }) => [error, code].flatMap((each) => textOf(each) ?? []));
  const words = said.map((each) => wordOf(each, asked));
  const rejection =
    words.find((word) => REJECTIONS.has(word)) ?? (status === 401 ? 'invalid_client' : undefined);
  const code = said.find((each) => SHOWN_CODE.test(each));
  const named = retryAfterSeconds(headers.get('retry-after') ?? undefined, Date.now(), MAX_RETRY_AFTER_S);
  // A 429 that names a wait limits the rate, whatever its words are. Without a wait, a refusal of credentials is one.
  const isLimit = status === 429 && Boolean(named);
  if (rejection !== undefined && status < 500 && !isLimit)
    return new TokenFailure('rejected', rejection, { code });
  const reason = status >= 500 ? 'server_error' : (words[0] ?? 'unusable_answer');
  const mayRefuse = said.some((each) => !OWN_FAILURES.has(each)) && status < 500 && status !== 429;
  return new TokenFailure('unavailable', reason, {
    code,
    ofPassword: asked.withPassword && mayRefuse,
    // These statuses concern the whole endpoint, with or without `Retry-After`. A 429 to a user's login may limit this user's logins only.
    ofEndpoint: [502, 503, 504].includes(status) || (status === 429 && asked.of === 'application'),
    retryAfter: named || (status === 429 ? DEFAULT_RETRY_AFTER_S : undefined),
  });
}

/** Returns the error of RFC 6749 that an `error` or a `code` means. Only this function knows which codes refuse credentials. */
function wordOf(said: string, { of, taught }: Asked): string {
  const known = CREDENTIAL_CODES.get(said);
  if (known !== undefined) return known;
  if (taught(said)) return of === 'user' ? 'invalid_grant' : 'invalid_client';
  return WORD.test(said) ? said : 'error_response';
}

/** Returns the text of an `error` or a `code`. Undefined if it is empty or means success. */
function textOf(value: unknown): string | undefined {
  const text = numberText(value) ?? (isText(value) ? value : undefined);
  return text === '0' ? undefined : text;
}

function isText(value: unknown): value is string {
  return isJsonText(value) && value !== '';
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
