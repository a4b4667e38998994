/**
 * Converts the document to a collection of Postman, version 2.1.0. Each operation is a request with its first example, which works against
 * the demo. A run of the whole collection works too: a variable passes each value that a link of the document names from a response to a
 * request.
 */

export interface DescribedParameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
}
interface Link {
  readonly operationId: string;
  readonly parameters: Readonly<Record<string, string>>;
}
interface RequestBody {
  readonly content: Readonly<
    Record<string, { readonly examples?: Readonly<Record<string, { readonly value: object | string }>> }>
  >;
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly DescribedParameter[];
  readonly requestBody?: RequestBody | undefined;
  /** The id of the write that it tries. */
  readonly 'x-dry-run-of'?: string;
  readonly responses: Readonly<
    Record<string, { readonly content?: object; readonly links?: Readonly<Record<string, Link>> }>
  >;
}
export interface PostmanSource {
  readonly info: { readonly title: string; readonly version: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}
/** A field of a response that is a parameter of another operation. */
interface Handover {
  readonly source: Route;
  /** The keys that lead to the field. */
  readonly keys: readonly string[];
  readonly variable: string;
}

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';
const DESCRIPTION = `Set the variables \`baseUrl\` and \`apiKey\`. Every request works against the demo, also all of them in a run. Streams of events are
not in it, because they have no end.`;
/** The order of methods: a run reads before it changes, and deletes at the end. */
const ORDER = ['get', 'post', 'put', 'patch', 'delete'];

export function postmanCollection(document: PostmanSource): object {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const bodies = new Map(all.map(({ operation }) => [operation.operationId, operation.requestBody]));
  const routes = all
    // A dry run has the body of its write.
    .map(({ operation, ...route }) => ({
      ...route,
      operation: {
        ...operation,
        requestBody: bodies.get(operation['x-dry-run-of'] ?? operation.operationId),
      },
    }))
    .filter(({ operation }) => !JSON.stringify(operation.responses).includes('"text/event-stream"'));
  const handovers = new Map(routes.map((route) => [route, handoversTo(route, routes)]));
  return {
    info: {
      name: `${document.info.title} ${document.info.version}`,
      description: DESCRIPTION,
      schema: SCHEMA,
    },
    auth: {
      type: 'apikey',
      apikey: Object.entries({ key: 'X-Api-Key', value: '{{apiKey}}', in: 'header' }).map(([key, value]) => ({
        ...{ key, value, type: 'string' },
      })),
    },
    variable: Object.entries({ baseUrl: 'http://127.0.0.1:3000', apiKey: '' }).map(([key, value]) => ({
      ...{ key, value, type: 'string' },
    })),
    item: document.tags.map(({ name, description }) => ({
      name,
      description,
      item: inOrder(
        routes.filter(({ operation }) => operation.tags?.[0] === name),
        handovers,
      ).map((route) => itemOf(route, handovers)),
    })),
  };
}

type Handovers = ReadonlyMap<Route, ReadonlyMap<string, Handover>>;

/** Returns the handovers by the location of the parameter. An operation that finds the value precedes one that makes something. */
function handoversTo(route: Route, routes: readonly Route[]): ReadonlyMap<string, Handover> {
  const all = routes.flatMap((source) =>
    Object.values(source.operation.responses).flatMap(({ links = {} }) =>
      Object.values(links)
        .filter(({ operationId }) => operationId === route.operation.operationId)
        .flatMap(({ parameters }) => Object.entries(parameters))
        .map(([place, pointer]) => {
          const keys = pointer.replace('$response.body#/', '').split('/');
          return { place, source, keys, variable: `${source.operation.operationId}.${keys.at(-1)}` };
        }),
    ),
  );
  const found = new Map<string, Handover>();
  for (const each of all)
    if (!found.has(each.place) || each.source.method === 'get') found.set(each.place, each);
  return found;
}

function inOrder(routes: readonly Route[], handovers: Handovers): readonly Route[] {
  const placed = new Set<Route>();
  const place = (route: Route): void => {
    for (const { source } of handovers.get(route)?.values() ?? []) if (!placed.has(source)) place(source);
    placed.add(route);
  };
  for (const method of ORDER) for (const route of routes) if (route.method === method) place(route);
  return [...placed];
}

function itemOf(route: Route, handovers: Handovers): object {
  const { method, path, operation } = route;
  const { operationId, summary, description = '', parameters = [], requestBody, security } = operation;
  const isSource = [...handovers.values()].some((each) =>
    [...each.values()].some(({ source }) => source === route),
  );
  const valueOf = ({ in: place, name, example = '' }: DescribedParameter) => {
    // With the key of the last run, the gateway would repeat the result of that run, which has removed its objects since.
    if (name === 'Idempotency-Key' && isSource) return '{{$guid}}';
    const handover = handovers.get(route)?.get(`${place}.${name}`);
    return handover ? `{{${handover.variable}}}` : String(example);
  };
  const isSent = ({ required, name, example }: DescribedParameter) =>
    required === true || (name === 'Idempotency-Key' && (isSource || example !== undefined));
  const entriesOf = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map((parameter) => ({
        key: parameter.name,
        value: valueOf(parameter),
        description: parameter.description,
        ...(!isSent(parameter) && { disabled: true }),
      }));
  const [type, { examples = {} }] = Object.entries(requestBody?.content ?? {})[0] ?? ['', {}];
  const [body] = Object.values(examples);
  const query = entriesOf('query');
  const sent = query.filter((each) => !('disabled' in each)).map(({ key, value }) => `${key}=${value}`);
  const raw = `{{baseUrl}}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
  return {
    name: `${operationId}: ${summary}`,
    event: eventsOf(route, handovers, body?.value),
    request: {
      method: method.toUpperCase(),
      description,
      ...((security ?? []).length === 0 && { auth: { type: 'noauth' } }),
      header: [...(body ? [{ key: 'Content-Type', value: type }] : []), ...entriesOf('header')],
      url: {
        raw: sent.length > 0 ? `${raw}?${sent.join('&')}` : raw,
        host: ['{{baseUrl}}'],
        path: path
          .slice(1)
          .replaceAll(/\{(\w+)\}/g, ':$1')
          .split('/'),
        query,
        variable: entriesOf('path'),
      },
      ...(body && { body: bodyOf(body.value) }),
    },
    response: [],
  };
}

/** The times of a window. They are in the past in the example, and in the future in the request. */
const WINDOW = ['from', 'until'];
const MOVE_WINDOW = [
  'const ahead = Date.now() + 6 * 24 * 3_600_000;',
  "pm.variables.set('from', new Date(ahead).toISOString());",
  "pm.variables.set('until', new Date(ahead + 3_600_000).toISOString());",
];

function bodyOf(value: object | string): object {
  if (typeof value === 'string') return { mode: 'raw', raw: value };
  const isWindow = WINDOW.every((field) => field in value);
  const moved = isWindow && Object.fromEntries(WINDOW.map((field) => [field, `{{${field}}}`]));
  const raw = JSON.stringify({ ...value, ...moved }, null, 2);
  return { mode: 'raw', raw, options: { raw: { language: 'json' } } };
}

/**
 * Returns the scripts around a request. They check its success, and store the parts of its response that later requests need in variables.
 */
function eventsOf(route: Route, handovers: Handovers, body: object | string | undefined): object[] {
  const { operationId, responses } = route.operation;
  const statuses = Object.keys(responses).filter((status) => status.startsWith('2'));
  const given = new Map(
    [...handovers.values()]
      .flatMap((each) => [...each.values()])
      .filter(({ source }) => source === route)
      .map(({ variable, keys }) => [variable, keys]),
  );
  const test = [
    `pm.test('${operationId} succeeds', () => pm.expect(pm.response.code).to.be.oneOf([${statuses.join(', ')}]));`,
    ...[...given].map(
      ([variable, keys]) =>
        `pm.collectionVariables.set('${variable}', pm.response.json()${keys.map((key) => `?.['${key}']`).join('')});`,
    ),
  ];
  const events = [{ listen: 'test', exec: test }];
  const isWindow = typeof body === 'object' && WINDOW.every((field) => field in body);
  if (isWindow) events.unshift({ listen: 'prerequest', exec: MOVE_WINDOW });
  return events.map(({ listen, exec }) => ({ listen, script: { type: 'text/javascript', exec } }));
}
