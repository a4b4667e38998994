import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { Redactor } from '../observability/redactor.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { CallContext } from '../request/call-context.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { operations } from '../upstream/operations.ts';
import { inOurWords } from '../upstream/problems/wire-names.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { ContractViolation } from '../upstream/upstream-failure.ts';
import { addFailureShape, addResultShape, newMemberShape } from '../upstream/wire/member.ts';
import { readObject } from '../upstream/wire/reader.ts';
import type { TimestampUnit } from '../upstream/wire/scalars.ts';
import { chunksOf } from '../shared/chunks-of.ts';
import type {
  AddMembersDto,
  AddMembersResultDto,
  FailedMemberDto,
  MemberDto,
  NewMemberDto,
} from './dto/member.dto.ts';
import { AccountSuffixes } from './account-suffix.ts';
import { describe, logPartial, settle } from './member-failure.ts';
import { isMasked, MASKED } from './mobile-number.ts';
import { readMember, toMemberTerms } from './member.mapper.ts';
import { matchRows } from './row-matching.ts';

/** The most rows that the platform accepts in a call (interface section 8). */
const ROWS_PER_CALL = 100;
const CONTRADICTION = { operation: 'addMembers', what: 'contradiction' } as const;
/** The calls at a time. Two halve the time of a large request, and leave the platform able to serve other requests. */
const CALLS_AT_A_TIME = 2;

export interface AddedRows {
  readonly succeeded: MemberDto[];
  /** The added members by account. */
  readonly added: ReadonlyMap<string, MemberDto>;
  readonly failed: FailedMemberDto[];
  /** The suffix that the platform has appended to each account. Undefined if the response does not show it. */
  readonly suffix: string | undefined;
  /** True if the response contradicts itself or the request. */
  readonly contradicts: boolean;
}

/** Adds members in calls of the size that the platform accepts, and joins their results row by row. It repeats no call. */
@Injectable()
export class AddMembersService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
    private readonly metrics: Metrics,
    private readonly log: Log,
    private readonly suffixes: AccountSuffixes,
  ) {
    metrics.count('gateway_upstream_contract_warnings_total', CONTRADICTION, 0);
  }

  /**
   * Adds members. If a whole call fails, its rows report the failure. Throws the problem of the calls if all of them fail for the same reason.
   */
  async addMembers(
    call: CallContext,
    enterpriseGlobalId: string,
    { members }: AddMembersDto,
  ): Promise<AddMembersResultDto> {
    const masked = members.flatMap(({ passwordMobile }, index) => (isMasked(passwordMobile) ? [index] : []));
    if (masked.length > 0)
      throw new ProblemException('validation-failed', {
        errors: masked.map((index) => ({ pointer: `/members/${index}/passwordMobile`, detail: MASKED })),
      });
    const chunks = chunksOf(members, ROWS_PER_CALL);
    const limit = pLimit(CALLS_AT_A_TIME);
    const results = await limit.map(chunks, (rows, index) =>
      settle(this.addRows(call, enterpriseGlobalId, rows, index * ROWS_PER_CALL)).catch((fault: unknown) => {
        limit.clearQueue();
        throw fault;
      }),
    );
    const problems = results.flatMap((result) => ('problem' in result ? [result.problem] : []));
    if (problems.length === chunks.length && areAlike(problems)) throw problems[0] as ProblemException;
    for (const problem of problems) logPartial(this.log, call.requestId, 'addMembers', problem);
    return {
      succeeded: results.flatMap((result) => ('value' in result ? result.value.succeeded : [])),
      failed: results.flatMap((result, index) =>
        'value' in result
          ? result.value.failed
          : failedRows(chunks[index] ?? [], index * ROWS_PER_CALL, result.problem),
      ),
    };
  }

  /** Makes one call to the platform, for at most 100 rows. */
  async addRows(
    call: CallContext,
    enterpriseGlobalId: string,
    rows: readonly NewMemberDto[],
    firstIndex = 0,
  ): Promise<AddedRows> {
    const request = { ids: { enterpriseGlobalId }, body: toAddRequest(rows) };
    const added = await this.upstream.call('addMembers', call, request, (data, notes) =>
      toAddedRows(data, rows, firstIndex, this.config.timestampUnit, notes, this.log.redactor),
    );
    if (added.contradicts) this.metrics.count('gateway_upstream_contract_warnings_total', CONTRADICTION);
    if (added.suffix) await this.suffixes.learn(enterpriseGlobalId, added.suffix);
    return added;
  }
}

