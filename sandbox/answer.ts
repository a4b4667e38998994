/** Responses before they are bytes, and the two envelopes of interface section 2.1. */
import type { TokenAnswer } from './access/oauth.ts';
import type { Refusal } from './errors.ts';
import { exactNumber, isObject, writeJson } from './json.ts';
import type { Settings } from './options.ts';

type HeaderValue = string | readonly string[];

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, HeaderValue>>;
  readonly body: unknown;
  /** True if `body` means success. Faults patch successes only. */
  readonly success: boolean;
}

/** The response as it is sent. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, HeaderValue>>;
  readonly body: string | Buffer;
  /** The code in the body, for the journal. */
  readonly code: string | null;
}

export const JSON_TYPE = 'application/json;charset=UTF-8';
const JSON_HEADERS = { 'content-type': JSON_TYPE };

export function successAnswer(data: unknown, settings: Settings): Answer {
  const body = { code: 0, message: 'success', data: shaped(data, settings) };
  return { status: 200, headers: JSON_HEADERS, body, success: true };
}

/** Returns a copy in the forms of the profile. */
function shaped(data: unknown, { profile: { otherIds, emptyLists, flags } }: Settings): unknown {
  const forms = [
    ...(otherIds === 'number' ? [withNumericIds] : []),
    ...(emptyLists === 'null' ? [withNullLists] : []),
    ...(flags === 'number' ? [withNumericFlags] : []),
  ];
  return forms.reduce((shown, form) => form(shown), data);
}

/** Returns a copy in which empty lists are null. */
function withNullLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(withNullLists);
  return isObject(value) ? withValues(value, withNullLists) : value;
}

/** Returns a copy in which flags are 0 or 1. */
function withNumericFlags(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (Array.isArray(value)) return value.map(withNumericFlags);
  return isObject(value) ? withValues(value, withNumericFlags) : value;
}

function withValues(object: Record<string, unknown>, form: (value: unknown) => unknown) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, form(value)]));
}

export function refusalAnswer(refusal: Refusal, settings: Settings): Answer {
  const { code, message, cause, data } = refusal;
  const { refusalCode, refusalStatus } = settings.profile;
  const wireCode = refusalCode === 'number' && /^\d+$/.test(code) ? Number(code) : code;
  // Codes with an odd number come with one status, and even ones with the other.
  const isOdd = Number(code) % 2 === 1;
  const status = refusalStatus === '200' || (refusalStatus === 'both' && isOdd) ? 200 : 299;
  const body = {
    code: wireCode,
    message,
    cause,
    ...(data === undefined ? {} : { data: shaped(data, settings) }),
  };
  return { status, headers: JSON_HEADERS, body, success: false };
}

export function tokenAnswer({ status, headers, body, success }: TokenAnswer): Answer {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body, success };
}

/** A response outside the interface: unknown path, wrong method, a body that is too large. */
export function plainAnswer(
  status: number,
  error: string,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Answer {
  return {
    status,
    headers: { ...JSON_HEADERS, ...headers },
    body: { status, error, ...more },
    success: false,
  };
}

export function toReply({ status, headers, body }: Answer): Reply {
  return { status, headers, body: writeJson(body), code: codeOf(body) };
}

/** Returns the code of an envelope, or of a token error. */
export function codeOf(body: unknown): string | null {
  if (!isObject(body)) return null;
  const code = body['code'] ?? body['error'];
  return typeof code === 'string' || typeof code === 'number' ? String(code) : null;
}

const ID_NAMES = new Set([
  'id',
  'customerId',
  'licenseOrderId',
  'enterpriseGlobalId',
  'globalId',
  'memberGlobalId',
  'cloudAccountGlobalId',
  'assignMemberId',
  'assetId',
  'assetInsId',
  'merchandiseInsId',
  'parentId',
  'srcLicenseOrderId',
]);

/** Returns a copy in which string ids of digits only are bare numbers (section 2.1, "Identifiers"). */
export function withNumericIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNumericIds);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const numeric = ID_NAMES.has(name) && typeof item === 'string' && /^(0|[1-9]\d*)$/.test(item);
      return [name, numeric ? exactNumber(item) : withNumericIds(item)];
    }),
  );
}
