/**
 * Generates the parts of the client package that come from the OpenAPI document. `client/src/api.ts` has the types of all schemas and the
 * methods of each group, and `client/src/operations.ts` has the same methods as data, for the run time.
 */
import openapiTs, { astToString, oapiRef } from 'openapi-typescript';
import ts from 'typescript';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: unknown;
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>;
interface Operation {
  readonly operationId: string;
  /** The id of its dry run, or of the write that it tries. */
  readonly 'x-dry-run'?: string;
  readonly 'x-dry-run-of'?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}
export interface ApiDocument {
  readonly paths: Readonly<Record<string, object>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Group and method of operations for which the rule of {@link nameOf} would not make a good name. */
const NAMES: Readonly<Record<string, readonly [group: string, method: string]>> = {
  getOrderAssets: ['orders', 'assets'],
  reserveAssetNums: ['assetNums', 'reserve'],
  getAssetProducts: ['assets', 'products'],
  getOverview: ['enterprises', 'overview'],
  resetMemberPassword: ['members', 'resetPassword'],
  setMemberAssetNums: ['members', 'setAssetNums'],
  changeMemberAssetNums: ['members', 'changeAssetNums'],
  lendAssets: ['members', 'lend'],
  getCaller: ['callers', 'me'],
  getBudgets: ['callers', 'budgets'],
  getJobRows: ['jobs', 'rows'],
  rotateWebhookSecret: ['webhooks', 'rotateSecret'],
  listEstate: ['estate', 'list'],
  getEstateSummary: ['estate', 'summary'],
  refreshEstate: ['estate', 'refresh'],
  getMaintenance: ['maintenance', 'get'],
  setMaintenance: ['maintenance', 'set'],
  endMaintenance: ['maintenance', 'end'],
  listDeliveries: ['webhooks', 'deliveries'],
  redeliver: ['webhooks', 'redeliver'],
  live: ['health', 'live'],
  ready: ['health', 'ready'],
};
/** The names of dry runs that differ from `preview` and the name of the write. */
const PREVIEWS: Readonly<Record<string, string>> = { placeOrder: 'preview' };
/** Writes that the gateway itself runs at most once, by something in the body. A repeat after a lost answer does no harm. */
const GUARDED = new Set(['placeOrder']);

/** One method of the client. */
interface Method {
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly http: string;
  readonly path: string;
  readonly operation: Operation;
  readonly input: Schema;
  /** The name of the method that walks all pages. */
  readonly each?: string;
  /** The type of an item of the page. */
  readonly item?: string;
  readonly result: string;
  /** The name of its dry run, and the type of the dry run's result. */
  readonly preview?: { readonly name: string; readonly result: string };
  /** Statuses of 400 and more whose body is a result. */
  readonly answers: readonly number[];
}

export async function clientFiles(document: ApiDocument): Promise<readonly (readonly [string, string])[]> {
  const methods = methodsOf(document);
  return [
    ['client/src/api.ts', await apiModule(document, methods)],
    ['client/src/operations.ts', operationsModule(methods, document)],
  ];
}

/** Returns the operations. A dry run is no operation of the client, but a method next to its write. */
function operationsOf({ paths }: ApiDocument): { path: string; http: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).flatMap(([http, operation]) =>
      operation['x-dry-run-of'] === undefined ? [{ path, http, operation }] : [],
    ),
  );
}

function methodsOf(document: ApiDocument): Method[] {
  const { components } = document;
  return operationsOf(document)
    .filter(({ operation }) => speaksJson(operation))
    .map(({ path, http, operation }): Method => {
      const [group, name] = nameOf(operation.operationId);
      const results = Object.entries(operation.responses).flatMap(([status, { content }]) => {
        const { $ref } = content?.['application/json']?.schema ?? {};
        return $ref === undefined ? [] : [{ status: Number(status), schema: lastOf($ref) }];
      });
      const done = results.filter(({ status }) => status < 300);
      const of = [...new Set(done.map(({ schema }) => schema))];
      const previewName = PREVIEWS[operation.operationId] ?? previewOf(name);
      const items = components.schemas[of[0] ?? '']?.properties?.['items']?.items?.$ref;
      const isPage =
        of[0]?.endsWith('Page') === true &&
        items !== undefined &&
        operation.parameters?.some(({ name: parameter }) => parameter === 'page') === true;
      const input = inputOf(operation, components.schemas);
      return {
        id: operation.operationId,
        group,
        name,
        http: http.toUpperCase(),
        path,
        operation,
        input,
        ...(isPage && {
          each: name === 'list' || name === 'find' ? 'each' : eachOf(name),
          item: lastOf(items),
        }),
        result: of.length === 0 ? 'undefined' : of.join(' | '),
        ...(operation['x-dry-run'] !== undefined && { preview: { name: previewName, result: 'DryRun' } }),
        answers: results.filter(({ status }) => status >= 400).map(({ status }) => status),
      };
    });
}