/** True if the problem of the first call says all that the others say. `problems` has that of each call, in order. */
function areAlike(problems: readonly ProblemException[]): boolean {
  const told = problems.map((problem, chunk) => {
    const { code, outcome, upstream } = problem.body;
    return JSON.stringify([code, outcome, upstream?.code, messageOf(problem, chunk * ROWS_PER_CALL)]);
  });
  return new Set(told).size === 1;
}

/**
 * Returns the words of a call's problem for its rows. The platform counts rows from the first of the call, and a caller from the first of the
 * request. Where the words do not name the row that they are about, its pointer follows.
 */
function messageOf(problem: ProblemException, firstIndex: number): string {
  const moved = (row: string) => String(Number(row) + firstIndex);
  const words = describe(problem).replaceAll(
    /\bmembers\[(\d+)\]/g,
    (_, row: string) => `members[${moved(row)}]`,
  );
  const [fault, ...others] = problem.body.errors ?? [];
  if (!fault || !('pointer' in fault) || others.length > 0) return words;
  const [, row, field] = /^\/members\/(\d+)(\/.*)?$/.exec(fault.pointer) ?? [];
  return row === undefined ? words : `${words} (/members/${moved(row)}${field ?? ''})`;
}

function failedRows(
  rows: readonly NewMemberDto[],
  firstIndex: number,
  problem: ProblemException,
): FailedMemberDto[] {
  const { code, outcome, retryable } = problem.body;
  const failure = { code, message: messageOf(problem, firstIndex), outcome, retryable };
  return rows.map(({ account }, row) => ({ index: firstIndex + row, account, ...failure }));
}

export function toAddRequest(rows: readonly NewMemberDto[]) {
  return { userList: rows.map((row) => ({ ...toMemberTerms(row), password: row.password })) };
}

/**
 * Compares the two lists of a response (interface section 2.9) with the rows that were sent. A row in neither list, or in both, has an
 * unknown outcome. Accounts that were not sent are left out. `firstIndex` is the position of the first row in the request.
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

  const matched = matchRows(
    rows.map(({ account }) => account),
    members.map((member) => ({ userName: member.userName ?? '', member })),
    failures,
  );
  const added = new Map([...matched.added].map(([account, { member }]) => [account, member]));

  const redact = redactor.alsoMasking(() => rows.map(({ password }) => password));
  const failed = rows.flatMap(({ account }, position): FailedMemberDto[] => {
    const row = { index: firstIndex + position, account, retryable: false };
    const reason = matched.failed.get(account)?.message;
    if (added.has(account)) return reason === undefined ? [] : [{ ...row, ...OPEN.both }];
    if (reason === undefined) return [{ ...row, ...OPEN.neither }];
    const words = cleanText(reason, redact);
    const message = inOurWords(operations.addMembers, words).text || SILENT;
    return [{ ...row, code: 'upstream-rejected', message, outcome: 'not_processed' }];
  });
  return {
    succeeded: rows.flatMap(({ account }) => added.get(account) ?? []),
    added,
    failed,
    suffix: matched.suffix,
    contradicts:
      added.size < members.length ||
      matched.failed.size < failures.length ||
      failed.some(({ code }) => code !== 'upstream-rejected'),
  };
}

const SILENT = 'The platform refused this row and gave no reason.';
const violation = { code: 'upstream-contract-violation', outcome: 'unknown' } as const;
const OPEN = {
  both: { ...violation, message: 'The platform listed this row as added and as failed.' },
  neither: { ...violation, message: 'The platform did not say whether it added this row.' },
} as const;
