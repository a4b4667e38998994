import type { Type } from '@nestjs/common';
import { getSchemaPath } from '@nestjs/swagger';
import all from './examples.json' with { type: 'json' };

/**
 * The examples of the OpenAPI document, by operation. Examples of requests work in the demo unchanged. Examples of streams are its
 * responses.
 */
const examples: {
  readonly requests: Readonly<Record<string, Examples<object>>>;
  readonly files: Readonly<Record<string, Readonly<Record<string, Examples<string>>>>>;
  readonly streams: Readonly<Record<string, Readonly<Record<string, string>>>>;
} = all;

type Examples<Value> = Readonly<Record<string, { readonly summary: string; readonly value: Value }>>;

export interface StreamDoc {
  readonly type: 'text/csv' | 'application/x-ndjson' | 'text/event-stream';
  /** The schema of one line (NDJSON) or of the data of one event. Absent for text. */
  readonly item?: Type;
}

export interface FileDoc {
  readonly description: string;
  readonly item: Type;
}

const text = { type: 'string' } as const;

/**
 * Returns the schema of a sequence. OpenAPI 3.1 has none: a sequence is text, and `contentSchema` is the schema of one item (JSON Schema,
 * Content).
 */
function sequence(contentMediaType: string, item: Type | undefined): object {
  return item ? { ...text, contentMediaType, contentSchema: { $ref: getSchemaPath(item) } } : text;
}

export function requestExamples(operationId: string): Examples<object> {
  return examples.requests[operationId] ?? {};
}

export function streamContent(
  operationId: string,
  streams: readonly StreamDoc[],
): Record<string, { schema: object; example: string | undefined }> {
  const own = examples.streams[operationId];
  return Object.fromEntries(
    streams.map(({ type, item }) => [type, { schema: sequence(type, item), example: own?.[type] }]),
  );
}

export function fileBody(operationId: string, { description, item }: FileDoc) {
  const content = Object.entries(examples.files[operationId] ?? {}).map(([type, own]) => [
    type,
    { schema: sequence(type, type === 'text/csv' ? undefined : item), examples: own },
  ]);
  return { required: true, description, content: Object.fromEntries(content) as Record<string, object> };
}
