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
import { type Case, type Expected, type Kind, kinds } from './kinds.ts';
import { leaksIn } from './leaks.ts';
import { search } from './search.ts';
import type { Stage } from './stage.ts';

/** Single requests and their responses: what the document and the contract promise for each. */

interface Exchange {
  readonly stage: Stage;
  readonly asked: Case;
  readonly answer: Answer;
  /** The body, if it is JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

interface Fault {
  readonly pointer?: string;
  readonly parameter?: string;
}

/** Headers that a response of every operation may have (docs/api.md, section 1, and HTTP itself). */
const COMMON_HEADERS = new Set([
  ...[
    'content-type',
    'content-length',
    'transfer-encoding',
    'date',
    'connection',
    'keep-alive',
    'x-request-id',
    'cache-control',
  ],
  ...['server-timing', 'retry-after', 'allow', 'vary', 'ratelimit', 'ratelimit-policy', 'www-authenticate'],
]);

/** Problems about the form of a request: a caller that follows the document may not get one. */
const OF_FORM = new Set<unknown>([
  ...[
    'validation-failed',
    'unauthenticated',
    'user-required',
    'forbidden',
    'not-found',
    'method-not-allowed',
  ],
  ...['not-acceptable', 'payload-too-large', 'uri-too-long', 'unsupported-media-type', 'headers-too-large'],
]);

/** Each returns a description of the error, or nothing. */
const checks: Readonly<Record<string, (exchange: Exchange) => string | undefined>> = {
  'no failure of the gateway': ({ answer }) => (answer.status >= 500 ? answer.text : undefined),

  'a status, media type and body of the document': ({ asked, answer, body }) => {
    if (asked.sent.method === 'HEAD') return undefined;
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

  'a problem where something is wrong': ({ answer, body, asked }) => {
    if (answer.status < 400 || asked.sent.method === 'HEAD') return undefined;
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
    if (id === null || !/^[A-Za-z0-9_.:-]{1,64}$/.test(id)) return `id ${id}`;
    return given !== undefined && /^[A-Za-z0-9_.:-]{1,64}$/.test(given) && given !== id
      ? `${id} for ${given}`
      : undefined;
  },

  'nothing kept by caches that must not be': ({ asked, answer }) => {
    const kept =
      asked.sent.method === 'GET' && answer.status < 400 && !asked.sent.target.startsWith('/v1/sessions');
    const control = answer.headers.get('cache-control');
    return kept || control === 'no-store' ? undefined : `Cache-Control: ${control}`;
  },

  'nothing told that is not for callers': ({ stage, answer }) => leaksIn(stage.inside, answer),

  'no password in it': ({ asked, answer }) =>
    passwordsOf(asked.sent.body).find((password) => answer.text.includes(password)) && 'a password',

  'what is expected': ({ asked, answer, body }) => {
    const { expected, sent } = asked;
    if (expected === 'anything') return undefined;
    if (expected === 'accepted')
      return OF_FORM.has(body['code']) && !isDocumented(asked, answer, body)
        ? `refused: ${answer.text}`
        : undefined;
    return unexpected(expected, answer, body, sent.method === 'HEAD');
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

function unexpected(
  { status, code, place, deep = false, parameter, allow }: Expected,
  answer: Answer,
  body: Exchange['body'],
  headOnly: boolean,
): string | undefined {
  if (!status.includes(answer.status))
    return `${answer.status} instead of ${status.join(' or ')}: ${answer.text.slice(0, 500)}`;
  const allowed = (answer.headers.get('allow') ?? '').split(', ');
  if (allow?.some((method) => !allowed.includes(method)))
    return `Allow: ${allowed.join()} without all of ${allow.join()}`;
  if (headOnly) return undefined;
  if (code && !code.includes(String(body['code'])))
    return `code ${String(body['code'])} instead of ${code.join(' or ')}`;
  const faults = (body['errors'] ?? []) as readonly Fault[];
  if (parameter !== undefined && !faults.some((fault) => fault.parameter === parameter))
    return `no fault of ${parameter}: ${answer.text}`;
  if (place === undefined) return undefined;
  const pointers = faults.map(({ pointer }) => pointer ?? 'a parameter');
  // For a list of ids, or several fields together, the pointer names the whole.
  if (!pointers.some((pointer) => pointer === place || pointer === parentOf(place)))
    return `no fault at ${place || 'the whole'}: ${answer.text}`;
  const stray = pointers.find((pointer) => !isPart(pointer, place) && !(deep && isPart(place, pointer)));
  return stray === undefined ? undefined : `a fault at ${stray}, where nothing is wrong: ${answer.text}`;
}

function parentOf(pointer: string): string {
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')));
}

/** Whether the second pointer leads into the first. */
function isPart(whole: string, part: string): boolean {
  return part === whole || part.startsWith(`${whole}/`);
}

function passwordsOf(body: string | Buffer | undefined): string[] {
  if (typeof body !== 'string') return [];
  // Short strings may occur by chance.
  return [...body.matchAll(/"password":"([^"\\]{8,})"/g)].map(([, password = '']) => password);
}

export interface Violation {
  readonly kind: string;
  readonly operation: string;
  readonly what: string;
  /** The request, shrunk as far as possible. */
  readonly example: string;
}

export interface CasesReport {
  readonly cases: number;
  readonly statuses: ReadonlyMap<number, number>;
  /** How many responses to valid requests were successes. */
  readonly valid: { readonly all: number; readonly succeeded: number };
  readonly violations: readonly Violation[];
}

interface Options {
  readonly seed: number;
  readonly cases: number;
  /** `operation/kind`, or a part of it. */
  readonly only?: string | undefined;
  readonly progress?: (done: number) => void;
}

/** Runs about this many cases, spread over all operations and kinds. First those that must not reach the platform. */
export async function runCases(stage: Stage, { seed, cases, only, progress }: Options): Promise<CasesReport> {
  const known = await knownIds(stage);
  const all = routes.flatMap((route) =>
    Object.entries(kinds).flatMap(([name, kind]) => {
      const arbitrary = kind.cases(route, known);
      const title = `${route.operation.operationId}/${name}`;
      return arbitrary && (!only || title.includes(only)) ? [{ route, name, kind, arbitrary, title }] : [];
    }),
  );
  const weights = all.reduce((sum, { kind }) => sum + kind.weight, 0);
  const statuses = new Map<number, number>();
  const valid = { all: 0, succeeded: 0 };
  const violations: Violation[] = [];
  let done = 0;

  const runOne = async ({ route, name, kind, arbitrary, title }: (typeof all)[number]): Promise<void> => {
    const run = async (asked: Case): Promise<void> => {
      const answer = await ask(stage, asked);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (name === 'valid') valid.all++;
      if (name === 'valid' && answer.status < 400) valid.succeeded++;
      if (++done % 500 === 0) progress?.(done);
      const wrong = wrongWith(stage, asked, answer);
      if (wrong) throw new Error(wrong);
    };
    const numRuns = Math.ceil((cases * kind.weight) / weights);
    const found = await search(arbitrary, run, { numRuns, seed: seedOf(seed, title) });
    if (!found) return;
    const { operationId: operation } = route.operation;
    violations.push({ kind: name, operation, what: found.what, example: shown(found.example) });
  };

  const silent = ({ kind }: { readonly kind: Kind }) => kind.silent;
  await sideBySide(all.filter(silent), runOne);
  const heard = await stage.sandbox.calls();
  if (heard.length > 0)
    violations.push({
      kind: 'silent',
      operation: 'any',
      what: 'The platform was called',
      example: JSON.stringify(heard[0]),
    });
  await sideBySide(
    all.filter((each) => !silent(each)),
    runOne,
  );
  return { cases: done, statuses, valid, violations };
}

/** Sends the request and returns the error of its response, if any. */
async function ask(stage: Stage, { who, sent }: Case): Promise<Answer> {
  const key = who === 'fleet' ? stage.key : who && stage.keyOf(who);
  return stage.send({ ...sent, headers: { ...(key !== null && { 'x-api-key': key }), ...sent.headers } });
}

/** The first error of a response. */
export function wrongWith(stage: Stage, asked: Case, answer: Answer): string | undefined {
  const isJson = /json/.test(answer.headers.get('content-type') ?? '') && answer.text !== '';
  const body = isJson ? (JSON.parse(answer.text) as Exchange['body']) : {};
  for (const [name, check] of Object.entries(checks)) {
    const wrong = check({ stage, asked, answer, body });
    if (wrong) return `${name}: ${wrong}`;
  }
  return undefined;
}

/** A few at a time, since each mostly waits for its response. */
async function sideBySide<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const lane = async () => {
    for (const item of left) await run(item);
  };
  await Promise.all(Array.from({ length: 4 }, lane));
}

/** A seed of its own for each property, so that one alone can be replayed. */
function seedOf(seed: number, title: string): number {
  return createHash('sha256').update(`${seed} ${title}`).digest().readInt32LE();
}

function shown({ why, who, sent }: Case): string {
  const { method, target, headers, body } = sent;
  const text = Buffer.isBuffer(body) ? `base64 ${body.toString('base64')}` : body;
  return JSON.stringify({ why, who, method, target, headers, body: text }).slice(0, 3_000);
}

/** Ids of the seed, and those of this run. Never an administrator's, since deleting or renaming one locks all users out. */
async function knownIds(stage: Stage): Promise<Known> {
  const login = { username: 'admin@harbour', password: stage.sandbox.seedPassword };
  const session = await stage.json('POST', '/v1/sessions', { body: login });
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
