import type { Conflict, Outcome, ProblemCode, RequestFault, UpstreamAnswer } from './api.ts';
import { isObject } from './is-object.ts';

/** Seen across two copies of this package, where `instanceof` is not. */
const PROBLEM = Symbol.for('@licensing-gateway/client:problem');
const FAULTS_IN_MESSAGE = 3;
const UNREACHABLE = Symbol.for('@licensing-gateway/client:unreachable');

/** Further words come with newer gateways. */
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
  readonly upstream?: UpstreamAnswer;
  readonly upstreamCode?: string;
}

/** What is known about the call, beside the response. */
export interface CallFacts {
  /** The gateway's name of the operation, such as `placeOrder`. */
  readonly operation: string;
  readonly requestId: string;
  /** How many requests were made. */
  readonly attempts: number;
}

/** The number of the order that an error is about. */
export interface OrderKey {
  readonly channelCode: string;
  readonly channelOrderId: string;
}

/** The gateway refused the call, or could not carry it out, and says what that means. */
export class Problem extends Error {
  override readonly name = 'Problem';
  /** To branch on; see `isProblem`. It never changes once published. */
  readonly code: Open<ProblemCode>;
  readonly status: number;
  readonly title: string;
  /** What happened this time. */
  readonly detail: string | undefined;
  /** `not_processed`: provably nothing happened, by no attempt of this call. */
  readonly outcome: Open<Outcome>;
  /** Whether the same call may be made again as it is. */
  readonly retryable: boolean;
  /** By which the gateway's operator finds the log lines. */
  readonly requestId: string;
  /** What is wrong with the input, one by one. */
  readonly errors: readonly RequestFault[];
  /** Of `asset-assigned-twice`: who has the numbers. */
  readonly conflicts: readonly Conflict[];
  /** The fields that the edit has to give too; only in `edit-would-lose`. */
  readonly fields: readonly string[];
  /** Of `events-expired`: the cursor to go on from. */
  readonly oldest: string | undefined;
  readonly upstream: UpstreamAnswer | undefined;
  /** The platform's code, where the operator of the gateway has taught it what this code means. */
  readonly upstreamCode: string | undefined;
  /** When the same call may succeed, where the gateway knows. */
  readonly retryAfterMs: number | undefined;
  readonly operation: string;
  readonly attempts: number;
  /** Of calls about an order: ask with it for the record, `orders.get(problem.order)`. */
  readonly order: OrderKey | undefined;
  declare readonly [PROBLEM]: true;

  constructor(
    body: ProblemBody,
    facts: CallFacts,
    more: { retryAfterMs?: number | undefined; order?: OrderKey | undefined } = {},
  ) {
    super(
      `${body.code}: ${body.detail ?? body.title}${faultsOf(body)} (${facts.operation}, request ${body.requestId})`,
    );
    this[PROBLEM] = true;
    this.code = body.code;
    this.status = body.status;
    this.title = body.title;
    this.detail = body.detail;
    this.outcome = body.outcome;
    this.retryable = body.retryable;
    this.requestId = body.requestId;
    this.errors = body.errors ?? [];
    this.conflicts = body.conflicts ?? [];
    this.fields = body.fields ?? [];
    this.oldest = body.oldest;
    this.upstream = body.upstream;
    this.upstreamCode = body.upstreamCode;
    this.retryAfterMs = more.retryAfterMs;
    this.operation = facts.operation;
    this.attempts = facts.attempts;
    this.order = more.order;
  }
}

/** No response of the gateway itself: no connection, a lost one, no time left, or an answer of something in between. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable';
  /** false: no byte of any attempt left this process, so nothing happened. true: a write may have been carried out. */
  readonly sent: boolean;
  /** The deadline of the call ran out. */
  readonly timedOut: boolean;
  /** Of an answer that is not the gateway's, such as 502 of a load balancer. */
  readonly status: number | undefined;
  readonly requestId: string;
  readonly operation: string;
  readonly attempts: number;
  readonly order: OrderKey | undefined;
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
    this.sent = more.sent;
    this.timedOut = more.timedOut ?? false;
    this.status = more.status;
    this.requestId = facts.requestId;
    this.operation = facts.operation;
    this.attempts = facts.attempts;
    this.order = more.order;
  }
}

/** Whether it is a problem, and one of these codes where some are named; narrows `code`. */
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

/** The problem in a response; undefined where it is not one of the gateway. */
export function problemBodyOf(status: number, body: unknown, requestId: string): ProblemBody | undefined {
  if (!isObject(body)) return undefined;
  const { code, title, outcome, retryable, requestId: told, ...rest } = body as Partial<ProblemBody>;
  if (typeof code !== 'string') return undefined;
  return {
    ...rest,
    status,
    code,
    title: typeof title === 'string' ? title : code,
    // What an older or newer gateway leaves out must not sound better than it is.
    outcome: typeof outcome === 'string' ? outcome : 'unknown',
    retryable: retryable === true,
    requestId: typeof told === 'string' ? told : requestId,
  };
}

/** The first faults of the input, each with its place. */
function faultsOf({ errors = [] }: ProblemBody): string {
  const more = errors.length > FAULTS_IN_MESSAGE ? `; and ${errors.length - FAULTS_IN_MESSAGE} more` : '';
  const told = errors
    .slice(0, FAULTS_IN_MESSAGE)
    .map((fault) => `; ${placeOf(fault)} ${fault.detail}`)
    .join('');
  return told + more;
}

/** Where in the request, or in its file. */
export function placeOf({ row, line, column, pointer, parameter }: RequestFault): string {
  if (row === undefined) return pointer || parameter || 'body';
  if (row === 0) return column === undefined ? 'file' : `header, ${column}`;
  const place = line === undefined ? `row ${row}` : `row ${row} (line ${line})`;
  return column === undefined ? place : `${place}, ${column}`;
}
