import fc from 'fast-check';
import type { DocumentedRoute } from '../support/contract.ts';
import { fitting, type Known, type Schema } from './generate.ts';
import type { Sent } from './stage.ts';

/** The caller of the stage whose key the request carries; null for none. */
export type Who = 'fleet' | 'powerless' | 'stranger' | 'meridian' | null;

/** A request before it is text, so that its parts can be replaced. */
export interface Draft {
  readonly route: DocumentedRoute;
  readonly who: Who;
  readonly path: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

export function parametersOf({ operation }: DocumentedRoute, where: string): readonly Parameter[] {
  return ((operation.parameters ?? []) as readonly Parameter[]).filter((each) => each.in === where);
}

export function bodySchemaOf({ operation }: DocumentedRoute): Schema | undefined {
  const media = operation.requestBody?.content['application/json'] as { schema?: Schema } | undefined;
  return media?.schema;
}

/** Whether the body is a file. */
export function takesFile({ operation }: DocumentedRoute): boolean {
  return operation.requestBody?.content['text/csv'] !== undefined;
}

/** Whether a success is a stream and no JSON. */
function streams({ operation }: DocumentedRoute): boolean {
  const { content } = operation.responses['200'] ?? {};
  return content !== undefined && ['text/csv', 'text/event-stream'].some((type) => type in content);
}

/** A file that an import accepts. */
const FILE = fc
  .stringMatching(/^[a-z0-9]{12,20}$/)
  .map((account) => `account,password,name\n${account},fuzz-password-1,Fuzz\n`);

export function needsKey({ operation }: DocumentedRoute): boolean {
  return (operation.security ?? []).length > 0;
}

/** Values for headers of the document, whose schemas only say that they are text. */
const HEADER_VALUES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'X-Acting-User': fc.constantFrom('default', 'anna', 'meridian'),
  'X-Session-Id': fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
  'Idempotency-Key': fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9_.:-]{24,40}$/),
    fc.stringMatching(/^[A-Za-z0-9_.:-]{24,40}$/).map((key) => `"${key}"`),
  ),
  'If-None-Match': fc.constantFrom('*', '"x"', 'W/"x", "y"', 'x', '", "'),
  'Cache-Control': fc.constantFrom('no-cache', 'max-age=0', 'no-store, no-cache="x"', ',;='),
};

const ANYWHERE: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'X-Request-Id': fc
    .string({ unit: fc.constantFrom(...'abcZ09_.:-!" ;é'), maxLength: 70 })
    .map((id) => `r${id}`.trim()),
  Accept: fc.constantFrom(
    '*/*',
    'application/json',
    'text/html, */*;q=0.1',
    'application/problem+json, application/json',
  ),
  'X-Forwarded-For': fc.constantFrom('127.0.0.1', "'; drop", '::1, 10.0.0.1'),
};

/** Parameters of an import that are allowed only together; they would delete the members that other requests name. */
const TOGETHER: ReadonlySet<string> = new Set(['deleteMissing', 'maxDeletes', 'keep']);

/** Requests that the document allows. */
export function validRequest(route: DocumentedRoute, known: Known): fc.Arbitrary<Draft> {
  const body = bodySchemaOf(route);
  const query = parametersOf(route, 'query').filter(({ name }) => !TOGETHER.has(name));
  const text = ({ name, schema = { type: 'string' } }: Parameter) => fitting(schema, known, name).map(String);
  const both = 'X-Session-Id' in HEADER_VALUES ? parametersOf(route, 'header') : [];
  // Both together are a contradiction.
  const headers = both.filter(({ name, required }) => name !== 'X-Session-Id' || required);
  return fc.record({
    route: fc.constant(route),
    who: fc.constant('fleet' as const),
    path: fc.record(Object.fromEntries(parametersOf(route, 'path').map((each) => [each.name, text(each)]))),
    query: fc
      .record(Object.fromEntries(query.map((each) => [each.name, text(each)])), {
        requiredKeys: query.filter(({ required }) => required).map(({ name }) => name),
      })
      .map((values) => Object.entries(values)),
    headers: fc.record(
      {
        ...ANYWHERE,
        // Others are refused.
        ...(streams(route) && { Accept: fc.constantFrom('*/*', 'text/html, */*;q=0.1') }),
        ...Object.fromEntries(headers.map(({ name }) => [name, HEADER_VALUES[name] ?? fc.constant('x')])),
      },
      { requiredKeys: headers.filter(({ required }) => required).map(({ name }) => name) as never[] },
    ),
    body: body ? fitting(body, known) : takesFile(route) ? FILE : fc.constant(undefined),
  }) as fc.Arbitrary<Draft>;
}

/** The sent form; a body given as text or bytes replaces the draft's. */
export function toSent(draft: Draft, raw?: string | Buffer): Sent {
  const path = draft.route.template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(draft.path[name] ?? ''),
  );
  const query = draft.query
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
  const isFile = takesFile(draft.route) && typeof draft.body === 'string';
  const body =
    raw ??
    (draft.body === undefined || isFile ? (draft.body as string | undefined) : JSON.stringify(draft.body));
  return {
    method: draft.route.method,
    target: query === '' ? path : `${path}?${query}`,
    headers: {
      ...(body !== undefined && { 'content-type': isFile ? 'text/csv' : 'application/json' }),
      ...lowerCased(draft.headers),
    },
    body,
  };
}

/** Names in lower case, so that one replaces another; values as bytes of Latin-1. */
function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
