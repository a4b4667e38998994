/**
 * Interface section 7 once more, independent of the product: what each code says to a caller that nothing happened, and the operations of
 * the member center that it is documented for. The tests of codes are made of this one table.
 */
export interface RefusalCode {
  readonly code: string;
  readonly slug: string;
  readonly status: number;
  /** True if its message is written for the user, and shown. */
  readonly speaks: boolean;
  readonly of: readonly string[];
}

const row = (code: string, slug: string, status: number, of: string, speaks = false): RefusalCode => ({
  code,
  slug,
  status,
  speaks,
  of: of === '' ? [] : of.split(' '),
});
const speaking = (code: string, of: string) => row(code, 'upstream-rejected', 422, of, true);

export const refusalCodes: readonly RefusalCode[] = [
  speaking('13004', ''),
  speaking('40000', 'addMembers editMember resetPassword listMembers borrowAssets'),
  speaking('40001', 'addMembers resetPassword'),
  speaking('40006', 'addMembers'),
  speaking('40008', 'addMembers'),
  speaking('40009', 'addMembers'),
  speaking('40021', 'addMembers'),
  speaking('40022', 'addMembers'),
  speaking('10003', 'addMembers'),
  speaking('10004', 'addMembers'),
  speaking('30002', 'addMembers editMember'),
  speaking('30003', 'addMembers editMember'),
  speaking('50003', 'addMembers resetPassword'),
  speaking('60013', 'addMembers'),
  row('60009', 'trial-member-limit', 409, 'addMembers', true),
  row('60002', 'member-not-found', 404, 'editMember resetPassword deleteMember'),
  row('60026', 'member-not-found', 404, 'changePrivileges borrowAssets'),
  row('60023', 'member-ambiguous', 409, 'changePrivileges'),
  row('60024', 'asset-not-found', 404, 'listAssetProducts changePrivileges'),
  row('60025', 'asset-of-other-customer', 409, 'changePrivileges'),
  row('60028', 'asset-assigned-twice', 409, 'changePrivileges'),
  row('60017', 'account-not-bound', 409, 'listAssetNums listAssetProducts listLentLocks'),
  row('33003', 'member-permission-insufficient', 403, 'borrowAssets'),
  row('33006', 'not-enough-nodes', 409, 'borrowAssets'),
  row('33007', 'already-lent', 409, 'borrowAssets'),
  row('33008', 'lent-lock-abnormal', 409, 'borrowAssets'),
  row('33018', 'lent-to-other-member', 409, 'borrowAssets'),
];
