import fc from 'fast-check';
import type { DocumentedRoute } from '../support/contract.ts';
import { fitting, type Known, type Schema } from './generate.ts';
import type { Sent } from './stage.ts';

/** A request before it is text, so that its parts can be replaced. */
interface Draft {
  readonly route: DocumentedRoute;
  readonly path: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

function parametersOf({ operation }: DocumentedRoute, where: string): readonly Parameter[] {
  return ((operation.parameters ?? []) as readonly Parameter[]).filter((each) => each.in === where);
}

export function bodySchemaOf({ operation }: DocumentedRoute): Schema | undefined {
  const media = operation.requestBody?.content['application/json'] as { schema?: Schema } | undefined;
  return media?.schema;
}

/** Whether the body is a file. */
function takesFile({ operation }: DocumentedRoute): boolean {
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

/** Values for headers of the document, whose schemas only say that they are text. */
const HEADER_VALUES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  'X-Acting-User': fc.constantFrom('default', 'anna', 'meridian'),
  'X-Session-Id': fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
  'Idempotency-Key': fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9_.:-]{24,40}$/),
    fc.stringMatching(/^[A-Za-z0-9_.:-]{24,40}$/).map((key) => `"${key}"`),
  ),
  'If-None-Match': fc.constantFrom('*', '"x"', 'W/"x", "y"', 'x', '", "'),
  'Last-Event-ID': fc.stringMatching(/^\d{15}$/),
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

/** The number of an order is one only within its channel. */
const inPairs = ({ channelOrderId, ...values }: Readonly<Record<string, string>>) =>
  channelOrderId === undefined || values['channelCode'] === undefined
    ? values
    : { ...values, channelOrderId };
/** The filter returns only values that have a time to be sorted by. */
const sortable = (values: Readonly<Record<string, string>>) =>
  values['sort'] === 'notBefore' ? { ...values, state: 'scheduled' } : values;

/** What ends has begun before, and an unassigned asset has no member. */
const withoutContradiction = ({ endsAfter, unassigned, ...values }: Readonly<Record<string, string>>) => ({
  ...values,
  ...(endsAfter !== undefined && values['endsBefore'] === undefined && { endsAfter }),
  ...(unassigned !== undefined && values['memberGlobalId'] === undefined && { unassigned }),
});

/** Some servers take such a segment for another path (src/upstream/operations.ts). */
const isWayUp = (segment: string) => /^\.{1,2}(;|$)/.test(segment);

/** Requests that the document allows. */
export function validRequest(route: DocumentedRoute, known: Known): fc.Arbitrary<Draft> {
  const body = bodySchemaOf(route);
  const query = parametersOf(route, 'query').filter(({ name }) => !TOGETHER.has(name));
  const text = ({ name, schema = { type: 'string' } }: Parameter) => fitting(schema, known, name).map(String);
  // An acting user beside a session is a contradiction.
  const headers = parametersOf(route, 'header').filter(
    ({ name, required }) => name !== 'X-Session-Id' || required,
  );
  return fc.record({
    route: fc.constant(route),
    path: fc.record(
      Object.fromEntries(
        parametersOf(route, 'path').map((each) => [each.name, text(each).filter((value) => !isWayUp(value))]),
      ),
    ),
    query: fc
      .record(Object.fromEntries(query.map((each) => [each.name, text(each)])), {
        requiredKeys: query.filter(({ required }) => required).map(({ name }) => name),
      })
      .map((values) => Object.entries(withoutContradiction(sortable(inPairs(values))))),
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

/** The sent form. */
export function toSent({ route, path, query, headers, body }: Draft): Sent {
  const place = route.template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  );
  const search = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  const isFile = takesFile(route) && typeof body === 'string';
  // Names in lower case, so that one replaces another.
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    method: route.method,
    target: [place, ...(search.length > 0 ? [search.join('&')] : [])].join('?'),
    headers: {
      ...(body !== undefined && { 'content-type': isFile ? 'text/csv' : 'application/json' }),
      ...Object.fromEntries(given),
    },
    body: body === undefined || isFile ? (body as string | undefined) : JSON.stringify(body),
  };
}
