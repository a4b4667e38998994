import { hash } from 'node:crypto';
import { decodeUtf8, isJsonText, parseJson } from '../shared/json.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { KnownPlatform } from '../config/platform-profile.ts';
import type { CodeWord } from '../config/taught-codes.ts';
import { retryAfterSeconds } from '../transport/retry-after.ts';
import { isOwnRefusal } from './problems/upstream-codes.ts';
import type { FailureDetails, FailureKind } from './upstream-failure.ts';
import type { ContractNotes } from './gaps.ts';

/** The text of a success, the result that was made of it with a profile, and the departures from the interface in it. */
export interface KnownResponse {
  readonly text: string;
  readonly profile: KnownPlatform;
  readonly result: unknown;
  readonly notes: ContractNotes;
  /** The enterprise of which it shows assets. */
  readonly served?: string | undefined;
}

/**
 * The last response to a read that is repeated unchanged. If the next response has the same text, it is neither parsed nor mapped again.
 */
export interface LastResponse {
  known?: KnownResponse;
}

/**
 * The deepest nesting of a response. Deeper ones are refused before any code walks through them. The deepest shape of the interface is a
 * merchandise tree.
 */
const MAX_DEPTH = 64;

/** A complete HTTP response. Header names are in lower case. */
export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** What the gateway needs in order to read a response, in addition to the response. */
export interface ResponseTerms {
  /** Masks secrets in the platform's texts. It is called only if the response has a text. */
  readonly redact: (text: string) => string;
  /** Returns the meaning of a code that the platform's profile teaches. */
  readonly taught: (code: string) => CodeWord | undefined;
}

const PLAIN: ResponseTerms = { redact: (text) => text, taught: () => undefined };

export type Classified =
  | { readonly kind: 'success'; readonly data: unknown }
  | { readonly kind: FailureKind; readonly details: FailureDetails; readonly data?: unknown };

/**
 * Determines the meaning of a response (docs/platform.md, section 2.1). Success is HTTP 200 with `code` 0 or "0". The comparison uses no
 * conversion, because `""`, `null`, `false` and `[]` all convert to 0.
 */
export function classify(response: WireResponse, terms = PLAIN, text?: string): Classified {
  const { status } = response;
  if (status !== 200 && status !== 299) return classifyStatus(response, terms, text);
  const envelope = readEnvelope(response, text);
  if (envelope === undefined) return unreadable(response);
  const code = businessCode(envelope['code']);
  if (code === '0' && status === 200) return { kind: 'success', data: envelope['data'] };
  // The answer has no code, or a business exception (299) claims success.
  if (code === undefined || code === '0') return { kind: 'nonconforming', details: { status } };
  return { kind: 'refused', details: refusalIn(envelope, status, code, terms), data: envelope['data'] };
}

/** Classifies the HTTP statuses that are missing from the interface (it has 200 and 299 only). */
function classifyStatus(response: WireResponse, terms: ResponseTerms, text?: string): Classified {
  const { status } = response;
  if (status === 401 || status === 403) {
    const envelope = readEnvelope(response, text);
    const code = businessCode(envelope?.['code']);
    if (!envelope || code === undefined || code === '0') return { kind: 'unauthorized', details: { status } };
    const details = refusalIn(envelope, status, code, terms);
    return { kind: isOwnRefusal(details) ? 'refused' : 'unauthorized', details };
  }
  if (status === 429 || (status >= 500 && status <= 599)) {
    return {
      kind: 'unavailable',
      details: { status, retryAfter: retryAfterSeconds(response.headers['retry-after']) },
    };
  }
  return unreadable(response);
}

/** Describes a body that cannot be read. It can have any content, so the log gets only its size and hash. */
function unreadable({ status, body }: WireResponse): Classified {
  const fingerprint = { bytes: body.length, sha256: hash('sha256', body) };
  return { kind: 'unreadable', details: { status, body: fingerprint } };
}

/** Returns undefined for a body that is not text. */
export function textOf({ headers, body }: WireResponse): string | undefined {
  const encoding = headers['content-encoding'];
  // The gateway requests no compression. A compressed body could be a decompression bomb, so it is not unpacked.
  if (encoding !== undefined && encoding !== 'identity') return undefined;
  try {
    return decodeUtf8(body);
  } catch {
    return undefined;
  }
}

function readEnvelope(response: WireResponse, text = textOf(response)): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  try {
    const value = parseJson(response.body, { maxDepth: MAX_DEPTH }, text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the code as a string. Undefined if it is no valid code (missing, null, empty, a boolean, a list, 0.0, very long). */
function businessCode(code: unknown): string | undefined {
  if (typeof code === 'number') return String(code);
  return isJsonText(code) && /^[\x21-\x7e]{1,32}$/.test(code) ? code : undefined;
}

/** Returns the details of a response with this code. */
function refusalIn(
  { message, cause }: Record<string, unknown>,
  status: number,
  code: string,
  { redact, taught }: ResponseTerms,
): FailureDetails {
  const word = taught(code);
  return {
    status,
    code,
    ...(word && { taught: word }),
    ...(isJsonText(message) && { message: cleanText(message, redact) }),
    ...(isJsonText(cause) && { reason: cleanText(cause, redact) }),
  };
}
