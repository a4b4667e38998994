import { Redactor } from '../observability/redactor.ts';
import { cleanText } from '../shared/clean-text.ts';
import { type ContractNotes, ContractViolation } from '../upstream/wire/contract-notes.ts';
import { readObject } from '../upstream/wire/reader.ts';
import type { TimestampUnit } from '../upstream/wire/scalars.ts';
import {
  addFailureShape,
  addResultShape,
  newMemberShape,
  type WireAddRequest,
} from '../upstream/wire/member.ts';
import type { FailedMemberDto, MemberDto, NewMemberDto } from './dto/member.dto.ts';
import { readMember, toMemberTerms } from './member.mapper.ts';

/** The outcome of the rows of one call, and whether the answer contradicts itself or the request. */
export interface AddedRows {
  readonly succeeded: MemberDto[];
  /** The same by their accounts. */
  readonly added: ReadonlyMap<string, MemberDto>;
  readonly failed: FailedMemberDto[];
  readonly contradicts: boolean;
}

export function toAddRequest(rows: readonly NewMemberDto[]): WireAddRequest {
  return { userList: rows.map((row) => ({ ...toMemberTerms(row), password: row.password })) };
}

/**
 * Compares the two lists of an answer (interface section 2.9) with the rows that were sent. A row in neither list, or in both, has
 * an unknown outcome. Accounts that were not sent are left out. `firstIndex` is the position of the first row in the request.
 */
export function toAddedRows(
  data: unknown,
  rows: readonly NewMemberDto[],
  firstIndex: number,
  unit: TimestampUnit,
  notes?: ContractNotes,
  redactor = new Redactor(),
): AddedRows {
  const { members, failures } = readObject(addResultShape, data, notes, (wire) => ({
    members: wire.list('succeeded', newMemberShape, (member) => readMember(member, unit)),
    failures: wire.list('failed', addFailureShape, (failure) => ({
      userName: failure.text('userName') ?? '',
      message: failure.text('message') ?? '',
    })),
  }));
  if (members.length + failures.length > 2 * rows.length)
    throw new ContractViolation('data', 'one result a row');

  const open = new Set(rows.map(({ account }) => account));
  const reasons = new Map<string, string>();
  for (const { userName, message } of longestFirst(failures)) {
    const row = match(userName, open);
    if (row !== undefined) {
      reasons.set(row, message);
      open.delete(row);
    }
  }
  const added = new Map<string, MemberDto>();
  for (const member of longestFirst(members)) {
    const userName = member.userName ?? '';
    const row = match(userName, open) ?? match(userName, reasons.keys());
    if (row !== undefined && !added.has(row)) {
      added.set(row, member);
      open.delete(row);
    }
  }

  const secrets = rows.map(({ password }) => password);
  const failed = rows.flatMap(({ account }, place): FailedMemberDto[] => {
    const row = { index: firstIndex + place, account, retryable: false };
    const reason = reasons.get(account);
    if (added.has(account)) return reason === undefined ? [] : [{ ...row, ...OPEN.both }];
    if (reason === undefined) return [{ ...row, ...OPEN.neither }];
    const message = cleanText(reason, (text) => redactor.redact(text, secrets)) || SILENT;
    return [{ ...row, code: 'upstream-rejected', message, outcome: 'not_processed' }];
  });
  return {
    succeeded: rows.flatMap(({ account }) => added.get(account) ?? []),
    added,
    failed,
    contradicts:
      added.size < members.length ||
      reasons.size < failures.length ||
      failed.some(({ code }) => code !== 'upstream-rejected'),
  };
}

const SILENT = 'The platform refused this row and gave no reason.';
const violation = { code: 'upstream-contract-violation', outcome: 'unknown' } as const;
const OPEN = {
  both: { ...violation, message: 'The platform listed this row as added and as failed.' },
  neither: { ...violation, message: 'The platform did not say whether it added this row.' },
} as const;

/** The longest first: where one account begins with another, the longer account matches the longer row. */
function longestFirst<T extends { userName?: string | null }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => (b.userName?.length ?? 0) - (a.userName?.length ?? 0));
}

/** The row of a user name: the equal one, or the longest one that it begins with, since the platform appends the enterprise code. */
function match(userName: string, rows: Iterable<string>): string | undefined {
  let found: string | undefined;
  for (const row of rows) {
    if (userName.startsWith(row) && row.length > (found?.length ?? 0)) found = row;
  }
  return found;
}