/** True for an operation without streams. Streams have hand-written methods. */
function speaksJson({ requestBody, responses }: Operation): boolean {
  const bodies = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith('2') && content ? [content] : [],
  );
  return [...bodies, ...(requestBody ? [requestBody.content] : [])].every(
    (content) => 'application/json' in content,
  );
}

/** Returns `assets.list` for `listAssets`: the verb is the method, and the rest in plural is the group. */
function nameOf(operationId: string): readonly [group: string, method: string] {
  const exception = NAMES[operationId];
  if (exception) return exception;
  const [, verb = '', noun = ''] = /^([a-z]+)(\w*)$/.exec(operationId) ?? [];
  const group = noun.charAt(0).toLowerCase() + noun.slice(1);
  return [group.endsWith('s') ? group : `${group}s`, verb];
}

function eachOf(name: string): string {
  return `each${name.charAt(0).toUpperCase()}${name.slice(1).replace(/ies$/, 'y').replace(/s$/, '')}`;
}

function previewOf(name: string): string {
  return `preview${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

function lastOf(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

/** Returns the type of the input: parameters and body in one object. Headers are options of the call. */
function inputOf(
  { operationId, parameters = [], requestBody }: Operation,
  schemas: ApiDocument['components']['schemas'],
): Schema {
  const own = parameters.filter((one) => one.in === 'path' || one.in === 'query');
  const ref = requestBody?.content['application/json']?.schema?.$ref;
  const stray = own.find((one) => ref !== undefined && one.in === 'query');
  if (stray) throw new Error(`${operationId}: the client sends ${stray.name} in the body`);
  const clash = own.find((one) => ref !== undefined && one.name in (schemas[lastOf(ref)]?.properties ?? {}));
  if (clash) throw new Error(`${operationId}: ${clash.name} is a parameter and a field of the body`);
  const parametersSchema: Schema = {
    type: 'object',
    properties: Object.fromEntries(
      own.map(({ name, description, schema }) => [
        name,
        { ...schema, default: undefined, ...(description !== undefined && { description }) },
      ]),
    ),
    required: own.filter(({ required }) => required).map(({ name }) => name),
    ...(own.length === 0 && { additionalProperties: false }),
  };
  if (ref === undefined) return parametersSchema;
  return own.length === 0 ? { $ref: ref } : { allOf: [parametersSchema, { $ref: ref }] };
}

/** The type of values that the platform does not document. They are any JSON, not `unknown`. */
const ANY_JSON = { $ref: '#/components/schemas/Json' };
const JSON_TYPE = `/** What the platform does not document. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };`;

function withJson(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withJson);
  if (typeof node !== 'object' || node === null) return node;
  const schema = node as Record<string, unknown>;
  const open =
    Array.isArray(schema['oneOf']) &&
    schema['oneOf'].some((one: Schema) => one.additionalProperties === true);
  if (open)
    return {
      ...ANY_JSON,
      ...(schema['description'] !== undefined && { description: schema['description'] }),
    };
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'additionalProperties' && value === true ? ANY_JSON : withJson(value),
    ]),
  );
}

async function apiModule(document: ApiDocument, methods: readonly Method[]): Promise<string> {
  const { components } = document;
  const streams = operationsOf(document).filter(({ operation }) => !speaksJson(operation));
  const inputs = Object.fromEntries([
    ...methods.map(({ id, input }) => [inputName(id), input] as const),
    ...streams.map(({ operation }) => [inputName(operation.operationId), inputOf(operation, {})] as const),
  ]);
  const reduced = {
    openapi: '3.1.0',
    info: { title: 'Licensing gateway', version: '1' },
    paths: {},
    components: {
      schemas: { ...(withJson(components.schemas) as object), Json: {}, ...(withJson(inputs) as object) },
    },
  };
  const nodes = await openapiTs(JSON.stringify(reduced), {
    alphabetize: true,
    immutable: true,
    transform: (schema) =>
      'x-extensible-enum' in schema ? openType(schema as unknown as Schema) : undefined,
  });
  const named = [...Object.keys(components.schemas), ...Object.keys(inputs)].sort();
  return `/** Written by \`npm run generate\` from config/openapi.json: the schemas of the API, and the methods of the client. */
import type { CallOptions, Walk, WalkOptions } from './call-options.ts';

${astToString(nodes)
  .replace(
    /^export (interface paths \{\}|type (paths|webhooks|operations|\$defs) = .*|interface operations .*)$/gm,
    '',
  )
  .replace(/^export interface components/m, 'interface components')
  .replaceAll('components["schemas"]["Json"]', 'Json')
  .replace(/\n {8}readonly Json: .*/, '')
  .replace(/\n {4}(responses|parameters|requestBodies|headers|pathItems): never;/g, '')
  .trim()}

${JSON_TYPE}

${named.map((name) => `export type ${name} = components['schemas']['${name}'];`).join('\n')}

${groupsOf(methods)}`;
}

function inputName(operationId: string): string {
  return `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Input`;
}

/**
 * Returns the type of words that may grow. The words stay literals, so that editors offer them, which they would not do with `string`
 * alone.
 */
function openType({ anyOf = [] }: Schema): ts.TypeNode {
  return ts.factory.createUnionTypeNode(
    anyOf.map((one) => {
      if (one.$ref !== undefined) return oapiRef(one.$ref);
      if (one.type === 'null') return ts.factory.createLiteralTypeNode(ts.factory.createNull());
      return ts.factory.createTypeReferenceNode('(string & Record<never, never>)');
    }),
  );
}

function groupsOf(methods: readonly Method[]): string {
  const groups = Map.groupBy(methods, ({ group }) => group);
  const types = [...groups].map(
    ([group, its]) => `export interface ${typeName(group)} {\n${its.flatMap(signaturesOf).join('\n')}\n}`,
  );
  const fields = [...groups.keys()].map((group) => `  readonly ${group}: ${typeName(group)};`);
  return `${types.join('\n\n')}\n\n/** The methods of the client, by what they are about. */\nexport interface Groups {\n${fields.join('\n')}\n}\n`;
}

function typeName(group: string): string {
  return `${group.charAt(0).toUpperCase()}${group.slice(1)}Methods`;
}

function signaturesOf({
  id,
  name,
  http,
  path,
  operation,
  input,
  result,
  each,
  item,
  preview,
}: Method): string[] {
  const optional =
    (input.required ?? []).length === 0 && input.$ref === undefined && input.allOf === undefined;
  const inputGiven = `input${optional ? '?' : ''}: ${inputName(id)}`;
  const given = `${inputGiven}, options?: CallOptions`;
  const about = `${operation.summary ?? id} (\`${id}\`, ${http} ${path})`;
  const line = (text: string, signature: string) => `  /** ${text.replaceAll('*/', '')} */\n  ${signature};`;
  return [
    line(about, `${name}(${given}): Promise<${result}>`),
    ...(each === undefined
      ? []
      : [
          line(
            `Every item of \`${name}\`, page after page`,
            `${each}(${inputGiven}, options?: WalkOptions): Walk<${item}>`,
          ),
        ]),
    ...(preview === undefined
      ? []
      : [
          line(
            `Every check of \`${name}\`, and what it would send and change; nothing is sent`,
            `${preview.name}(${given}): Promise<${preview.result}>`,
          ),
        ]),
  ];
}

function operationsModule(methods: readonly Method[], document: ApiDocument): string {
  const streams = operationsOf(document)
    .filter(({ operation }) => !speaksJson(operation))
    .map(({ path, http, operation }) => {
      const [group, name] = nameOf(operation.operationId);
      return rowOf(operation.operationId, group, name, `${http.toUpperCase()} ${path}`, actsFor(operation));
    });
  const rows = methods.map(({ id, group, name, http, path, operation, each, preview, answers }) => {
    return rowOf(id, group, name, `${http} ${path}`, {
      ...(each !== undefined && { each: each === 'each' || each }),
      ...(preview !== undefined && { preview: preview.name === previewOf(name) || preview.name }),
      ...(answers.length > 0 && { answers }),
      ...actsFor(operation),
      ...(GUARDED.has(id) && { guarded: true }),
      ...((operation.security ?? []).length === 0 && { open: true }),
    });
  });
  return `/** Written by \`npm run generate\` from config/openapi.json: the methods of the client as data. */
import { tableOf } from './call-options.ts';

export const operations = tableOf<string>({
${rows.join('\n')}
});

/** Operations that carry files and events; their methods are in client/src/jobs.ts. */
export const streams = tableOf({
${streams.join('\n')}
});
`;
}

/** Returns a short text for one row, because the client has a table of all operations. `tableOf` of the client parses it. */
function rowOf(id: string, group: string, name: string, call: string, more: object): string {
  const fields = Object.entries(more).map(([field, value]) => (value === true ? field : `${field}=${value}`));
  const short = call
    .replace(' /v1/', ' ')
    .replace(' enterprises/{enterpriseGlobalId}/', ' ~/')
    .replace('license-orders/{channelCode}/{channelOrderId}', '#')
    .replace('~/members/{memberGlobalId}', '@')
    .replace(group, '+')
    .replace(`{${group.slice(0, -1)}Id}`, ':');
  return `  ${id}: '${[group, name, short, ...fields].join(' ')}',`;
}

function actsFor({ parameters = [] }: Operation): { user?: true } {
  return parameters.some(({ name }) => /^X-(Acting-User|Session-Id)$/.test(name)) ? { user: true } : {};
}
