import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

/** Checks every response that a test receives against the exported OpenAPI document. */

interface Media {
  readonly schema?: object;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
export interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, Media>>;
  readonly headers?: Readonly<Record<string, object>>;
  readonly links?: Readonly<Record<string, { operationId: string; parameters: Record<string, string> }>>;
}
export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly requestBody?: {
    content: Record<string, { schema?: object; examples?: Record<string, { value: unknown }> }>;
  };
  readonly parameters?: readonly {
    name: string;
    in: string;
    required?: boolean;
    example?: unknown;
    examples?: Readonly<Record<string, { value: unknown }>>;
    schema?: { example?: unknown; examples?: readonly unknown[] };
  }[];
  readonly responses: Readonly<Record<string, Response>>;
  readonly 'x-upstream'?: { operation: string; method: string; path: string };
  readonly 'x-dry-run'?: string;
  readonly 'x-dry-run-of'?: string;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly webhooks: Readonly<Record<string, object>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
  };
}

/** References to responses and examples are replaced by what they refer to, which several places then share; those to schemas stay. */
export const document = ((): Document => {
  const read = JSON.parse(readFileSync('config/openapi.json', 'utf8')) as Document;
  const shared: Readonly<Record<string, Readonly<Record<string, object>>>> = {
    responses: read.components.responses,
    examples: read.components.examples,
  };
  const resolve = (part: object): void => {
    for (const [key, member] of Object.entries(part) as [string, unknown][]) {
      if (typeof member !== 'object' || member === null) continue;
      const [, , kind = '', name = ''] = (member as { $ref?: string }).$ref?.split('/') ?? [];
      const found = shared[kind]?.[name];
      if (found === undefined) resolve(member);
      else (part as Record<string, unknown>)[key] = found;
    }
  };
  resolve(read);
  return read;
})();

export interface DocumentedRoute {
  readonly method: string;
  readonly template: string;
  readonly operation: OpenApiOperation;
}

export const routes: readonly DocumentedRoute[] = Object.entries(document.paths).flatMap(
  ([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      template,
      operation,
    })),
);

// `npm run check:api` looks at the schemas themselves; shorter code takes longer to make than it is used here.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } });
formats.default(ajv);
// The formats of requests pass here. The tests of the rules check what they refuse.
for (const format of ['id', 'text']) ajv.addFormat(format, true);
ajv.addSchema({ $id: 'document', components: { schemas: closed(document.components.schemas) } });
/** The schemas without additional properties: a response may not have a field that the document does not name. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== 'object' || part === null) return part;
  const members = Object.fromEntries(Object.entries(part).map(([key, member]) => [key, closed(member)]));
  const isOpen =
    members['type'] === 'object' &&
    members['properties'] !== undefined &&
    members['additionalProperties'] === undefined;
  return isOpen ? { ...members, additionalProperties: false } : members;
}

const validators = new Map<object, ValidateFunction>();

export function validatorOf(schema: object): ValidateFunction {
  const known = validators.get(schema);
  if (known) return known;
  const located = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as object;
  const validator = ajv.compile(located);
  validators.set(schema, validator);
  return validator;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** The response that the document declares for a status: the operation's own, or the common one. */
export function responseFor({ responses }: OpenApiOperation, status: number): Response | undefined {
  return responses[String(status)] ?? responses['default'];
}

/** Headers that an operation declares wherever it sends them. */
const DECLARED_HEADERS = [
  ...['age', 'etag', 'idempotent-replayed', 'link', 'location', 'server-timing', 'sunset'],
  'x-estate-incomplete',
];

/**
 * Throws for a response that the document does not declare: status or common problem (any, for codes that the platform does not document
 * for the operation), media type, and schema of the body.
 */
export function assertDeclared(method: string, path: string, answer: Answer, anyProblem: boolean): void {
  const route = routes.find((each) => each.method === method && matches(each.template, path));
  if (!route) return;
  const { responses, operationId, deprecated = false } = route.operation;
  if (answer.headers.has('deprecation') !== deprecated)
    throw new Error(`${operationId} ${answer.status}: only the responses of deprecated operations say so`);
  const response = responseFor(route.operation, answer.status);
  const isCommon = responses[String(answer.status)] === undefined;
  // The operations share the common problems, which cannot have the headers of one of them.
  const headers = { ...responses['default']?.headers, ...response?.headers };
  const declared = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const undeclared = (isCommon ? [] : DECLARED_HEADERS).filter(
    (name) => answer.headers.has(name) && !declared.has(name),
  );
  if (undeclared.length > 0)
    throw new Error(`${operationId} ${answer.status} does not declare ${undeclared.join(', ')}`);
  if (!response || (isCommon && !anyProblem && !isCommonProblem(answer)))
    throw new Error(`${operationId} does not declare ${answer.status}: ${answer.text}`);
  const type = answer.headers.get('content-type')?.split(';')[0];
  if (!response.content) {
    if (answer.text !== '') throw new Error(`${operationId} ${answer.status} declares no body, but has one`);
    return;
  }
  const media = type === undefined ? undefined : response.content[type];
  if (!media) throw new Error(`${operationId} ${answer.status} does not declare ${type}`);
  if (!media.schema || type === 'text/html') return;
  const itemSchema = (media.schema as { contentSchema?: object }).contentSchema;
  const validate = validatorOf(itemSchema ?? media.schema);
  for (const value of itemSchema
    ? itemsOf(answer.text)
    : [type === 'text/csv' ? answer.text : JSON.parse(answer.text)])
    if (!validate(value))
      throw new Error(
        `${operationId} ${answer.status} does not fit its schema: ${ajv.errorsText(validate.errors)}\n${answer.text.slice(0, 500)}`,
      );
}

/** The values of a sequence: lines of NDJSON, or the data of events. */
function itemsOf(text: string): unknown[] {
  const lines = text.split('\n').filter((line) => /^(\{|data: )/.test(line));
  return lines.map((line) => JSON.parse(line.replace(/^data: /, '')) as unknown);
}

function isCommonProblem({ status, text }: Answer): boolean {
  const { examples = {} } =
    document.components.responses['Problem']?.content?.['application/problem+json'] ?? {};
  // A response to HEAD has no body.
  if (text === '')
    return Object.values(examples).some(({ value }) => (value as { status: number }).status === status);
  const { code = '' } = JSON.parse(text) as { code?: string };
  return examples[code] !== undefined;
}

function matches(template: string, path: string): boolean {
  const pattern = template.replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`).test(path.split('?')[0] ?? '');
}
