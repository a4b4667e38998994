import { describe, expect, it } from '@jest/globals';
import { refusalCodes } from '../../../test/support/upstream-codes.ts';
import { type CodeWord, faultOfCode, interfaceCodes } from '../../config/taught-codes.ts';
import type { ProblemException } from '../../problem/problem.exception.ts';
import { TokenFailure } from '../../token/token-failure.ts';
import { ForeignTenant } from '../own-tenants.ts';
import { type Effect, type UpstreamOperation, operationList, operations } from '../operations.ts';
import { type FailureDetails, type FailureKind, UpstreamFailure } from '../upstream-failure.ts';
import { asProblem } from './as-problem.ts';
import { upstreamCodes } from './upstream-codes.ts';

const MESSAGE = 'the words of the platform';

/** One operation for each effect. `operationList` decides for the codes that concern one operation only. */
const byEffect: Readonly<Record<Effect, UpstreamOperation>> = {
  read: operations.listMembers,
  repeatable: operations.editMember,
  once: operations.batchOrder,
};
const effects = ['read', 'repeatable', 'once'] as const;

const problemFor = (
  operation: UpstreamOperation,
  kind: FailureKind,
  details: FailureDetails = {},
  sent = true,
) => asProblem(new UpstreamFailure(operation, kind, sent, details)) as ProblemException;

const refused = (operation: UpstreamOperation, code: string, message: string | undefined = MESSAGE) =>
  problemFor(operation, 'refused', { status: 299, code, message, reason: 'never for callers' });

interface Said {
  readonly slug: string;
  readonly status: number;
  readonly outcome: 'not_processed' | 'processed' | 'unknown';
  readonly retryable: boolean;
}

const said = (slug: string, status: number, outcome: Said['outcome'], retryable: boolean): Said => ({
  slug,
  status,
  outcome,
  retryable,
});

const rows: [code: string, slug: string, status: number, speaks: boolean][] = [
  ...refusalCodes.map(({ code, slug, status, speaks }): (typeof rows)[number] => [
    code,
    slug,
    status,
    speaks,
  ]),
  ['60000', 'upstream-credential-rejected', 502, false],
  // The acting user is an alias here. The end of a session is `session-expired`, which only sessions know.
  ['60005', 'upstream-credential-rejected', 502, false],
];

describe.each(rows)('upstream code %s', (code, slug, status, speaks) => {
  it(`is ${slug} after any operation: nothing happened, and repeating is no use`, () => {
    for (const effect of effects) {
      const problem = refused(byEffect[effect], code);
      const { code: told, outcome, retryable } = problem.body;
      expect({
        effect,
        told,
        outcome,
        retryable,
        status: problem.getStatus(),
        headers: problem.headers,
      }).toEqual({
        effect,
        told: slug,
        outcome: 'not_processed',
        retryable: false,
        status,
        headers: {},
      });
    }
  });

  it(speaks ? 'has the words of the platform as its detail' : 'hides the words of the platform', () => {
    for (const effect of effects) {
      const { body } = refused(byEffect[effect], code);
      expect(body.detail).toBe(speaks ? MESSAGE : undefined);
      expect(JSON.stringify(body).includes(MESSAGE)).toBe(speaks);
      expect(JSON.stringify(body)).not.toContain('never for callers');
    }
  });
});

describe('upstream codes that mean something else after a write', () => {
  const open: [code: string, Readonly<Record<Effect, Said>>][] = [
    [
      '33009',
      {
        read: said('outcome-unknown', 502, 'unknown', false),
        repeatable: said('outcome-unknown', 502, 'unknown', false),
        once: said('outcome-unknown', 502, 'unknown', false),
      },
    ],
    [
      '70001',
      {
        read: said('upstream-credential-rejected', 502, 'not_processed', false),
        repeatable: said('upstream-credential-rejected', 502, 'unknown', false),
        once: said('upstream-credential-rejected', 502, 'unknown', false),
      },
    ],
    ...['500', '80001'].map((code): [string, Readonly<Record<Effect, Said>>] => [
      code,
      {
        read: said('upstream-unavailable', 503, 'not_processed', true),
        repeatable: said('outcome-unknown', 502, 'unknown', true),
        once: said('outcome-unknown', 502, 'unknown', false),
      },
    ]),
    ...['-1', 'E_UNKNOWN'].map((code): [string, Readonly<Record<Effect, Said>>] => [
      code,
      {
        read: said('upstream-unmapped-error', 502, 'not_processed', false),
        repeatable: said('upstream-unmapped-error', 502, 'unknown', false),
        once: said('upstream-unmapped-error', 502, 'unknown', false),
      },
    ]),
  ];

  it.each(open)('%s', (code, expected) => {
    for (const effect of effects) {
      const { slug, body } = refused(byEffect[effect], code);
      const { status, outcome, retryable } = body;
      expect({ effect, slug, status, outcome, retryable }).toEqual({ effect, ...expected[effect] });
      expect(JSON.stringify(body)).not.toContain(MESSAGE);
    }
  });

  it('may be repeated as it is only on the writes whose repeat has the same effect', () => {
    const repeatable = operationList
      .filter(({ effect }) => effect !== 'read')
      .filter((operation) => refused(operation, '500').body.retryable)
      .map(({ name }) => name);
    expect(repeatable.sort()).toEqual([
      'changePrivileges',
      'deleteMember',
      'editMember',
      'resetPassword',
      'updateCustomer',
    ]);
  });

  it('says 503 with a time to come back on a read', () => {
    expect(refused(byEffect.read, '500').headers['retry-after']).toBe('1');
  });
});

