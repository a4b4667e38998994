import fc from 'fast-check';
import { type DocumentedRoute, document } from '../support/contract.ts';
import { breakings, damaged, type Known } from './generate.ts';
import {
  bodySchemaOf,
  type Draft,
  needsKey,
  type Parameter,
  parametersOf,
  toSent,
  validRequest,
  type Who,
  takesFile,
} from './requests.ts';
import type { Sent } from './stage.ts';

/** The expected response. */
export interface Expected {
  readonly status: readonly number[];
  readonly code?: readonly string[];
  /** JSON pointer to the error. */
  readonly place?: string;
  /** Errors below it are expected. */
  readonly deep?: boolean;
  /** Name of the wrong parameter or header. */
  readonly parameter?: string;
  /** Methods that `Allow` must name. */
  readonly allow?: readonly string[];
}

/**
 * One request and its expected response: `accepted` by the gateway, with any response of the platform, or `anything` except a failure.
 */
export interface Case {
  readonly why: string;
  readonly who: Who;
  readonly sent: Sent;
  readonly expected: Expected | 'accepted' | 'anything';
}

export interface Kind {
  /** The request must not reach the platform. */
  readonly silent: boolean;
  /** Its share of all cases. */
  readonly weight: number;
  /** Undefined when the operation has no such input. */
  readonly cases: (route: DocumentedRoute, known: Known) => fc.Arbitrary<Case> | undefined;
}

const INVALID = { status: [400], code: ['validation-failed'] } as const;
const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

function caseOf(draft: Draft, why: string, expected: Case['expected'], raw?: string | Buffer): Case {
  return { why, who: draft.who, sent: toSent(draft, raw), expected };
}

/** The same header set differs in each case, so a change replaces what is there. */
function withHeaders(draft: Draft, headers: Record<string, string>): Draft {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const rest = Object.entries(draft.headers).filter(([name]) => !names.has(name.toLowerCase()));
  return { ...draft, headers: { ...Object.fromEntries(rest), ...headers } };
}

