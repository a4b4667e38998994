import fc from 'fast-check';
import type { DocumentedRoute } from '../support/contract.ts';
import { breakings, type Known } from './generate.ts';
import { bodySchemaOf, type Draft, needsKey, type Parameter, parametersOf } from './requests.ts';
import { toSent, validRequest } from './requests.ts';
import type { Sent } from './stage.ts';

/** What a request is to get: anything but a form's error, anything but a failure, or a refusal that names the place of the error. */
export type Expected =
  | 'accepted'
  | 'anything'
  | {
      /** JSON pointer to the error. */
      readonly place?: string;
      /** Errors below it are expected. */
      readonly deep?: boolean;
      /** Name of the wrong parameter. */
      readonly parameter?: string;
    };

export interface Case {
  readonly why: string;
  readonly sent: Sent;
  readonly expected: Expected;
}

export interface Kind {
  /** The request must not reach the platform. */
  readonly silent: boolean;
  /** Its share of all cases. */
  readonly weight: number;
  /** Undefined when the operation has no such input. */
  readonly cases: (route: DocumentedRoute, known: Known) => fc.Arbitrary<Case> | undefined;
}

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

function caseOf(draft: Draft, why: string, expected: Expected): Case {
  return { why, sent: toSent(draft), expected };
}

const headerName = pick(
  ...['x-request-id', 'accept', 'accept-encoding', 'accept-language', 'if-none-match', 'if-match', 'range'],
  ...['if-modified-since', 'cache-control', 'pragma', 'cookie', 'origin', 'referer', 'x-acting-user'],
  ...['x-session-id', 'idempotency-key', 'prefer', 'x-forwarded-for', 'x-forwarded-host'],
  ...['x-http-method-override', '__proto__', 'constructor', 'content-encoding', 'authorization'],
);
const headerValue = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 100 }).map((text) => text.trim()),
  pick('*', 'gzip', 'identity;q=0', 'bytes=0-1', 'DELETE', '"', 'W/"', '{}', '0', 'null', 'x'.repeat(3_000)),
);

/** What else can be wrong with a request (keys, scopes, methods, types, broken JSON) has tables in test/faults and test/security. */
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
          caseOf({ ...draft, body: value() }, `${rule} at ${place || 'the whole'}`, { place, deep }),
        ),
      );
    },
  },

  'a parameter broken': {
    silent: true,
    weight: 8,
    cases: (route, known) =>
      needsKey(route)
        ? validRequest(route, known).chain((draft) => pick(...brokenParameters(draft)))
        : undefined,
  },

  'anything at all': {
    silent: false,
    weight: 6,
    cases: (route, known) =>
      fc
        .tuple(
          validRequest(route, known),
          fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), fc.constant(undefined)),
          fc.array(fc.webQueryParameters()),
          fc.dictionary(headerName, headerValue, { maxKeys: 4 }),
          fc.string({ unit: 'binary', maxLength: 80 }),
        )
        .map(([draft, body, query, headers, id]) => {
          const path = Object.fromEntries(
            Object.keys(draft.path).map((name) => [name, id === '' ? 'x' : id.toWellFormed()]),
          );
          const given = bodySchemaOf(route) && body !== undefined ? { body } : {};
          const { sent, ...rest } = caseOf({ ...draft, path, ...given }, 'anything', 'anything');
          const search = query.join('&');
          const target =
            search === '' ? sent.target : `${sent.target}${sent.target.includes('?') ? '&' : '?'}${search}`;
          return { ...rest, sent: { ...sent, target, headers: { ...headers, ...sent.headers } } };
        }),
  },
};

/** Paths and queries with one error. */
function brokenParameters(draft: Draft): Case[] {
  const invalid = (parameter: string, why: string, query: Draft['query']): Case =>
    caseOf({ ...draft, query }, `${why} ${parameter}`, { parameter });
  const others = (name: string) => draft.query.filter(([each]) => each !== name);
  const cases = ['unknown', '__proto__', 'page[]'].map((name) =>
    invalid(name, 'unknown', [...draft.query, [name, '1']]),
  );
  for (const parameter of parametersOf(draft.route, 'query')) {
    const { name, required } = parameter;
    const [, value = '1'] = draft.query.find(([each]) => each === name) ?? [];
    cases.push(invalid(name, 'repeated', [...others(name), [name, value], [name, value]]));
    if (required) cases.push(invalid(name, 'missing', others(name)));
    for (const [rule, wrong] of brokenTexts(parameter))
      cases.push(invalid(name, rule, [...others(name), [name, wrong]]));
  }
  for (const parameter of parametersOf(draft.route, 'path'))
    for (const [rule, wrong] of brokenTexts(parameter)) {
      if (wrong === '') continue;
      const { name } = parameter;
      const path = { ...draft.path, [name]: wrong };
      cases.push(caseOf({ ...draft, path }, `${rule} of ${name}`, { parameter: name }));
    }
  return cases;
}

/** Invalid values of a parameter. All of them are text until they are parsed. */
function brokenTexts({ schema = {} }: Parameter): [rule: string, text: string][] {
  if (schema.type === 'boolean') return ['', '1', 'True', 'yes', 'true '].map((text) => ['type', text]);
  if (schema.type === 'integer') {
    const { minimum = 0, maximum = 0 } = schema;
    const spelled = ['', 'x', '1.0', '+1', ' 1', '01', '1e1', '0x1', '-0', '٣', '9'.repeat(400)];
    return [...spelled, String(minimum - 1), String(maximum + 1)].map((text) => ['type', text]);
  }
  return breakings(schema, 'x')
    .filter(({ rule }) => rule !== 'type')
    .map(({ rule, value }): [string, string] => [rule, value() as string])
    .filter(([, text]) => text.isWellFormed() && text.length < 2_000);
}
