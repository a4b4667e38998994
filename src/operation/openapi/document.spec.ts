import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { DescribedParameter } from '../../../scripts/postman-collection.ts';
import { routes } from '../../../test/support/contract.ts';
import { refusalCodes } from '../../../test/support/upstream-codes.ts';
import { problemSlugs } from '../../problem/catalogue.ts';

/** The rules for every part of the document, which `npm run check:generated` compares with the code. */

interface Schema {
  readonly minimum?: number;
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly format?: string;
  readonly additionalProperties?: unknown;
  readonly 'x-upstream'?: string;
  readonly 'x-extensible-enum'?: readonly string[];
}
interface Parameter extends DescribedParameter {
  readonly schema?: Schema & { example?: unknown };
}
interface Operation {
  readonly operationId: string;
  readonly description?: string;
  readonly summary?: string;
  readonly deprecated?: boolean;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<
    Record<string, { content?: Record<string, { schema?: Schema; example?: unknown; examples?: object }> }>
  >;
}
interface Document {
  readonly info: { readonly version: string };
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, unknown>>;
  };
}

const areas = routes.filter(({ template }) => template.startsWith('/v1/'));
/** Operations of the gateway that call no operation of the platform. */
const OF_GATEWAY = [
  ...['getOrder', 'listOrders', 'settleOrder', 'cancelOrder', 'listGaps', 'getCaller', 'getBudgets'],
  ...['getMaintenance', 'setMaintenance', 'endMaintenance'],
  ...['listEstate', 'getEstateSummary', 'refreshEstate'],
  ...['listJobs', 'getJob', 'watchJob', 'getJobRows', 'cancelJob'],
  ...['listEvents', 'watchEvents', 'createWebhook', 'listWebhooks', 'getWebhook', 'updateWebhook'],
  ...['rotateWebhookSecret', 'testWebhook', 'listDeliveries', 'redeliver', 'deleteWebhook'],
];

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as unknown;
const document = read('config/openapi.json') as Document;
const schemas = Object.entries(document.components.schemas);
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
const parameters = operations.flatMap(({ operationId, parameters: own = [] }) =>
  own.map((parameter) => ({ at: `${operationId} ${parameter.name}`, parameter })),
);
const fields = schemas.flatMap(([name, { properties = {}, required = [] }]) =>
  Object.entries(properties).map(([field, schema]) => ({
    at: `${name}.${field}`,
    field,
    schema,
    required: required.includes(field),
  })),
);

/** Returns the names of schemas that `part` reaches. */
function reached(part: unknown, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    if (found.has(name)) continue;
    found.add(name);
    reached(document.components.schemas[name], found);
  }
  return found;
}
const ofRequests = reached(operations.map(({ requestBody = {} }) => requestBody));
const ofSuccesses = reached(
  operations.flatMap(({ responses }) =>
    Object.entries(responses).filter(([status]) => /^(2|503)/.test(status)),
  ),
);

