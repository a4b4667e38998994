/** The platform's whole error catalogue (interface section 7), and the one way to refuse a call. */

/** The module that decides the meaning and the error codes of an operation. */
export type Module = 'order' | 'member';

/** The meanings of the interface. The code that raises 50003 or 60009 adds the number that the interface leaves out. */
export const CATALOGUE = {
  '500': 'network exception, retry',
  '10003': 'account may contain only letters and digits',
  '10004': 'mobile number invalid',
  '13004': 'parameter validation failure',
  '30002': 'name too long',
  '30003': 'remark too long',
  '33003': 'employee permission insufficient',
  '33006': 'not enough nodes',
  '33007': 'already lent to another lent lock',
  '33008': 'lent lock state abnormal',
  '33009': 'borrow request failed',
  '33018': 'lent lock already lent to another employee',
  '40000': 'parameter must not be empty',
  '40001': 'password empty',
  '40006': 'enterprise suffix empty',
  '40008': 'account empty',
  '40009': 'group id empty',
  '40021': 'employee list empty',
  '40022': 'name empty',
  '50003': 'password length must lie between two bounds',
  '60000': 'application token invalid or no permission',
  '60002': 'user not found',
  '60005': 'invalid user login token',
  '60009': 'the enterprise account may create only a limited number of trial member accounts',
  '60013': 'upload count exceeds the maximum of 100',
  '60017': 'current account not bound to an authorization customer',
  '60023': 'the enterprise sub-account matched several employees',
  '60024': 'asset number not found',
  '60025': 'asset number belongs to a wrong customer',
  '60026': 'the enterprise sub-account matched no employee',
  '60027': 'some employees failed to be added',
  '60028': 'asset number configured twice',
  '70001': 'security check failed',
  '80001': 'user center exception',
} as const;

export type ErrorCode = keyof typeof CATALOGUE;

interface RefusalParts {
  /** The value of `data` in addition to the code. Only 60027 has one (member endpoint 1). */
  readonly data?: unknown;
  /** A text that replaces the catalogue's. */
  readonly message?: string;
  /** A code that replaces the one of the interface, as a platform may. */
  readonly as?: string;
}

/**
 * A call that the platform refuses: HTTP 299 with `{ code, message, cause }`. If a handler throws it, the sandbox undoes the handler's
 * changes. If a handler returns it, the changes stay (60027: some employees were added).
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: string;
  override readonly cause: string;
  readonly data: unknown;

  constructor(code: ErrorCode, detail?: string, { data, message, as }: RefusalParts = {}) {
    // 13004 "carries the specific detail" in its message (section 7.1); other codes keep their catalogue text.
    super(message ?? (code === '13004' && detail !== undefined ? detail : CATALOGUE[code]));
    this.code = as ?? code;
    this.cause = detail ?? CATALOGUE[code];
    this.data = data;
  }
}

/** Refuses a wrong parameter of the order module. The detail names it. */
export function invalid(detail: string): Refusal {
  return new Refusal('13004', detail);
}

/** Returns the code of a module for a request that it cannot read at all. */
export function unreadable(module: Module, detail: string): Refusal {
  return new Refusal(module === 'order' ? '13004' : '40000', detail);
}
