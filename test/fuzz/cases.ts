import { createHash } from 'node:crypto';
import {
  type Answer,
  assertDeclared,
  type DocumentedRoute,
  type Response,
  responseFor,
  routes,
} from '../support/contract.ts';
import type { Known } from './generate.ts';
import { type Case, kinds } from './kinds.ts';
import { leaksIn } from './leaks.ts';
import { search } from './search.ts';
import { bodyOf, type FuzzStage, type Reply, sentOf } from './stage.ts';

/** Single requests and their responses: what the document and the contract promise for each. */

interface Exchange {
  readonly stage: FuzzStage;
  readonly asked: Case;
  readonly answer: Answer;
  readonly body: Reply['body'];
}

interface Fault {
  readonly pointer?: string;
  readonly parameter?: string;
}

/** Headers that a response of every operation may have (docs/api.md, section 1, and HTTP itself). */
const COMMON_HEADERS =
  'content-type content-length transfer-encoding date connection keep-alive x-request-id cache-control server-timing retry-after allow vary x-accel-buffering ratelimit ratelimit-policy www-authenticate accept-patch'.split(
    ' ',
  );

/** Problems about the form of a request: a caller that follows the document may not get one. */
const OF_FORM = new Set<unknown>([
  ...['validation-failed', 'unauthenticated', 'user-required', 'forbidden', 'not-found'],
  ...['method-not-allowed', 'not-acceptable', 'payload-too-large', 'uri-too-long'],
  ...['unsupported-media-type', 'headers-too-large'],
]);

const REQUEST_ID = /^[A-Za-z0-9_.:-]{1,64}$/;

/** Each returns a description of the error, or nothing. */
const checks: Readonly<Record<string, (exchange: Exchange) => string | undefined>> = {
  'no failure of the gateway': ({ answer }) => (answer.status >= 500 ? answer.text : undefined),

  'a status, media type and body of the document': ({ asked, answer, body }) => {
    try {
      assertDeclared(asked.sent.method, asked.sent.target, answer, body['upstream'] !== undefined);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  },

  'no header beyond the document': ({ asked, answer }) => {
    const declared = Object.keys(declaredFor(asked.sent, answer.status)?.headers ?? {});
    const known = new Set([...COMMON_HEADERS, ...declared.map((name) => name.toLowerCase())]);
    const others = [...answer.headers.keys()].filter((name) => !known.has(name));
    return others.length > 0 ? others.join() : undefined;
  },

  'a problem where something is wrong': ({ answer, body }) => {
    if (answer.status < 400) return undefined;
    const type = answer.headers.get('content-type');
    // The health page has a form of its own.
    if (type !== 'application/problem+json; charset=utf-8' && type !== 'application/problem+json')
      return `content type ${type}`;
    const { status, code, requestId, outcome } = body;
    if (status !== answer.status) return `status ${String(status)} in the body`;
    if (body['type'] !== `/problems/${String(code)}`) return `type ${String(body['type'])}`;
    if (requestId !== answer.headers.get('x-request-id')) return 'another request id in the body';
    if (answer.status < 409 && outcome !== 'not_processed') return `outcome ${String(outcome)}`;
    return undefined;
  },

  'its request id': ({ asked, answer }) => {
    const given = asked.sent.headers['x-request-id'];
    const id = answer.headers.get('x-request-id');
    if (id === null || !REQUEST_ID.test(id)) return `id ${id}`;
    return given !== undefined && REQUEST_ID.test(given) && given !== id ? `${id} for ${given}` : undefined;
  },

  'nothing kept by caches that must not be': ({ asked, answer }) => {
    const kept =
      asked.sent.method === 'GET' && answer.status < 400 && !asked.sent.target.startsWith('/v1/sessions');
    const control = answer.headers.get('cache-control');
    return kept || control === 'no-store' ? undefined : `Cache-Control: ${control}`;
  },

  'nothing told that is not for callers': ({ stage, answer }) => leaksIn(stage.inside, answer),

  'no password in it': ({ asked, answer }) =>
    // Short strings may occur by chance.
    [...(asked.sent.body ?? '').matchAll(/"password":"([^"\\]{8,})"/g)].some(([, password = '']) =>
      answer.text.includes(password),
    )
      ? 'a password'
      : undefined,

  'what is expected': ({ asked, answer, body }) => {
    const { expected } = asked;
    const isRefused = OF_FORM.has(body['code']);
    const isRight = {
      accepted: !isRefused || isDocumented(asked, answer, body),
      refused: isRefused,
      anything: true,
    }[expected];
    return isRight ? undefined : `not ${expected}, but ${answer.status}: ${answer.text}`;
  },
};

