import { ApiHeader, ApiResponse } from '@nestjs/swagger';

export interface Header {
  readonly description: string;
  readonly schema: { readonly type: 'string' | 'integer' };
}

/** Headers of a response in the OpenAPI document, by name. */
export type ResponseHeaders = Record<string, Header>;

export function header(description: string, type: Header['schema']['type'] = 'string'): Header {
  return { description, schema: { type } };
}

export const ETAG: ResponseHeaders = { ETag: header('Entity tag of the content') };

/** Describes the requests and responses of a client that may have the content already. A 304 has these headers. */
export function conditional(headers: ResponseHeaders): MethodDecorator[] {
  return [
    ApiHeader({ name: 'If-None-Match', required: false, description: 'An `ETag`: 304 while it is the same' }),
    ApiResponse({
      status: 304,
      description: 'The content still has the `ETag` in `If-None-Match`',
      headers,
    }),
  ];
}
