import type { OpenAPIObject } from '@nestjs/swagger';

const text = { type: 'string' } as const;

/** draft-ietf-httpapi-ratelimit-headers-11 for the first two; RFC 9110 for the others. */
const headers = {
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
    description: 'Seconds until the same request may succeed',
    schema: { type: 'integer', minimum: 1 },
  },
  WwwAuthenticate: { description: 'The credentials that the gateway accepts', schema: text },
} as const;

const ref = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` });

interface Described {
  readonly security?: readonly object[];
  readonly responses: Record<string, { headers?: Record<string, object> }>;
}

/**
 * The headers of responses to callers, for every operation. Errors have the limits too, but the document shows them for successes
 * and 429 only: otherwise it would be a quarter longer.
 */
export function addCallerHeaders(document: OpenAPIObject): void {
  document.components = { ...document.components, headers: structuredClone(headers) };
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path) as Described[]);
  for (const { security = [], responses } of operations) {
    if (security.length === 0) continue;
    for (const [status, response] of Object.entries(responses)) {
      const own = {
        ...((status.startsWith('2') || status === '429') && {
          'RateLimit-Policy': ref('RateLimitPolicy'),
          RateLimit: ref('RateLimit'),
        }),
        ...(status === '401' && { 'WWW-Authenticate': ref('WwwAuthenticate') }),
        ...(status === '429' && { 'Retry-After': ref('RetryAfter') }),
      };
      if (Object.keys(own).length > 0) response.headers = { ...response.headers, ...own };
    }
  }
}
