import type { OpenAPIObject } from '@nestjs/swagger';
import { header } from './headers.ts';

const text = { type: 'string' } as const;

/** The headers: draft-ietf-httpapi-ratelimit-headers-11 for the first two, and RFC 9110 for the others. */
const headers = {
  RequestId: header(
    'The id of the request: the one that the request had, or a new one. Each log line and each problem has it',
  ),
  RateLimitPolicy: {
    description:
      "The caller's limit, where it has one: `q` requests in a window of `w` seconds, which begins with the first. On errors, too",
    schema: { ...text, examples: ['"default";q=600;w=60'] },
  },
  RateLimit: {
    description: 'The rest of the limit: `r` requests in the next `t` seconds, on all replicas',
    schema: { ...text, examples: ['"default";r=599;t=42'] },
  },
  RetryAfter: {
    description: 'Seconds until the same request may succeed, where it may and the time is known',
    schema: { type: 'integer', minimum: 1 },
  },
  ServerTiming: {
    description:
      'Milliseconds since the headers of the request arrived (`total`), and of them at the platform (`upstream`), where it was called. On errors, too',
    schema: { ...text, examples: ['upstream;dur=41.7, total;dur=45.2'] },
  },
  AcceptPatch: header('Of 415 to a PATCH: the types that its body may have (RFC 5789)'),
  WwwAuthenticate: header('Of 401: the credentials that the gateway accepts'),
} as const;

const ref = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` });
const LIMITS = { 'RateLimit-Policy': ref('RateLimitPolicy'), RateLimit: ref('RateLimit') };
const ID = { 'X-Request-Id': ref('RequestId') };
/** Problems have it too. The document says so once, at the response `default`. */
const TIMING = { 'Server-Timing': ref('ServerTiming') };
const OF_REFUSALS = { ...ID, ...LIMITS, 'Retry-After': ref('RetryAfter') };
const OF_PROBLEMS = {
  ...OF_REFUSALS,
  ...TIMING,
  'Accept-Patch': ref('AcceptPatch'),
  'WWW-Authenticate': ref('WwwAuthenticate'),
};

/**
 * The headers of every response of a deprecated operation. The common problems are shared by all operations, so they cannot contain them.
 */
const DEPRECATION = {
  Deprecation: header('Since when the operation is deprecated: `@` and seconds (RFC 9745)'),
  Sunset: header('When the operation may be gone, where that is decided (RFC 8594)'),
};

interface Response {
  readonly $ref?: string;
  headers?: Record<string, object>;
}
interface Described {
  readonly security?: readonly object[];
  readonly deprecated?: boolean;
  readonly responses: Record<string, Response>;
}

export function addCallerHeaders(document: OpenAPIObject): void {
  document.components = { ...document.components, headers: structuredClone(headers) };
  const add = (response: Response, own: object) => {
    response.headers = { ...response.headers, ...own };
  };
  for (const response of Object.values(document.components.responses ?? {}) as Response[])
    add(response, OF_PROBLEMS);
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path) as Described[]);
  for (const { security = [], responses, deprecated } of operations) {
    if (security.length === 0) continue;
    for (const [status, response] of Object.entries(responses)) {
      if (deprecated && !response.$ref) add(response, DEPRECATION);
      if (status.startsWith('2')) add(response, { ...ID, ...LIMITS, ...TIMING });
      else if (!response.$ref) add(response, OF_REFUSALS);
      if (status === '401') add(response, { 'WWW-Authenticate': ref('WwwAuthenticate') });
    }
  }
}
