import { type ImportFile, NAME } from './file.ts';
import type { ImportStage } from './stage.ts';

export interface Job {
  readonly jobId: string;
  readonly state: string;
  readonly total: number;
  readonly done: number;
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly problem: { readonly code: string } | null;
}

interface Row {
  readonly row: number | null;
  readonly account: string;
  readonly status: string;
  readonly memberGlobalId: string | null;
}

interface Member {
  readonly userName: string;
  readonly memberGlobalId: string;
  readonly name: string;
}

const ENDS: ReadonlySet<string> = new Set(['succeeded', 'completed', 'cancelled', 'failed']);

export function hasEnded({ state }: Job): boolean {
  return ENDS.has(state);
}

/** Members by account; more than one where the platform has an account twice. */
export async function membersOf(stage: ImportStage, enterprise: string): Promise<Map<string, Member[]>> {
  const members = await stage.lines<Member>(`/v1/enterprises/${enterprise}/members/export`);
  const found = new Map<string, Member[]>();
  for (const member of members) {
    const account = member.userName.replace(/@.*/, '');
    found.set(account, [...(found.get(account) ?? []), member]);
  }
  return found;
}

/** What each row says must be what was expected, and what the platform has. */
export async function falseRows(stage: ImportStage, file: ImportFile, job: Job): Promise<string[]> {
  if (!hasEnded(job)) return [];
  const violations: string[] = [];
  const { enterprise, expected } = file;
  const rows = await stage.lines<Row>(`/v1/jobs/${job.jobId}/rows`);
  const found = await membersOf(stage, enterprise);
  for (const [account, members] of found)
    if (members.length > 1) violations.push(`${enterprise} has ${account} ${members.length} times`);
  if (rows.length !== expected.size || job.total !== rows.length || job.done !== rows.length)
    violations.push(
      `${job.jobId} (${job.state}) has ${rows.length} rows, ${job.done} done of ${job.total}, and should have ${expected.size}`,
    );
  for (const { account, status, memberGlobalId } of rows) {
    const [member] = found.get(account) ?? [];
    const wanted = expected.get(account);
    if (status !== wanted) violations.push(`${account} is ${status}, and should be ${wanted}`);
    const isMade = member?.name === NAME;
    if (isMade !== (status === 'added' || status === 'updated'))
      violations.push(`${account} is ${status}, and ${isMade ? 'has' : 'has not'} what its row says`);
    if (status === 'deleted' && member) violations.push(`${account} is ${status}, and is still there`);
    if (isMade && member?.memberGlobalId !== memberGlobalId)
      violations.push(`${account} is another member than its row says`);
  }
  return violations;
}