/** Methods in use and others. HEAD goes with GET. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH'];

function matcherOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`);
}

export const kinds: Readonly<Record<string, Kind>> = {
  valid: {
    silent: false,
    weight: 8,
    cases: (route, known) => validRequest(route, known).map((draft) => caseOf(draft, 'valid', 'accepted')),
  },

  'a rule of the body broken': {
    silent: true,
    weight: 20,
    cases: (route, known) => {
      const schema = bodySchemaOf(route);
      if (!schema) return undefined;
      return validRequest(route, known).chain((draft) =>
        pick(...breakings(schema, draft.body)).map(({ rule, place, value, deep = false }) =>
          caseOf({ ...draft, body: value() }, `${rule} at ${place || 'the whole'}`, {
            ...INVALID,
            place,
            deep,
          }),
        ),
      );
    },
  },

  'a body that is no JSON object': {
    silent: true,
    weight: 4,
    cases: (route, known) => {
      if (!bodySchemaOf(route)) return undefined;
      return validRequest(route, known).chain((draft) =>
        pick(...damaged(JSON.stringify(draft.body))).map(({ rule, place, body }) =>
          caseOf(draft, rule, { ...INVALID, place }, body),
        ),
      );
    },
  },

  'a body where there is none': {
    silent: true,
    weight: 1,
    cases: (route, known) => {
      // On a GET it has no meaning (RFC 9110, section 9.3.1), and is ignored.
      if (bodySchemaOf(route) || takesFile(route) || route.method === 'GET') return undefined;
      return fc
        .tuple(validRequest(route, known), pick<unknown>({}, [], 'x', 0, { page: 1 }))
        .map(([draft, body]) => caseOf({ ...draft, body }, 'a body', { ...INVALID, place: '' }));
    },
  },

  'a parameter broken': {
    silent: true,
    weight: 8,
    cases: (route, known) => {
      if (!needsKey(route)) return undefined;
      return validRequest(route, known).chain((draft) => pick(...brokenParameters(draft)));
    },
  },

  'a header broken': {
    silent: true,
    weight: 4,
    cases: (route, known) => {
      const headers = new Set(parametersOf(route, 'header').map(({ name }) => name));
      const odd = [
        ...(headers.has('Idempotency-Key') ? brokenKeys : []),
        ...(headers.has('X-Acting-User') ? brokenUsers : []),
        ...(headers.has('X-Session-Id') ? brokenSessions : []),
      ];
      if (odd.length === 0) return undefined;
      return fc
        .tuple(validRequest(route, known), pick(...odd))
        .map(([draft, { headers: changed, expected }]) =>
          caseOf(withHeaders(draft, changed), `header ${Object.keys(changed).join()}`, expected),
        );
    },
  },

  'a required header missing': {
    silent: true,
    weight: 1,
    cases: (route, known) => {
      const required = parametersOf(route, 'header').filter((each) => each.required);
      if (required.length === 0) return undefined;
      return validRequest(route, known).chain((draft) =>
        pick(...required).map(({ name }) => {
          const { [name]: _, ...rest } = draft.headers;
          return caseOf({ ...draft, headers: rest }, `without ${name}`, { status: [400, 401] });
        }),
      );
    },
  },

  'a media type that is not JSON': {
    silent: true,
    weight: 2,
    cases: (route, known) => {
      if (!bodySchemaOf(route)) return undefined;
      return fc.tuple(validRequest(route, known), pick(...WRONG_TYPES)).map(([draft, headers]) =>
        caseOf(withHeaders(draft, headers), JSON.stringify(headers), {
          status: [415],
          code: ['unsupported-media-type'],
        }),
      );
    },
  },

  'nothing acceptable': {
    silent: true,
    weight: 1,
    cases: (route, known) => {
      if (!needsKey(route)) return undefined;
      const accept = pick(
        'image/png',
        'application/xml',
        'application/json;q=0',
        'text/plain, image/*',
        '*/*;q=0.0',
      );
      return fc.tuple(validRequest(route, known), accept).map(([draft, each]) =>
        caseOf(withHeaders(draft, { Accept: each }), `Accept: ${each}`, {
          status: [406],
          code: ['not-acceptable'],
        }),
      );
    },
  },

  unauthenticated: {
    silent: true,
    weight: 3,
    cases: (route, known) => {
      if (!needsKey(route)) return undefined;
      const key = fc.string({ unit: 'grapheme-ascii', maxLength: 60 }).map((text) => text.trim());
      return fc.tuple(validRequest(route, known), key, fc.nat(6)).map(([draft, text, way]) => {
        const ways: Draft[] = [
          draft,
          withHeaders(draft, { 'X-Api-Key': text }),
          withHeaders(draft, { Authorization: `Bearer ${text}` }),
          withHeaders(draft, { Authorization: `Basic ${Buffer.from(text).toString('base64')}` }),
          withHeaders(draft, { Cookie: `X-Api-Key=${encodeURIComponent(text)}` }),
          withHeaders(draft, { 'X-Forwarded-User': 'fleet', 'X-Remote-User': 'fleet' }),
          { ...draft, query: [...draft.query, ['X-Api-Key', text]] },
        ];
        return caseOf({ ...(ways[way] ?? draft), who: null }, 'no key that counts', {
          status: [401],
          code: ['unauthenticated'],
        });
      });
    },
  },

  'without the scope': {
    silent: true,
    weight: 1,
    cases: (route, known) => {
      // What a key may do is told to every known caller.
      if (!needsKey(route) || route.operation.operationId === 'getCaller') return undefined;
      return validRequest(route, known).map((draft) =>
        caseOf({ ...draft, who: 'powerless' }, 'no scope', { status: [403], code: ['forbidden'] }),
      );
    },
  },

  'what is not its own': {
    silent: true,
    weight: 3,
    cases: (route, known) => {
      const names = JSON.stringify([route.template, route.operation.parameters, bodySchemaOf(route)]);
      if (
        !needsKey(route) ||
        !/enterpriseGlobalId|channelCode|X-Acting-User|PlaceOrder|BindCustomer/.test(names)
      )
        return undefined;
      // Without a name the list is that of the caller's own enterprises, of which there are none.
      const isNamed = ({ query }: Draft) =>
        route.operation.operationId !== 'listJobs' || query.some(([name]) => name === 'enterpriseGlobalId');
      return validRequest(route, known)
        .filter(isNamed)
        .map((draft) =>
          caseOf({ ...draft, who: 'stranger' }, 'nothing granted', { status: [403], code: ['forbidden'] }),
        );
    },
  },

  'a method that the path does not have': {
    silent: true,
    weight: 1,
    cases: (route, known) => {
      // The path of an export is that of a member too, whose id is `export`.
      const allowed = Object.entries(document.paths)
        .filter(([template]) => matcherOf(template).test(route.template))
        .flatMap(([, methods]) => Object.keys(methods).map((method) => method.toUpperCase()));
      const others = METHODS.filter((method) => !allowed.includes(method === 'HEAD' ? 'GET' : method));
      return fc.tuple(validRequest(route, known), pick(...others)).map(([draft, method]) => {
        const { sent, ...rest } = caseOf(draft, method, {
          status: [405],
          code: ['method-not-allowed'],
          allow: allowed,
        });
        // On a GET a body is an error of its own.
        const { body, ...bare } = sent;
        return { ...rest, sent: { ...bare, method, ...(method !== 'GET' && method !== 'HEAD' && { body }) } };
      });
    },
  },

  'a path that is none': {
    silent: true,
    weight: 1,
    cases: (route, known) => {
      const spoil: ((path: string) => string)[] = [
        (path) => `${path}/`,
        (path) => `/${path}`,
        (path) => path.replace('/v1/', '/V1/'),
        (path) => path.replace('/v1/', '/v2/'),
        (path) => path.replace('/v1/', '/v1//'),
        (path) => path.replace('/v1/', '/v1/./'),
        (path) => path.replace('/v1/', '/v1;x/'),
        (path) => `${path};x=1`,
        (path) => `${path}/%2e%2e/x`,
        (path) => `${path}%00`,
        (path) => `${path}%zz`,
      ];
      // An id at the end includes an appended suffix.
      if (!route.template.startsWith('/v1/') || route.template.endsWith('}')) return undefined;
      return fc.tuple(validRequest(route, known), pick(...spoil)).map(([draft, change]) => {
        const found = caseOf(draft, 'spoilt path', { status: [400, 404, 405] });
        const [path = '', ...query] = found.sent.target.split('?');
        return { ...found, sent: { ...found.sent, target: [change(path), ...query].join('?') } };
      });
    },
  },

  'a URL that is too long': {
    silent: true,
    weight: 0.3,
    cases: (route, known) =>
      fc.tuple(validRequest(route, known), fc.integer({ min: 8_200, max: 12_000 })).map(([draft, length]) =>
        caseOf({ ...draft, query: [...draft.query, ['x', 'x'.repeat(length)]] }, 'too long', {
          status: [414],
          code: ['uri-too-long'],
        }),
      ),
  },

  'anything at all': {
    silent: false,
    weight: 6,
    cases: (route, known) =>
      fc
        .tuple(
          validRequest(route, known),
          fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), fc.constant(undefined)),
          fc.array(fc.tuple(fc.webQueryParameters(), fc.string())),
          fc.dictionary(headerName, headerValue, { maxKeys: 4 }),
          fc.string({ unit: 'binary', maxLength: 80 }),
        )
        .map(([draft, body, query, headers, id]) => {
          const ids = Object.fromEntries(
            Object.keys(draft.path).map((name) => [name, id === '' ? 'x' : id.toWellFormed()]),
          );
          const given = bodySchemaOf(route) && body !== undefined ? { body } : {};
          const found = caseOf({ ...draft, path: ids, ...given }, 'anything', 'anything');
          const search = query.map(([text]) => text).join('&');
          const target =
            search === ''
              ? found.sent.target
              : `${found.sent.target}${found.sent.target.includes('?') ? '&' : '?'}${search}`;
          return {
            ...found,
            sent: { ...found.sent, target, headers: { ...headers, ...found.sent.headers } },
          };
        }),
  },
};

