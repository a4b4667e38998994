import type { Conflict, Outcome, ProblemCode, RequestFault, UpstreamAnswer } from './api.ts';
import { isObject } from './is-object.ts';

/** The mark of a problem. It works across two copies of this package, where `instanceof` does not. */
const PROBLEM = Symbol.for('@licensing-gateway/client:problem');
const FAULTS_IN_MESSAGE = 3;
const UNREACHABLE = Symbol.for('@licensing-gateway/client:unreachable');

/** A word of a list that newer gateways may extend. */
type Open<Word extends string> = Word | (string & Record<never, never>);

/** The body of RFC 9457 that the gateway sends with every error. */
export interface ProblemBody {
  readonly type?: string;
  readonly status: number;
  readonly code: Open<ProblemCode>;
  readonly title: string;
  readonly detail?: string;
  readonly outcome: Open<Outcome>;
  readonly retryable: boolean;
  readonly requestId: string;
  readonly errors?: readonly RequestFault[];
  readonly conflicts?: readonly Conflict[];
  readonly fields?: readonly string[];
  readonly oldest?: string;
  readonly resetsAt?: string;
  readonly upstream?: UpstreamAnswer;
  readonly upstreamCode?: string;
}

/** The facts of the call in addition to the response. */
export interface CallFacts {
  /** The gateway's name of the operation, such as `placeOrder`. */
  readonly operation: string;
  readonly requestId: string;
  /** The number of requests that were made. */
  readonly attempts: number;
  readonly idempotencyKey?: string | undefined;
  readonly order?: OrderKey | undefined;
}

/** The number of the order that an error concerns. */
export interface OrderKey {
  readonly channelCode: string;
  readonly channelOrderId: string;
}

/** The members of the body that a problem has unchanged. One list is smaller than an assignment for each of them. */
const COPIED = [
  ...(['code', 'status', 'title', 'detail', 'outcome', 'retryable', 'requestId'] as const),
  ...(['oldest', 'resetsAt', 'upstream', 'upstreamCode'] as const),
];

/** The gateway refused the call, or could not carry it out, and says what that means. */
export class Problem extends Error {
  override readonly name = 'Problem';
  /** The code for your branches; see `isProblem`. It never changes once published. */
  declare readonly code: Open<ProblemCode>;
  declare readonly status: number;
  declare readonly title: string;
  /** What happened this time. */
  declare readonly detail: string | undefined;
  /** `not_processed`: provably nothing happened, in any attempt of this call. */
  declare readonly outcome: Open<Outcome>;
  /** True if the same call may be made again unchanged. */
  declare readonly retryable: boolean;
  /** The id with which the gateway's operator finds the log lines. */
  declare readonly requestId: string;
  /** The faults of the input, one by one. */
  readonly errors: readonly RequestFault[];
  /** The members who have the numbers, in `asset-assigned-twice`. */
  readonly conflicts: readonly Conflict[];
  /** The fields that the edit has to contain too; only in `edit-would-lose`. */
  readonly fields: readonly string[];
  /** The cursor to continue from, in `events-expired`. */
  declare readonly oldest: string | undefined;
  /** The time at which the budget begins anew, in `budget-exhausted`. */
  declare readonly resetsAt: string | undefined;
  declare readonly upstream: UpstreamAnswer | undefined;
  /** The platform's code, if the operator of the gateway has taught it the meaning of this code. */
  declare readonly upstreamCode: string | undefined;
  /** The time after which the same call may succeed, if the gateway knows it. */
  declare readonly retryAfterMs: number | undefined;
  /** The path of what the problem is about, such as the job in `import-in-progress`, if the gateway names it. */
  declare readonly location: string | undefined;
  declare readonly operation: string;
  declare readonly attempts: number;
  /** The `Idempotency-Key` of a POST. The same call with this option is not carried out twice. */
  declare readonly idempotencyKey: string | undefined;
  /** The order of the call. It finds the record: `orders.get(problem.order)`. */
  declare readonly order: OrderKey | undefined;
  declare readonly [PROBLEM]: true;

