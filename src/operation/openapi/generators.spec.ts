import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

/** The needs of client generators, checked in the document and in its copy in OpenAPI 3.0. test/generators runs some generators. */

type Part = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly required?: boolean;
  readonly example?: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<
    Record<string, { content?: Readonly<Record<string, { example?: { secret?: unknown } }>> }>
  >;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Part>> };
}

const read = (name: string) => JSON.parse(readFileSync(`config/${name}`, 'utf8')) as Document;

/** Returns every object in `part` that is no example, with its path. */
function partsOf(part: unknown, at = ''): { readonly at: string; readonly part: Part }[] {
  if (typeof part !== 'object' || part === null) return [];
  const own = Array.isArray(part) ? [] : [{ at, part: part as Part }];
  return [
    ...own,
    ...Object.entries(part)
      .filter(([key]) => key !== 'example' && key !== 'examples')
      .flatMap(([key, each]) => partsOf(each, `${at}/${key}`)),
  ];
}

describe.each(['openapi.json', 'openapi-3.0.json'])('%s for generators', (name) => {
  const document = read(name);
  const { schemas } = document.components;
  const parts = partsOf(document);
  const operations = Object.values(document.paths).flatMap((path) =>
    Object.entries(path).map(([method, operation]) => ({ method, operation })),
  );
  const where = (holds: (part: Part) => boolean) =>
    parts.filter(({ part }) => holds(part)).map(({ at }) => at);

  it('has no null among the words or numbers of an enumeration', () => {
    expect(where(({ enum: all }) => Array.isArray(all) && all.includes(null))).toEqual([]);
  });

  it('says of every integer how long it is, and bounds those of 32 bits within them', () => {
    const isInteger = ({ type }: Part) => [type].flat().includes('integer');
    expect(where((part) => isInteger(part) && !/^int(32|64)$/.test(String(part['format'])))).toEqual([]);
    const isTooWide = ({ format, minimum = 0, maximum = 0 }: Part) =>
      format === 'int32' && ((minimum as number) < -(2 ** 31) || (maximum as number) > 2 ** 31 - 1);
    expect(where(isTooWide)).toEqual([]);
  });

  it('has a pattern beside the format of every id', () => {
    const ids = parts.filter(({ part }) => part['format'] === 'id');
    expect(ids.length).toBeGreaterThan(80);
    expect(ids.filter(({ part }) => typeof part['pattern'] !== 'string').map(({ at }) => at)).toEqual([]);
  });

  it('has an example of every required parameter', () => {
    const bare = operations.flatMap(({ operation: { operationId, parameters = [] } }) =>
      parameters
        .filter(({ required, example }) => required && example === undefined)
        .map((parameter) => `${operationId} ${parameter.name}`),
    );
    expect(bare).toEqual([]);
  });

  it('names no file of this repository', () => {
    const texts = parts.flatMap(({ at, part }) =>
      ['description', 'summary'].flatMap((key) =>
        typeof part[key] === 'string' ? [`${at}: ${part[key]}`] : [],
      ),
    );
    const named = /(?<![\w/.-])(docs|src|test|config|deploy|scripts|sandbox)\/[\w.-]+|\w\.(md|ts)\b/;
    expect(texts.filter((text) => named.test(text))).toEqual([]);
  });

  it('shows a secret where the first response has one', () => {
    const secrets = operations.flatMap(({ operation: { operationId, responses } }) =>
      Object.values(responses)
        .map(({ content }) => content?.['application/json']?.example)
        .filter((example) => example?.secret !== undefined)
        .map((example) => [operationId, example?.secret]),
    );
    const isMadeUp = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32,}=*$/);
    expect(secrets).toEqual([
      ['createWebhook', isMadeUp],
      ['rotateWebhookSecret', isMadeUp],
    ]);
    expect(schemas['WebhookWithSecret']?.['properties']).toMatchObject({ secret: { example: isMadeUp } });
  });

  it('takes a PATCH as application/merge-patch+json too, with the same schema', () => {
    const patches = operations.filter(({ method }) => method === 'patch');
    expect(patches.length).toBeGreaterThan(3);
    for (const { operation } of patches) {
      const { content = {} } = operation.requestBody ?? {};
      // Generators use the first type.
      expect([operation.operationId, Object.keys(content)]).toEqual([
        operation.operationId,
        ['application/json', 'application/merge-patch+json'],
      ]);
      const [json, mergePatch] = Object.values(content);
      expect(mergePatch?.schema).toEqual(json?.schema);
    }
  });

  it('ends every recursion of schemas with an example', () => {
    const refersTo = (part: unknown) =>
      [...JSON.stringify(part).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, to = '']) => to);
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      refersTo(schemas[from]).some((next) => {
        if (next === to) return true;
        if (seen.has(next)) return false;
        return reaches(next, to, seen.add(next));
      });
    const recursive = Object.keys(schemas).filter((schema) => reaches(schema, schema));
    expect(recursive.toSorted()).toEqual(['Merchandise', 'MerchandiseInstance', 'RevokedMerchandise']);
    for (const schema of recursive) {
      const children = expect.objectContaining({
        items: { $ref: `#/components/schemas/${schema}` },
        example: [],
      });
      expect(schemas[schema]?.['properties']).toEqual(expect.objectContaining({ children }));
    }
  });
});

