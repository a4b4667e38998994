import type { ProblemSlug } from '../../problem/catalogue.ts';
import type { CodeWord } from '../../config/taught-codes.ts';
import {
  type OperationName,
  operationList,
  type UpstreamModule,
  type UpstreamOperation,
} from '../operations.ts';
import type { FailureDetails } from '../upstream-failure.ts';

/** The meaning of a business code of the platform to a caller: by its interface (section 7), or by its profile. */
export interface UpstreamCode {
  readonly slug: ProblemSlug;
  /** True if the platform's message is written for the user. It is then copied to `detail`. */
  readonly speaks?: true;
  /** The field of the request body that the code concerns. */
  readonly field?: string;
  /** The platform itself failed, and may work again a moment later. The code does not say whether a write was carried out. */
  readonly transient?: true;
  /**
   * The part of the call that the code refuses, instead of the request. A further attempt carries a new one. `tokens` means one token, or
   * both.
   */
  readonly refuses?: 'token' | 'userToken' | 'tokens' | 'nonce';
  /** Operations whose documentation has the code. Empty if every operation has it. */
  readonly of: readonly OperationName[];
}

const operationsOf = (wanted: UpstreamModule) =>
  operationList.filter(({ module }) => module === wanted).map(({ name }) => name);
const ORDER = operationsOf('order');
const MEMBER = operationsOf('member');
/** The operations on employees, which the platform keeps in its user center. */
const USER_CENTER = [
  ...['addMembers', 'editMember', 'resetPassword', 'deleteMember', 'listMembers'],
] as const satisfies OperationName[];

const rejected = (of: readonly OperationName[], field?: string): UpstreamCode => ({
  slug: 'upstream-rejected',
  speaks: true,
  field,
  of,
});
const state = (slug: ProblemSlug, ...of: OperationName[]): UpstreamCode => ({ slug, of });

/** Every documented code. 60027 is no failure: see `partialCode` of its operation. */
export const upstreamCodes: ReadonlyMap<string, UpstreamCode> = new Map([
  ['13004', rejected(ORDER)],
  ['40000', rejected(['addMembers', 'editMember', 'resetPassword', 'listMembers', 'borrowAssets'])],
  ['40001', rejected(['addMembers', 'resetPassword'], 'password')],
  ['40006', rejected(['addMembers'], 'account')],
  ['40008', rejected(['addMembers'], 'account')],
  ['40009', rejected(['addMembers'], 'departmentId')],
  ['40021', rejected(['addMembers'], 'members')],
  ['40022', rejected(['addMembers'], 'name')],
  ['10003', rejected(['addMembers'], 'account')],
  ['10004', rejected(['addMembers'], 'passwordMobile')],
  ['30002', rejected(['addMembers', 'editMember'], 'name')],
  ['30003', rejected(['addMembers', 'editMember'], 'remark')],
  ['50003', rejected(['addMembers', 'resetPassword'], 'password')],
  ['60013', rejected(['addMembers'], 'members')],
  ['60009', { slug: 'trial-member-limit', speaks: true, of: ['addMembers'] }],
  ['60002', state('member-not-found', 'editMember', 'resetPassword', 'deleteMember')],
  ['60026', state('member-not-found', 'changePrivileges', 'borrowAssets')],
  ['60023', state('member-ambiguous', 'changePrivileges')],
  ['60024', state('asset-not-found', 'listAssetProducts', 'changePrivileges')],
  ['60025', state('asset-of-other-customer', 'changePrivileges')],
  ['60028', state('asset-assigned-twice', 'changePrivileges')],
  ['60017', state('account-not-bound', 'listAssetNums', 'listAssetProducts', 'listLentLocks')],
  ['33003', state('member-permission-insufficient', 'borrowAssets')],
  ['33006', state('not-enough-nodes', 'borrowAssets')],
  ['33007', state('already-lent', 'borrowAssets')],
  ['33008', state('lent-lock-abnormal', 'borrowAssets')],
  ['33018', state('lent-to-other-member', 'borrowAssets')],
  ['33009', state('outcome-unknown', 'borrowAssets')],
  ['500', { slug: 'upstream-unavailable', transient: true, of: [] }],
  ['80001', { slug: 'upstream-unavailable', transient: true, of: USER_CENTER }],
  ['60000', { slug: 'upstream-credential-rejected', refuses: 'token', of: [] }],
  ['60005', { slug: 'upstream-credential-rejected', refuses: 'userToken', of: MEMBER }],
  ['70001', { slug: 'upstream-credential-rejected', refuses: 'nonce', of: [] }],
]);

/** The taught codes. They have no operations, because such a code means the same for every operation. */
const taughtCodes: Readonly<Record<CodeWord, UpstreamCode>> = {
  refused: { slug: 'upstream-rejected', of: [] },
  'placed-before': { slug: 'outcome-unknown', of: [] },
  busy: { slug: 'upstream-unavailable', of: [] },
  credentials: { slug: 'upstream-credential-rejected', refuses: 'tokens', of: [] },
};

/**
 * Returns whether a code is the platform's own refusal of the call. HTTP 401 and 403 may come from a firewall or a portal in between, after the
 * platform has carried out the call, and with any code. With them, only a code that refuses the gateway's credentials is the platform's own.
 */
export function isOwnRefusal({ status, code, taught }: FailureDetails): boolean {
  if (status !== 401 && status !== 403) return true;
  return taught === 'credentials' || upstreamCodes.get(code ?? '')?.refuses !== undefined;
}

/** Returns undefined for a code that neither the interface nor the profile has. Only an order can have been placed before. */
export function meaningOf(
  { placesOrders }: UpstreamOperation,
  { code, taught }: FailureDetails,
): UpstreamCode | undefined {
  const known = upstreamCodes.get(code ?? '');
  if (known || taught === undefined || (taught === 'placed-before' && !placesOrders)) return known;
  return taughtCodes[taught];
}
