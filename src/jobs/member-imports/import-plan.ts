import { sameCase } from '../../member/account-suffix.ts';
import { inOwnTrace } from '../../observability/tracing.ts';
import { ProblemException } from '../../problem/problem.exception.ts';
import { problemFrom } from '../../upstream/problems/as-problem.ts';
import { chunksOf } from '../../shared/chunks-of.ts';
import type { ChunkRows, HeldJob } from '../store/held-job.ts';
import { type ImportOptions, ROWS_PER_CHUNK, type RowResult, type WaitingRow } from '../store/job-record.ts';
import type { ImportCalls } from './import-calls.ts';
import type { KnownMember, KnownMembers } from './known-members.ts';
import { PERHAPS_ADDED } from './row-outcomes.ts';
import { asKnown, existsAlready, RowPlanner } from './row-plan.ts';

/**
 * Returns the members whom no row has named that the planner has seen, without the acting user, the accounts to keep, and members whom no
 * file can add. Returns nobody if the file may be of another enterprise, or if a row names two members. Throws `too-many-deletes` if there are more than the request allows,
 * and a problem if the list does not show who is missing.
 */
export function surplus(
  members: KnownMembers,
  planner: RowPlanner,
  { deletes }: ImportOptions,
  actingUser: string,
): readonly KnownMember[] {
  if (!deletes) return [];
  members.assertAccounts();
  if (planner.isOfAnother) return [];
  const kept = new Set([...deletes.keep, actingUser].map(sameCase));
  // The user may log in with another form of the name than the list shows.
  const user = lettersOf(actingUser);
  const found = members.all().filter((member) => {
    const { account, userName } = member;
    const isKept = kept.has(sameCase(account)) || kept.has(sameCase(userName)) || planner.names(member);
    return !isKept && lettersOf(userName) !== user;
  });
  if (found.length > deletes.most)
    throw new ProblemException('too-many-deletes', {
      detail: `${found.length} members are not in the file, and maxDeletes allows to delete ${deletes.most}.`,
    });
  return found;
}

function lettersOf(name: string): string {
  return sameCase(name).replace(/[^\p{L}\p{N}]/gu, '');
}

/** Returns the accounts that rows certainly name. An account that was read from a user name may still have the code of the enterprise. */
export function accountsGivenIn(rows: readonly WaitingRow[]): string[] {
  return rows.flatMap(({ member: { account, userName } }) => (userName === undefined ? [account] : []));
}

/**
 * Adds chunks with the members to delete, and resolves to the number of chunks. It may be repeated as long as nothing was sent. `recorded`
 * has a chunk only if the database may have lost a call with its rows.
 */
export async function makePlan(
  held: HeldJob,
  calls: ImportCalls,
  recorded: ReadonlyMap<number, number>,
): Promise<number> {
  const { definition, total } = held.job;
  const accounts = new Set<string>();
  let isComplete = true;
  for (let chunk = 0; chunk < held.job.chunks; chunk++)
    for (const account of accountsGivenIn((await held.chunk(chunk))?.waiting ?? [])) accounts.add(account);
  const members = await readMembers(held, calls, accounts);
  const planner = new RowPlanner(members, definition.mode);
  for (let chunk = 0; chunk < held.job.chunks; chunk++) {
    const rows = await held.chunk(chunk);
    if (rows) await planChunk(held, chunk, rows, members, planner, recorded.has(chunk));
    else isComplete = false;
  }
  // Only a complete file shows who is missing from it.
  const deletions = isComplete ? surplus(members, planner, definition, definition.user.username) : [];
  let { chunks } = held.job;
  for (const some of chunksOf(deletions, ROWS_PER_CHUNK)) await held.save(chunks++, deletionRows(some));
  await held.prepared(chunks, total + deletions.length);
  return chunks;
}

async function planChunk(
  held: HeldJob,
  chunk: number,
  { results, waiting }: ChunkRows,
  members: KnownMembers,
  planner: RowPlanner,
  mayBeSent: boolean,
): Promise<void> {
  const rows = new Map(waiting.map(({ at, member }) => [at, member]));
  const planned = results.map((result, at) => {
    const row = chunk * ROWS_PER_CHUNK + at + 1;
    const member = rows.get(at);
    if (!member) return planner.keep(row, result);
    const plan = planner.plan(row, member);
    return mayBeSent && existsAlready(plan) ? { ...plan, ...PERHAPS_ADDED } : plan;
  });
  // The chunk already marks its rows as new, under these accounts.
  const isSame = planned.every(
    ({ status, was, account }, at) =>
      status === 'pending' && was === undefined && account === results[at]?.account,
  );
  if (isSame) return;
  const open = waiting.filter(({ at }) => planned[at]?.status === 'pending');
  await held.save(chunk, { results: planned, waiting: open.map((row) => asKnown(row, members)) });
}

function deletionRows(members: readonly KnownMember[]): ChunkRows {
  const results = members.map(({ account, memberGlobalId }): RowResult => {
    return { account, memberGlobalId, status: 'pending', was: 'surplus' };
  });
  return { results, waiting: members.map(({ account }, at) => withoutValues(account, at)) };
}

/** Returns a row without values: of a member to delete, or of a row whose values were deleted. */
export function withoutValues(account: string, at: number): WaitingRow {
  return { at, member: { account } };
}

/** Reads the whole list of members. Throws `TryLater` if the platform does not return it now. */
async function readMembers(
  held: HeldJob,
  calls: ImportCalls,
  accounts: ReadonlySet<string>,
): Promise<KnownMembers> {
  held.assertHeld();
  try {
    return await inOwnTrace('import', () => calls.all(accounts), held.job.definition.trace);
  } catch (error) {
    held.assertHeld();
    const problem = problemFrom(error);
    const { outcome, status } = problem.body;
    throw held.isOverdue || outcome !== 'not_processed' || status < 500 ? problem : held.tryLater(problem);
  }
}