describe('openapi-3.0.json', () => {
  const { schemas } = read('openapi-3.0.json').components;

  it('has no choice of schemas, of which generators make a class without fields', () => {
    const choices = partsOf(schemas).filter(({ part }) => part['anyOf'] ?? part['oneOf']);
    expect(choices.map(({ at }) => at)).toEqual([]);
  });

  it('makes the items of an order subtypes, each of which has the word that tells them apart', () => {
    const $ref = '#/components/schemas/OrderItem';
    const { discriminator, required } = schemas['OrderItem'] ?? {};
    expect([discriminator, required]).toEqual([
      expect.objectContaining({ propertyName: 'orderType' }),
      ['orderType'],
    ]);
    const subtypes = Object.entries(schemas).filter(([, { allOf: all }]) =>
      JSON.stringify(all)?.includes(`"${$ref}"`),
    );
    expect(subtypes.map(([name]) => name).toSorted()).toEqual(['DeleteAsset', 'DeleteProduct', 'NewBuy']);
    for (const [, { allOf: all }] of subtypes) {
      const own = { orderType: { $ref: '#/components/schemas/OrderType' } };
      expect(all).toEqual([{ $ref }, expect.objectContaining({ properties: expect.objectContaining(own) })]);
    }
  });
});

describe('postman-collection.json', () => {
  interface Item {
    readonly name: string;
    readonly item?: readonly Item[];
    readonly request?: object;
    readonly event?: readonly object[];
  }
  const collection = JSON.parse(readFileSync('config/postman-collection.json', 'utf8')) as Item;
  const requests = (collection.item ?? []).flatMap(({ item = [] }) => item);

  it('has a request for every operation that ends', () => {
    const ending = Object.values(read('openapi.json').paths)
      .flatMap((path) => Object.values(path))
      .filter(({ responses }) => !responses['200']?.content?.['text/event-stream']);
    const names = requests.map(({ name }) => name.split(':')[0] ?? '');
    expect(names.toSorted()).toEqual(ending.map(({ operationId }) => operationId).toSorted());
  });

  it('uses no variable before a request has set it', () => {
    const known = new Set(['baseUrl', '$guid']);
    for (const { name, request, event } of requests) {
      const setIn = (listen: string) => [
        ...JSON.stringify(event?.filter((each) => JSON.stringify(each).includes(`"${listen}"`))).matchAll(
          /set\('([^']+)'/g,
        ),
      ];
      for (const [, variable = ''] of setIn('prerequest')) known.add(variable);
      const used = [...JSON.stringify(request).matchAll(/\{\{([^}]+)\}\}/g)].map(
        ([, variable = '']) => variable,
      );
      expect([name, used.filter((variable) => !known.has(variable))]).toEqual([name, []]);
      for (const [, variable = ''] of setIn('test')) known.add(variable);
    }
  });
});