const headerName = pick(
  ...[
    'x-request-id',
    'accept',
    'accept-encoding',
    'accept-language',
    'if-none-match',
    'if-match',
    'if-modified-since',
    'range',
  ],
  ...[
    'cache-control',
    'pragma',
    'cookie',
    'origin',
    'referer',
    'x-acting-user',
    'x-session-id',
    'idempotency-key',
    'prefer',
  ],
  ...[
    'x-forwarded-for',
    'x-forwarded-host',
    'x-http-method-override',
    '__proto__',
    'constructor',
    'content-encoding',
    'authorization',
  ],
);
const headerValue = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 100 }).map((text) => text.trim()),
  pick('*', 'gzip', 'identity;q=0', 'bytes=0-1', 'DELETE', '"', 'W/"', '{}', '0', 'null', 'x'.repeat(3_000)),
);

const key = (value: string) => ({
  headers: { 'Idempotency-Key': value },
  expected: { ...INVALID, parameter: 'Idempotency-Key' } as Expected,
});
const brokenKeys = [
  '',
  'short',
  'x'.repeat(256),
  'a key with spaces 1234',
  '"unfinished-1234567890',
  `${'k'.repeat(20)}é`,
  "'quoted-otherwise-123'",
].map(key);

const brokenUsers: { headers: Record<string, string>; expected: Expected }[] = [
  ...['', 'a b', 'x'.repeat(65), 'a/b', '*', 'ä'].map((alias) => ({
    headers: { 'X-Acting-User': alias },
    expected: { ...INVALID, parameter: 'X-Acting-User' },
  })),
  ...['nobody', '__proto__', 'constructor', 'toString', 'Default'].map((alias) => ({
    headers: { 'X-Acting-User': alias },
    expected: { status: [403], code: ['forbidden'] },
  })),
  {
    headers: { 'X-Acting-User': 'default', 'X-Session-Id': 'A'.repeat(22) },
    expected: { ...INVALID, parameter: 'X-Acting-User' },
  },
];

