import fc from 'fast-check';
import { textOfChanged } from '../support/changed-json.ts';
import { codePoint } from '../support/code-point.ts';
import { type DocumentedRoute, validatorOf } from '../support/contract.ts';
import type { Known } from './generate.ts';
import { bodySchemaOf, toSent, validRequest } from './requests.ts';
import type { Sent } from './stage.ts';

/** What a request is to get: anything but a form's error, a form's error, or anything but a failure. */
type Expected = 'accepted' | 'refused' | 'anything';

export interface Case {
  readonly sent: Sent;
  readonly expected: Expected;
}

interface Kind {
  /** The share of this kind in all cases. */
  readonly weight: number;
  /** Undefined when the operation has no such input. */
  readonly cases: (route: DocumentedRoute, known: Known) => fc.Arbitrary<Case> | undefined;
}

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

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
    weight: 8,
    cases: (route, known) =>
      validRequest(route, known).map((draft) => ({ sent: toSent(draft), expected: 'accepted' })),
  },

  'a body changed': {
    weight: 20,
    cases: (route, known) => {
      const schema = bodySchemaOf(route);
      if (!schema) return undefined;
      const fits = validatorOf(schema);
      return validRequest(route, known).chain((draft) =>
        textOfChanged(fc.constant(draft.body)).map((body) => ({
          sent: { ...toSent(draft), body },
          expected: fits(JSON.parse(body)) ? 'anything' : 'refused',
        })),
      );
    },
  },

  'anything at all': {
    weight: 6,
    cases: (route, known) =>
      fc
        .tuple(
          validRequest(route, known),
          fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), fc.constant(undefined)),
          fc.array(fc.webQueryParameters()),
          fc.dictionary(headerName, headerValue, { maxKeys: 4 }),
          fc.string({ unit: codePoint, maxLength: 80 }),
        )
        .map(([draft, body, query, headers, id]) => {
          const path = Object.fromEntries(
            Object.keys(draft.path).map((name) => [name, id === '' ? 'x' : id.toWellFormed()]),
          );
          const given = bodySchemaOf(route) && body !== undefined ? { body } : {};
          const sent = toSent({ ...draft, path, ...given });
          const search = query.join('&');
          const target =
            search === '' ? sent.target : `${sent.target}${sent.target.includes('?') ? '&' : '?'}${search}`;
          const all = { ...headers, ...sent.headers };
          return { sent: { ...sent, target, headers: all }, expected: 'anything' };
        }),
  },
};