describe('a code that the profile of the platform teaches', () => {
  const rejected = said('upstream-rejected', 422, 'not_processed', false);
  const busy = said('upstream-unavailable', 503, 'not_processed', true);
  const credentials = said('upstream-credential-rejected', 502, 'not_processed', false);
  const all = (same: Said) => ({ read: same, repeatable: same, once: same });
  const table: [CodeWord, Readonly<Record<Effect, Said>>][] = [
    ['refused', all(rejected)],
    ['busy', all(busy)],
    ['credentials', all(credentials)],
    [
      'placed-before',
      {
        // Neither operation can have been placed before, so the meaning of the code is unknown there.
        read: said('upstream-unmapped-error', 502, 'not_processed', false),
        repeatable: said('upstream-unmapped-error', 502, 'unknown', false),
        once: said('outcome-unknown', 502, 'unknown', false),
      },
    ],
  ];

  it.each(table)('%s', (taught, expected) => {
    for (const effect of effects) {
      const details = { status: 299, code: '13017', taught, message: MESSAGE };
      const { slug, body } = problemFor(byEffect[effect], 'refused', details);
      const { status, outcome, retryable, upstreamCode } = body;
      expect({ effect, slug, status, outcome, retryable }).toEqual({ effect, ...expected[effect] });
      expect(upstreamCode).toBe(slug === 'upstream-unmapped-error' ? undefined : '13017');
      expect(JSON.stringify(body)).not.toContain(MESSAGE);
    }
  });

  it('is none of the interface, whose codes all have their meaning', () => {
    expect([...upstreamCodes.keys(), '0', '60027'].sort()).toEqual([...interfaceCodes].sort());
    for (const code of interfaceCodes) expect(faultOfCode('order', code, 'refused')).toMatch(/interface/);
  });
});

describe('every kind of failure without a business code', () => {
  const unavailable = said('upstream-unavailable', 503, 'not_processed', true);
  const timeout = said('upstream-timeout', 504, 'not_processed', true);
  const violation = said('upstream-contract-violation', 502, 'not_processed', false);
  const credential = said('upstream-credential-rejected', 502, 'not_processed', false);
  const unknown = (status: number, retryable: boolean) =>
    said('outcome-unknown', status, 'unknown', retryable);
  const openViolation = said('upstream-contract-violation', 502, 'unknown', false);

  type Row = readonly [
    when: string,
    kind: FailureKind,
    sent: boolean,
    expected: Readonly<Record<Effect, Said>>,
    details?: FailureDetails,
  ];
  const all = (same: Said) => ({ read: same, repeatable: same, once: same });
  const late = { ...all(unavailable), read: timeout };
  const writes = (read: Said, status: number) => ({
    read,
    repeatable: unknown(status, true),
    once: unknown(status, false),
  });
  const processed = said('outcome-unknown', 502, 'processed', false);
  const nonconforming = { ...all(openViolation), read: violation };

  const table: Row[] = [
    ['no connection', 'unreachable', false, all(unavailable)],
    ['a process that was busy for too long', 'delayed', false, all(unavailable)],
    ['a group that is shut', 'circuit-open', false, all(unavailable)],
    ['no connection in time', 'connect-timeout', false, late],
    ['the deadline, before it was sent', 'timeout', false, late],
    ['the deadline, after it was sent', 'timeout', true, writes(timeout, 504)],
    ['a lost connection', 'lost', true, writes(unavailable, 502)],
    ['an unreadable response', 'unreadable', true, writes(violation, 502), { status: 200 }],
    ['a response against the interface', 'nonconforming', true, nonconforming, { status: 200 }],
    ['an id that cannot be in a path', 'nonconforming', false, all(violation)],
    ['a response that leaves results out', 'incomplete', true, all(processed), { status: 200, matched: [] }],
    ['HTTP 401', 'unauthorized', true, writes(credential, 502), { status: 401 }],
    ['HTTP 503', 'unavailable', true, writes(unavailable, 502), { status: 503, retryAfter: 7 }],
    ['HTTP 504', 'unavailable', true, writes(timeout, 502), { status: 504 }],
  ];

  // The parameter has a default, because jest passes its callback to a parameter that a row does not have.
  it.each(table)('%s', (_, kind, sent, expected, details = {}) => {
    for (const effect of effects) {
      const { slug, body } = problemFor(byEffect[effect], kind, details, sent);
      const { status, outcome, retryable } = body;
      expect({ effect, slug, status, outcome, retryable }).toEqual({ effect, ...expected[effect] });
    }
  });

  it('passes on when upstream wants to be asked again', () => {
    const problem = problemFor(byEffect.read, 'unavailable', { status: 503, retryAfter: 7 });
    expect(problem.headers['retry-after']).toBe('7');
  });

  it('gives a time to come back with every 503', () => {
    const waits = table
      .flatMap(([, kind, sent, , details]) =>
        effects.map((effect) => problemFor(byEffect[effect], kind, details, sent)),
      )
      .filter((problem) => problem.getStatus() === 503)
      .map(({ headers }) => Number(headers['retry-after']));
    expect(waits.length).toBeGreaterThan(0);
    expect(waits.every((seconds) => seconds > 0)).toBe(true);
  });
});

