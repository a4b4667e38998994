import { cleanText } from '../shared/clean-text.ts';
import { type ContractNotes, type Reader, readObject, ContractViolation } from '../upstream/wire/reader.ts';
import type { TimestampUnit } from '../upstream/wire/time.ts';
import {
  nullableOfNewMember,
  type WireAddFailure,
  type WireAddRequest,
  type WireAddResult,
  type WireMember,
} from '../upstream/wire/member.ts';
import type { FailedMemberDto, MemberDto, NewMemberDto } from './dto/member.dto.ts';
import { readMember, toMemberTerms } from './member.mapper.ts';

/** What became of the rows of one call, and whether the answer contradicts itself or what was asked. */
export interface AddedRows {
  readonly succeeded: MemberDto[];
  readonly failed: FailedMemberDto[];
  readonly contradicts: boolean;
}

export function toAddRequest(rows: readonly NewMemberDto[]): WireAddRequest {
  return { userList: rows.map((row) => ({ ...toMemberTerms(row), password: row.password })) };
}

/**
 * The two lists of an answer (interface section 2.9), held against the rows that were sent. A row in neither list, or in both,
 * is one of which nobody knows what became of it. Accounts that nobody asked for are left out.
 */
export function toAddedRows(
  data: unknown,
  rows: readonly NewMemberDto[],
  unit: TimestampUnit,
  notes?: ContractNotes,
): AddedRows {
  const read = (wire: Reader<WireAddResult>) => ({
    members: wire.list<WireMember, MemberDto>(
      'succeeded',
      (member) => readMember(member, unit),
      nullableOfNewMember,
    ),
    failures: wire.list<WireAddFailure, WireAddFailure>('failed', readFailure),
  });
  const { members, failures } = readObject(data, read, notes);
  if (members.length + failures.length > 2 * rows.length)
    throw new ContractViolation('data', 'one result a row');

  const open = new Set(rows.map(({ userName }) => userName));
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
    const account = member.userName ?? '';
    const row = match(account, open) ?? match(account, reasons.keys());
    if (row !== undefined && !added.has(row)) {
      added.set(row, member);
      open.delete(row);
    }
  }

  const secrets = rows.map(({ password }) => password);
  const failed = rows.flatMap(({ userName }) => {
    const reason = reasons.get(userName);
    if (added.has(userName)) return reason === undefined ? [] : [openRow(userName, 'both')];
    if (reason === undefined) return [openRow(userName, 'neither')];
    return [{ userName, code: 'upstream-rejected', message: cleanText(reason, secrets) || SILENT }];
  });
  return {
    succeeded: rows.flatMap(({ userName }) => added.get(userName) ?? []),
    failed,
    contradicts:
      added.size < members.length ||
      reasons.size < failures.length ||
      failed.some(({ code }) => code !== 'upstream-rejected'),
  };
}

const SILENT = 'The platform refused it and gave no reason.';
const OPEN = {
  both: 'The platform listed it as added and as failed.',
  neither: 'The platform did not say what became of it.',
} as const;

function openRow(userName: string, where: keyof typeof OPEN): FailedMemberDto {
  return { userName, code: 'upstream-contract-violation', message: OPEN[where], outcome: 'unknown' };
}

function readFailure(wire: Reader<WireAddFailure>): WireAddFailure {
  return { userName: wire.text('userName') ?? '', message: wire.text('message') ?? '' };
}

/** Of two accounts where one begins like the other, the longer is matched first, and so takes the longer row. */
function longestFirst<T extends { userName?: string | null }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => (b.userName?.length ?? 0) - (a.userName?.length ?? 0));
}

/** The row that an account is of: the same, or the longest that it begins with, since the enterprise code comes after. */
function match(account: string, rows: Iterable<string>): string | undefined {
  let found: string | undefined;
  for (const row of rows) {
    if (account.startsWith(row) && row.length > (found?.length ?? 0)) found = row;
  }
  return found;
}