const brokenSessions: { headers: Record<string, string>; expected: Expected }[] = [
  'x',
  'A'.repeat(22),
  'A'.repeat(3_000),
  '../x',
  '*',
  'A'.repeat(21) + 'é',
].map((id) => ({
  headers: { 'X-Session-Id': id },
  // A user beside it is a contradiction.
  expected: { status: [400, 401], code: ['session-expired', 'validation-failed'] },
}));

const WRONG_TYPES: readonly Record<string, string>[] = [
  ...[
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
  ].map((type) => ({ 'Content-Type': type })),
  ...[
    'application/json;charset=gbk',
    'application/json; charset=utf-16',
    'application/json\t;',
    'application/json; x=y',
    'application/json, text/plain',
    'json',
    '',
  ].map((type) => ({ 'Content-Type': type })),
  ...['gzip', 'br', 'x', 'identity, gzip'].map((coding) => ({ 'Content-Encoding': coding })),
];

/** Paths and queries with one error. */
function brokenParameters(draft: Draft): Case[] {
  const invalid = (parameter: string, why: string, query: Draft['query']): Case =>
    caseOf({ ...draft, query }, `${why} ${parameter}`, { ...INVALID, parameter });
  const declared = parametersOf(draft.route, 'query');
  const others = (name: string) => draft.query.filter(([each]) => each !== name);
  const cases = ['unknown', '__proto__', 'constructor', 'X-Api-Key', 'page[]', 'page[$gt]', 'password'].map(
    (name) => invalid(name, 'unknown', [...draft.query, [name, '1']]),
  );
  for (const parameter of declared) {
    const { name, required } = parameter;
    const [, value = '1'] = draft.query.find(([each]) => each === name) ?? [];
    cases.push(invalid(name, 'repeated', [...others(name), [name, value], [name, value]]));
    if (required) cases.push(invalid(name, 'missing', others(name)));
    for (const [rule, wrong] of brokenTexts(parameter))
      cases.push(invalid(name, rule, [...others(name), [name, wrong]]));
  }
  for (const parameter of parametersOf(draft.route, 'path')) {
    for (const [rule, wrong] of brokenTexts(parameter)) {
      if (wrong === '') continue;
      const path = { ...draft.path, [parameter.name]: wrong };
      cases.push(
        caseOf({ ...draft, path }, `${rule} of ${parameter.name}`, { ...INVALID, parameter: parameter.name }),
      );
    }
  }
  return cases;
}

/** Invalid values of a parameter. All of them are text until they are parsed. */
function brokenTexts({ schema = {} }: Parameter): [rule: string, text: string][] {
  if (schema.type === 'boolean') return ['', '1', 'True', 'yes', 'true '].map((text) => ['type', text]);
  if (schema.type === 'integer') {
    const { minimum = 0, maximum = 0 } = schema;
    const texts = [
      '',
      'x',
      '1.0',
      '+1',
      ' 1',
      '1 ',
      '01',
      '1e1',
      '0x1',
      '-0',
      '٣',
      String(minimum - 1),
      String(maximum + 1),
      '9'.repeat(400),
    ];
    return texts.map((text) => ['type', text]);
  }
  return breakings(schema, 'x')
    .filter(({ rule }) => rule !== 'type')
    .map(({ rule, value }): [string, string] => [rule, value() as string])
    .filter(([, text]) => text.isWellFormed() && text.length < 2_000);
}
