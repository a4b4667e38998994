import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { UpstreamConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { type AddedRows, toAddedRows, toAddRequest } from './add-members.mapper.ts';
import type { AddMembersDto, AddMembersResultDto, FailedMemberDto, NewMemberDto } from './dto/member.dto.ts';
import { describe, logPartial, settle } from './member-failure.ts';

/** Interface section 8. */
const ROWS_PER_CALL = 100;
/** Enough to halve the time of a large request, and few enough for the platform to serve other requests too. */
const CALLS_AT_A_TIME = 2;

/** Adds members in calls of the size that the platform accepts, and joins their results row by row. It repeats no call. */
@Injectable()
export class AddMembersService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {}

  /**
   * Returns the outcome of each row. Where a whole call fails, its rows report it, so that the results of the others stay. Where
   * all calls failed in the same way, the response is that problem.
   */
  async addMembers(
    call: CallContext,
    enterpriseGlobalId: string,
    { members }: AddMembersDto,
  ): Promise<AddMembersResultDto> {
    const chunks = chunksOf(members);
    const limit = pLimit(CALLS_AT_A_TIME);
    const results = await limit.map(chunks, (rows, index) =>
      settle(this.send(call, enterpriseGlobalId, rows, index * ROWS_PER_CALL)).catch((fault: unknown) => {
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

  /** One call to the platform, for at most 100 rows. */
  async send(
    call: CallContext,
    enterpriseGlobalId: string,
    rows: readonly NewMemberDto[],
    firstIndex = 0,
  ): Promise<AddedRows> {
    const request = { ids: { enterpriseGlobalId }, body: toAddRequest(rows) };
    const added = await this.upstream.call('addMembers', call, request, (data, notes) =>
      toAddedRows(data, rows, firstIndex, this.config.timestampUnit, notes, this.log.redactor),
    );
    if (added.contradicts)
      this.metrics.count('gateway_upstream_contract_warnings_total', {
        operation: 'addMembers',
        what: 'contradiction',
      });
    return added;
  }
}

function chunksOf(members: readonly NewMemberDto[]): NewMemberDto[][] {
  return Array.from({ length: Math.ceil(members.length / ROWS_PER_CALL) }, (_, index) =>
    members.slice(index * ROWS_PER_CALL, (index + 1) * ROWS_PER_CALL),
  );
}

/** Whether all problems are the same. */
function areAlike(problems: readonly ProblemException[]): boolean {
  return new Set(problems.map(({ body }) => `${body.code} ${body.outcome}`)).size === 1;
}

function failedRows(
  rows: readonly NewMemberDto[],
  firstIndex: number,
  problem: ProblemException,
): FailedMemberDto[] {
  const { code, outcome, retryable } = problem.body;
  const message = describe(problem);
  return rows.map(({ account }, row) => ({
    index: firstIndex + row,
    account,
    code,
    message,
    outcome,
    retryable,
  }));
}
