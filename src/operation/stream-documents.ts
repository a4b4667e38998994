import { getSchemaPath } from '@nestjs/swagger';
import type { Type } from '@nestjs/common';

/** A media type of a response that is a stream. */
export interface StreamDoc {
  readonly type: 'text/csv' | 'application/x-ndjson' | 'text/event-stream';
  /** The schema of one line (NDJSON) or of the data of one event; absent: text. */
  readonly item?: Type;
  readonly example: string;
}

/** A file as the body of a request: an example for each of its types. */
export interface FileDoc {
  readonly description: string;
  /** The schema of one line of NDJSON. */
  readonly item: Type;
  readonly csv: Readonly<Record<string, Example>>;
  readonly ndjson: Readonly<Record<string, Example>>;
}

interface Example {
  readonly summary: string;
  readonly value: string;
}

const text = { type: 'string' } as const;

/** OpenAPI 3.1 has no schema for a sequence: it is text, and `contentSchema` is the schema of one item (JSON Schema, Content). */
function sequence(contentMediaType: string, item: Type | undefined): object {
  return item ? { ...text, contentMediaType, contentSchema: { $ref: getSchemaPath(item) } } : text;
}

export function streamContent(
  streams: readonly StreamDoc[],
): Record<string, { schema: object; example: string }> {
  return Object.fromEntries(
    streams.map(({ type, item, example }) => [type, { schema: sequence(type, item), example }]),
  );
}

export function fileBody({ description, item, csv, ndjson }: FileDoc): {
  required: true;
  description: string;
  content: Record<string, { schema: object; examples: Record<string, Example> }>;
} {
  return {
    required: true,
    description,
    content: {
      'text/csv': { schema: text, examples: { ...csv } },
      'application/x-ndjson': { schema: sequence('application/x-ndjson', item), examples: { ...ndjson } },
    },
  };
}