describe('the member `upstream`', () => {
  it('names operation, code and HTTP status where upstream responded', () => {
    const { upstream } = refused(operations.editMember, '60002').body;
    expect(upstream).toEqual({ operation: 'editMember', code: '60002', status: 299 });
  });

  it('has no code where upstream gave none', () => {
    const { upstream } = problemFor(operations.listAssets, 'unavailable', { status: 503 }).body;
    expect(JSON.parse(JSON.stringify(upstream))).toEqual({ operation: 'listAssets', status: 503 });
  });

  it('is absent where upstream did not respond', () => {
    expect(problemFor(operations.listAssets, 'lost').body.upstream).toBeUndefined();
  });
});

describe('the pointer of a refusal', () => {
  const pointers: [code: string, operation: UpstreamOperation, pointer: string][] = [
    ['40001', operations.addMembers, '/members'],
    ['60013', operations.addMembers, '/members'],
    ['30002', operations.editMember, '/name'],
    ['30003', operations.editMember, '/remark'],
    ['40001', operations.resetPassword, '/password'],
    ['50003', operations.resetPassword, '/password'],
  ];

  it.each(pointers.map(([code, { name }, pointer]) => ({ code, name, pointer })))(
    'of $code to $name is $pointer',
    ({ code, name, pointer }) => {
      expect(refused(operations[name], code).body.errors).toEqual([{ pointer, detail: MESSAGE }]);
    },
  );

  it('is a parameter where the request has the field in its query', () => {
    expect(refused(operations.listMembers, '40009').body.errors).toEqual([
      { parameter: 'departmentId', detail: MESSAGE },
    ]);
  });

  it.each([
    ['10003', 'resetPassword'],
    ['40001', 'deleteMember'],
    ['30002', 'listMembers'],
    ['60013', 'bindCustomer'],
  ] as const)('of %s to %s is absent: the request has no such field', (code, name) => {
    expect(refused(operations[name], code).body.errors).toBeUndefined();
  });

  it.each([undefined, ''])('says something even where upstream says nothing (%j)', (message) => {
    const { errors, detail } = problemFor(operations.editMember, 'refused', {
      status: 299,
      code: '30002',
      message,
    }).body;
    expect(errors?.[0]?.detail).toMatch(/\w/);
    expect(detail).not.toBe('');
  });

  it('is absent where the code speaks of no field', () => {
    expect(refused(operations.batchOrder, '13004').body.errors).toBeUndefined();
    expect(refused(operations.editMember, '60002').body.errors).toBeUndefined();
  });
});

it('keeps the failure as its cause, for the log', () => {
  const failure = new UpstreamFailure(operations.listAssets, 'lost', true);
  expect((asProblem(failure) as ProblemException).cause).toBe(failure);
});

describe('any other failure on the way to the platform', () => {
  it('a failed call becomes its problem', () => {
    const failure = new UpstreamFailure(operations.batchOrder, 'lost', true);
    expect(asProblem(failure)).toMatchObject({ slug: 'outcome-unknown', cause: failure });
  });

  it('refused credentials are 502, and nothing happened', () => {
    const failure = new TokenFailure('rejected', 'invalid_client');
    expect(asProblem(failure)).toMatchObject({
      slug: 'upstream-credential-rejected',
      body: { status: 502, outcome: 'not_processed', retryable: false },
      cause: failure,
    });
  });

  it('a token endpoint that is down is 503 with the time to come back, and nothing happened', () => {
    expect(asProblem(new TokenFailure('unavailable', 'no_answer', { retryAfter: 30 }))).toMatchObject({
      slug: 'dependency-unavailable',
      body: { status: 503, outcome: 'not_processed', retryable: true },
      headers: { 'retry-after': '30' },
    });
    expect(asProblem(new TokenFailure('unavailable', 'no_answer'))).toMatchObject({
      headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
    });
  });

  it('an enterprise or channel of another tenant is 403, and is not named', () => {
    const problem = asProblem(new ForeignTenant('names ent-9'));
    expect(problem).toMatchObject({ slug: 'forbidden' });
    expect(JSON.stringify((problem as { body: object }).body)).not.toContain('ent-9');
  });

  it('everything else passes as it is', () => {
    const error = new Error('a bug');
    expect(asProblem(error)).toBe(error);
  });
});
