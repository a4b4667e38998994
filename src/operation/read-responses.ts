import { ApiHeader, ApiResponse, type ApiResponseOptions } from '@nestjs/swagger';

type Headers = Record<string, { description: string; schema: { type: 'string' | 'integer' } }>;

const ETAG: Headers = { ETag: { description: 'Entity tag of the content', schema: { type: 'string' } } };
const AGE: Headers = {
  Age: {
    description: 'Seconds since the call to the platform, where the response was cached',
    schema: { type: 'integer' },
  },
};
const LINK: Headers = {
  Link: { description: 'first, prev, next, last (RFC 8288)', schema: { type: 'string' } },
};

/** The OpenAPI parts of reads: `ETag` and 304, `Age` and `no-cache` where the platform is called, `Link` of pages. */
export function readResponses(
  successes: readonly ApiResponseOptions[],
  { asksPlatform, paged }: { asksPlatform: boolean; paged: boolean },
): (MethodDecorator & ClassDecorator)[] {
  const headers = { ...ETAG, ...(asksPlatform && AGE), ...(paged && LINK) };
  return [
    ApiHeader({ name: 'If-None-Match', required: false, description: 'An `ETag`: 304 while it is the same' }),
    ...(asksPlatform
      ? [ApiHeader({ name: 'Cache-Control', required: false, description: '`no-cache` bypasses the cache' })]
      : []),
    ...successes.map((success) => ApiResponse({ ...success, headers })),
    ApiResponse({ status: 304, description: 'The content still has the `ETag` in `If-None-Match`', headers }),
  ];
}