  constructor(
    body: ProblemBody,
    facts: CallFacts,
    more: {
      retryAfterMs?: number | undefined;
      location?: string | undefined;
      order?: OrderKey | undefined;
    } = {},
  ) {
    super(
      `${body.code}: ${body.detail ?? body.title}${faultsOf(body)} (${facts.operation}, request ${body.requestId})`,
    );
    this[PROBLEM] = true;
    Object.assign(this, facts, more, Object.fromEntries(COPIED.map((name) => [name, body[name]])));
    this.errors = body.errors ?? [];
    this.conflicts = body.conflicts ?? [];
    this.fields = body.fields ?? [];
  }
}

/** The gateway itself did not respond: no connection, a lost one, no time left, or an answer of a server in between. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable';
  /** False: no byte of any attempt left this process, so nothing happened. True: a write may have been carried out. */
  declare readonly sent: boolean;
  /** True if the deadline of the call ran out. */
  declare readonly timedOut: boolean;
  /** The status of an answer that is not the gateway's, such as 502 of a load balancer. */
  declare readonly status: number | undefined;
  declare readonly requestId: string;
  declare readonly operation: string;
  declare readonly attempts: number;
  /** The `Idempotency-Key` of a POST. The same call with this option is not carried out twice. */
  declare readonly idempotencyKey: string | undefined;
  declare readonly order: OrderKey | undefined;
  declare readonly [UNREACHABLE]: true;

  constructor(
    why: string,
    facts: CallFacts,
    more: {
      sent: boolean;
      timedOut?: boolean;
      status?: number | undefined;
      order?: OrderKey | undefined;
      cause?: unknown;
    },
  ) {
    super(`${why} (${facts.operation}, request ${facts.requestId})`, { cause: more.cause });
    this[UNREACHABLE] = true;
    Object.assign(this, { timedOut: false }, facts, more);
  }
}

/** True for a problem, with one of these codes if some are named. It narrows `code`. */
export function isProblem(error: unknown): error is Problem;
export function isProblem<Code extends ProblemCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is Problem & { readonly code: Code };
export function isProblem(error: unknown, ...codes: readonly string[]): boolean {
  if (!isObject(error) || !(PROBLEM in error)) return false;
  return codes.length === 0 || codes.includes((error as Problem).code);
}

export function isGatewayUnreachable(error: unknown): error is GatewayUnreachable {
  return isObject(error) && UNREACHABLE in error;
}

/**
 * Returns the problem in a response with this status and type. Undefined if it does not come from the gateway. A server in between may
 * send JSON with a `code` too.
 */
export function problemBodyOf(
  status: number,
  type: string | null,
  body: unknown,
  requestId: string,
): ProblemBody | undefined {
  if (!isObject(body)) return undefined;
  const { code, title, outcome, retryable, requestId: told, ...rest } = body as Partial<ProblemBody>;
  const isGateways =
    type?.startsWith('application/problem+json') ||
    (typeof outcome === 'string' && typeof retryable === 'boolean');
  if (typeof code !== 'string' || !isGateways) return undefined;
  return {
    ...rest,
    status,
    code,
    title: typeof title === 'string' ? title : code,
    // A field that an older or newer gateway leaves out must not make the problem look better than it is.
    outcome: typeof outcome === 'string' ? outcome : 'unknown',
    retryable: retryable === true,
    requestId: typeof told === 'string' ? told : requestId,
    errors: listOf(rest.errors).filter(isObject),
    conflicts: listOf(rest.conflicts).filter(isObject),
    fields: listOf(rest.fields),
  };
}

function listOf<Item>(value: readonly Item[] | undefined): readonly Item[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the first faults of the input, each with its location. */
function faultsOf({ errors = [] }: ProblemBody): string {
  const more = errors.length > FAULTS_IN_MESSAGE ? `; and ${errors.length - FAULTS_IN_MESSAGE} more` : '';
  const told = errors
    .slice(0, FAULTS_IN_MESSAGE)
    .map((fault) => `; ${placeOf(fault)} ${fault.detail}`)
    .join('');
  return told + more;
}

/** Returns the location in the request, or in its file. */
export function placeOf({ row, line, column, pointer, parameter }: RequestFault): string {
  if (row === undefined) return pointer || parameter || 'body';
  if (row === 0) return column === undefined ? 'file' : `header, ${column}`;
  const place = line === undefined ? `row ${row}` : `row ${row} (line ${line})`;
  return column === undefined ? place : `${place}, ${column}`;
}