/** Problems that are about the form in other operations, and documented for this one: a missing page, a settled order. */
function isDocumented({ sent }: Case, { status }: Answer, body: Exchange['body']): boolean {
  const operationId = routeOf(sent)?.operation.operationId;
  const examples = declaredFor(sent, status)?.content?.['application/problem+json']?.examples ?? {};
  if (body['code'] === 'not-found') return examples['not-found'] !== undefined;
  const [fault, ...more] = (body['errors'] ?? []) as readonly Fault[];
  return operationId === 'settleOrder' && fault?.pointer === '/as' && more.length === 0;
}

function declaredFor(sent: Case['sent'], status: number): Response | undefined {
  const operation = routeOf(sent)?.operation;
  return operation && responseFor(operation, status);
}

function routeOf({ method, target }: Case['sent']): DocumentedRoute | undefined {
  const [path = ''] = target.split('?');
  return routes.find(
    (route) =>
      route.method === method && new RegExp(`^${route.template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
}

/** The first error of a response. */
function wrongWith(stage: FuzzStage, asked: Case, answer: Answer): string | undefined {
  const exchange = { stage, asked, answer, body: bodyOf(answer) };
  for (const [name, check] of Object.entries(checks)) {
    const wrong = check(exchange);
    if (wrong) return `${name}: ${wrong}`;
  }
  return undefined;
}

interface Property {
  readonly kind: string;
  readonly title: string;
  readonly numRuns: number;
  readonly values: Parameters<typeof search<Case>>[0];
}

/**
 * Runs about this many cases, spread over all operations and kinds. Returns what went wrong, each with its request, shrunk as far as
 * possible.
 */
export async function runCases(
  stage: FuzzStage,
  { seed, cases }: { readonly seed: number; readonly cases: number },
): Promise<readonly string[]> {
  const known = await knownIds(stage);
  const all = Object.entries(kinds).flatMap(([kind, { weight, cases: of }]) =>
    routes.flatMap((route) => {
      const values = of(route, known);
      return values ? [{ kind, weight, values, title: `${route.operation.operationId}/${kind}` }] : [];
    }),
  );
  const weights = all.reduce((sum, { weight }) => sum + weight, 0);
  const properties = all.map((each) => ({ ...each, numRuns: Math.ceil((cases * each.weight) / weights) }));
  return searchAll(stage, seed, properties);
}

/** A few at a time, since each mostly waits for its response. */
async function searchAll(stage: FuzzStage, seed: number, properties: readonly Property[]): Promise<string[]> {
  const faults: string[] = [];
  const left = properties.values();
  const lane = async () => {
    for (const { kind, title, values, numRuns } of left) {
      const run = async (asked: Case): Promise<void> => {
        const answer = await stage.send(asked.sent);
        stage.count('requests');
        if (kind === 'valid') stage.count(answer.status < 400 ? 'valid, and carried out' : 'valid, and not');
        const wrong = wrongWith(stage, asked, answer);
        if (wrong) throw new Error(wrong);
      };
      // A seed of its own for each property.
      const own = createHash('sha256').update(`${seed} ${title}`).digest().readInt32LE();
      const found = await search(values, run, { numRuns, seed: own });
      if (found) faults.push(`${title}: ${found.what}\n    ${JSON.stringify(found.example).slice(0, 3_000)}`);
    }
  };
  await Promise.all(Array.from({ length: 4 }, lane));
  return faults;
}

/** Ids of the seed, and those of this run. Never an administrator's, since deleting or renaming one locks all users out. */
async function knownIds(stage: FuzzStage): Promise<Known> {
  const login = { username: 'admin@harbour', password: stage.sandbox.seedPassword };
  const session = await stage.reply(sentOf('POST', '/v1/sessions', { body: login }));
  return {
    enterpriseGlobalId: ['ent-harbour', 'ent-meridian', '9007199254741993', 'ent-tidewater'],
    memberGlobalId: ['mem-harbour-bo', 'mem-harbour-chen', 'mem-harbour-dora', 'mem-shared-petra'],
    customerId: ['cus-harbour-default', 'cus-harbour-yard', '9007199254742993'],
    crmCustomerId: ['CRM-1001', 'CRM-2001'],
    channelCode: ['crm', 'partner'],
    channelCustomerId: ['CH-1001', 'PT-2001'],
    assetNums: ['8000001001', '8000001002', '8000001003', '8000001004'],
    assign: ['8000001009', '8000001001'],
    withdraw: ['8000001012', '8000001005'],
    assetId: ['ast-1001', 'ast-1002', 'ast-2001', '9007199254743993'],
    assetIds: ['ast-1002', 'ast-1012'],
    lentLockNum: ['8000001006', '8000001007'],
    productUri: ['draft.pro', 'cloud.model'],
    srcLicenseOrderId: ['lic-1009', 'lic-5001'],
    username: [login.username],
    password: [login.password],
    extendCode: ['site'],
    slug: ['outcome-unknown'],
    'X-Session-Id': [session.body['sessionId'] as string],
  };
}