describe('the document', () => {
  it('has the version of the package', () => {
    expect(document.info.version).toBe((read('package.json') as { version: string }).version);
  });

  it('has no deprecated operation, and says so in no response', () => {
    expect(operations.filter((each) => each.deprecated).map((each) => each.operationId)).toEqual([]);
    expect(JSON.stringify(document)).not.toMatch(/"(Deprecation|Sunset)":/);
  });

  it('describes every schema, field, parameter and operation', () => {
    const bare = [
      ...schemas.filter(([, { description = '' }]) => description === '').map(([name]) => name),
      ...fields.filter(({ schema }) => !/\w{3}/.test(schema.description ?? '')).map(({ at }) => at),
      ...parameters.filter(({ parameter }) => !/\w{3}/.test(parameter.description ?? '')).map(({ at }) => at),
      ...operations
        .filter(({ summary, description }) => !summary || !description)
        .map((each) => each.operationId),
    ];
    expect(bare).toEqual([]);
  });

  it('requires every field of a success: there is one kind of nothing, null', () => {
    const missing = fields.filter(({ at, required }) => ofSuccesses.has(at.split('.')[0] ?? '') && !required);
    expect(missing.map(({ at }) => at)).toEqual([]);
  });

  it('allows null in a request only where an edit clears a field, and closes its objects', () => {
    const own = schemas.filter(([name]) => ofRequests.has(name));
    expect(own.length).toBeGreaterThan(20);
    const nullable = own.flatMap(([name, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, field]) => /"null"|"nullable"/.test(JSON.stringify(field)))
        .map(([field]) => `${name}.${field}`),
    );
    expect(nullable.toSorted()).toEqual([
      ...['UpdateCustomer.address', 'UpdateCustomer.branchName'],
      ...['UpdateMember.departmentId', 'UpdateMember.passwordMobile', 'UpdateMember.remark'],
    ]);
    for (const [name, { properties, ...rest }] of own) {
      expect([name, JSON.stringify(rest)]).toEqual([name, expect.not.stringMatching(/"null"|"nullable"/)]);
      if (rest.type === 'object') expect([name, rest.additionalProperties]).toEqual([name, false]);
    }
  });

  it('has no default in a body, since generators make such a field required', () => {
    expect(fields.filter(({ schema }) => schema.default !== undefined).map(({ at }) => at)).toEqual([]);
  });

  it('requires no parameter that has a default', () => {
    const withDefault = parameters.filter(({ parameter }) => parameter.schema?.default !== undefined);
    expect(withDefault.length).toBeGreaterThan(5);
    expect(withDefault.filter(({ parameter }) => parameter.required).map(({ at }) => at)).toEqual([]);
  });

  it('names every enumeration, and shares it between requests and answers', () => {
    const words = schemas.filter(([, { enum: all, type }]) => all && type === 'string');
    expect(words.length).toBeGreaterThan(15);
    // No two names have the same words.
    const lists = words.map(([, { enum: all = [] }]) => [...all].sort().join());
    expect(new Set(lists).size).toBe(lists.length);
    const inline = fields.filter(({ schema }) => {
      const { enum: all = [] } = schema.items ?? schema;
      return all.some((word) => typeof word === 'string') && all.length > 1;
    });
    expect(inline.map(({ at }) => at)).toEqual([]);
    expect(parameters.filter(({ parameter }) => parameter.schema?.enum).map(({ at }) => at)).toEqual([]);
  });

  it('leaves enumerations open in answers and closed in requests', () => {
    const refers = fields.filter(({ schema }) =>
      [schema, schema.items].some((part) =>
        words.has(/"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(part ?? {}))?.[1] ?? ''),
      ),
    );
    expect(refers.length).toBeGreaterThan(20);
    for (const { at, schema } of refers) {
      const isOpen = (schema.items ?? schema)['x-extensible-enum'] !== undefined;
      expect([at, isOpen]).toEqual([at, !ofRequests.has(at.split('.')[0] ?? '')]);
    }
  });

  it('has the items of every array, and short patterns that can stand in source code', () => {
    const wrong: string[] = [];
    const visit = (part: unknown, at: string): void => {
      if (typeof part !== 'object' || part === null) return;
      const { type, items, pattern } = part as Schema;
      if (type === 'array' && items === undefined) wrong.push(`${at}: no items`);
      if (typeof pattern === 'string' && !(isSafe(pattern) && pattern.length <= 50))
        wrong.push(`${at}: ${pattern}`);
      for (const [key, member] of Object.entries(part)) visit(member, `${at}/${key}`);
    };
    visit(document.components.schemas, '');
    visit(document.paths, '');
    expect(wrong).toEqual([]);
  });

  it('writes times as date-time in fields that end in At, and quantities of 64 bits as text, but for counts and limits', () => {
    for (const { at, field, schema } of fields) {
      const isTime = schema.format === 'date-time';
      // CloudEvents names one of these; a maintenance and a scheduled order have their own words.
      const isNamedSo =
        field.endsWith('At') ||
        ['failingSince', 'from', 'until', 'notBefore'].includes(field) ||
        /^(Test)?Event\.time/.test(at);
      expect([at, isTime]).toEqual([at, isNamedSo]);
      // Counts and limits stay far below 2^53, so a number of JSON holds them.
      const isCount = schema.minimum === 0 || field.startsWith('limit');
      if (schema.format === 'int64' && !isCount)
        expect([at, [schema.type].flat()]).toEqual([at, expect.arrayContaining(['string'])]);
    }
  });

  it('gives the examples of parameters at the parameter', () => {
    for (const { at, parameter } of parameters) {
      expect([at, parameter.schema?.example]).toEqual([at, undefined]);
      if (parameter.in === 'path') expect([at, parameter.example]).toEqual([at, expect.anything()]);
    }
  });

  it('shows an example of every success; `npm run check:api` tells whether it fits its schema', () => {
    const bare = operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .filter(([, { content }]) => content?.['application/json'] && !content['application/json'].example)
        .map(([status]) => `${operationId} ${status}`),
    );
    expect(bare).toEqual([]);
  });

  it('says of every operation of an area its scope and its platform operation, and that it needs a key or a token', () => {
    for (const { template, operation } of areas) {
      const { operationId, parameters: own = [] } = operation;
      expect([operationId, operation.summary]).toEqual([operationId, expect.stringMatching(/^[A-Z].{10,}/)]);
      const scope = expect.stringMatching(/Scope: (`[a-z]+(:[a-z]+)?`|none)/);
      expect([operationId, operation.description]).toEqual([operationId, scope]);
      expect([operationId, operation.security]).toEqual([operationId, [{ apiKey: [] }, { bearer: [] }]]);
      const names = own.map(({ name, in: where }) => `${where} ${name.toLowerCase()}`);
      expect([operationId, new Set(names).size]).toEqual([operationId, names.length]);
      // Sessions call the user center, which the interface leaves out.
      if (template.startsWith('/v1/sessions') || OF_GATEWAY.includes(operationId)) continue;
      const upstream = {
        operation: expect.any(String),
        method: expect.stringMatching(/^(GET|POST|PUT|DELETE)$/),
        path: expect.stringMatching(/^\/(order\/api\/order|me\/api)\/v1\//),
      };
      expect([operationId, operation['x-upstream']]).toEqual([operationId, upstream]);
    }
  });

  it('declares for every operation of an area a success and each problem, with an example of each', () => {
    for (const { operation } of areas) {
      const statuses = Object.keys(operation.responses);
      expect([operation.operationId, statuses]).toEqual([
        operation.operationId,
        expect.arrayContaining([expect.stringMatching(/^2/), 'default']),
      ]);
      for (const [status, { content, description }] of Object.entries(operation.responses)) {
        const at = `${operation.operationId} ${status}`;
        expect([at, description]).toEqual([at, expect.stringMatching(/./)]);
        if (/^[23]/.test(status)) continue;
        const examples = Object.entries(content?.['application/problem+json']?.examples ?? {});
        expect([at, examples.length > 0]).toEqual([at, true]);
        for (const [slug, { value }] of examples) {
          expect([at, problemSlugs]).toEqual([at, expect.arrayContaining([slug])]);
          const problem = { code: slug, type: `/problems/${slug}` };
          const own = status === 'default' ? problem : { ...problem, status: Number(status) };
          expect([at, value]).toEqual([at, expect.objectContaining(own)]);
        }
      }
    }
  });

  it('has a problem for each code by which the platform refuses an operation', () => {
    const shown = areas.flatMap(({ operation }) =>
      refusalCodes
        .filter(({ of }) => of.includes(operation['x-upstream']?.operation ?? ''))
        .map((code) => ({ ...code, operation })),
    );
    // Imports, exports and overviews have the codes of a call in their content.
    const own = shown.filter(({ operation }) => !/Job|port|Overview|OrderAssets/.test(operation.operationId));
    expect(own.length).toBeGreaterThan(40);
    for (const { code, slug, status, operation } of own) {
      const { examples = {} } = operation.responses[status]?.content?.['application/problem+json'] ?? {};
      expect([operation.operationId, code, Object.keys(examples)]).toEqual([
        operation.operationId,
        code,
        expect.arrayContaining([slug]),
      ]);
    }
  });

  it('has an Idempotency-Key at every POST, and describes the response to a repeat', () => {
    for (const { method, operation } of areas) {
      const { operationId, parameters: own = [], responses } = operation;
      const isKeyed = own.some(({ name }) => name === 'Idempotency-Key');
      const repeats = method === 'POST' && operation['x-dry-run-of'] === undefined;
      expect([operationId, isKeyed]).toEqual([operationId, repeats]);
      if (!isKeyed) continue;
      expect([operationId, Object.keys(responses)]).toEqual([
        operationId,
        expect.arrayContaining(['409', '422']),
      ]);
      for (const [status, { headers = {} }] of Object.entries(responses))
        if (/^(201|202|204|207|409|422|502|504)$/.test(status))
          expect([operationId, status, Object.keys(headers)]).toEqual([
            operationId,
            status,
            expect.arrayContaining(['Idempotent-Replayed']),
          ]);
    }
  });

  it('has the headers that problems and unchanged content have besides the usual ones', () => {
    const rows = [
      ...[['cancelOrder', '409', 'Location'] as const, ['settleOrder', '409', 'Location'] as const],
      ...(['importMembers', 'retryJob', 'createWebhook'] as const).map(
        (id) => [id, '502', 'Location'] as const,
      ),
      ...(['placeOrder', 'dryRunPlaceOrder'] as const).map((id) => [id, '422', 'Location'] as const),
      ['listEstate', '304', 'X-Estate-Incomplete'] as const,
    ];
    const declared = (id: string, status: string) =>
      Object.keys(
        areas.find(({ operation }) => operation.operationId === id)?.operation.responses[status]?.headers ??
          {},
      );
    for (const [id, status, header] of rows)
      expect([id, status, declared(id, status)]).toEqual([id, status, expect.arrayContaining([header])]);
    for (const { operation } of areas)
      for (const [status, { headers = {} }] of Object.entries(operation.responses))
        if (/^(2|default)/.test(status))
          expect([operation.operationId, status, Object.keys(headers)]).toEqual([
            operation.operationId,
            status,
            expect.arrayContaining(['Server-Timing']),
          ]);
  });

  it('knows the tags of its operations', () => {
    const known = document.tags.map(({ name }) => name);
    for (const { operationId, tags = [] } of operations)
      expect([operationId, tags.filter((tag) => known.includes(tag)).length]).toEqual([operationId, 1]);
  });

  it('states what any request can get once, and what an operation alone has with it', () => {
    const common = JSON.stringify(document.components.responses['Problem']);
    for (const { operationId, responses } of operations) {
      const { default: any, ...own } = responses;
      expect([operationId, any]).toEqual([operationId, { $ref: '#/components/responses/Problem' }]);
      const problems = Object.values(own).flatMap(({ content }) =>
        Object.keys(content?.['application/problem+json']?.examples ?? {}),
      );
      for (const [status, { content }] of Object.entries(own)) {
        const slugs = Object.keys(content?.['application/problem+json']?.examples ?? {});
        if (/^[45]/.test(status) && slugs.length > 0)
          expect([operationId, status, slugs.every((slug) => common.includes(`"${slug}"`))]).toEqual([
            operationId,
            status,
            false,
          ]);
      }
      expect(new Set(problems).size).toBeLessThan(20);
    }
  });
});

const words = new Set(schemas.filter(([, schema]) => schema.enum).map(([name]) => name));

/** True for a pattern without line separators, which end a line of JavaScript, even in a regular expression. */
function isSafe(pattern: string): boolean {
  return !/\u2028|\u2029|\\u202[89]|\n|\r/.test(pattern) && new RegExp(pattern) instanceof RegExp;
}
