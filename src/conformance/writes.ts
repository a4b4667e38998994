import type { Asked } from './asked.ts';
import { MADE, type Made, tellRefused } from './made.ts';
import { askByMember } from './made-member.ts';
import { askByOrder } from './made-order.ts';
import { type Answers, MAX_PAGE_SIZE } from './answers.ts';
import type { Answer } from './platform.ts';
import { countOf, idOf, largest, objectOf, rowsOf } from './values.ts';

const MAX_LOCKS = 1_000;

/** True if the enterprise has members that no run of this command has made, as far as a page shows them. */
export async function mayHaveMembersOfItsOwn(asked: Asked): Promise<boolean> {
  const { maxPageSize = MAX_PAGE_SIZE, firstPage = 1 } = asked.findings.readings;
  const query = { pageNum: String(firstPage), pageSize: String(Math.min(MAX_PAGE_SIZE, maxPageSize)) };
  const page = await asked.ask('listMembers', { query });
  const { list, total } = objectOf(page);
  if (!Array.isArray(list)) return true;
  const made = rowsOf(page).filter(({ userName }) => String(userName).startsWith(MADE)).length;
  return made < Math.max(list.length, countOf(total) ?? 0);
}

/** Asks the questions that need a write. Every object is removed again, and the report names those that could not be removed. */
export async function askByWriting(
  asked: Asked,
  { member }: Answers,
  withOrder: boolean,
  over: AbortSignal,
): Promise<void> {
  const made: Made[] = [];
  try {
    await locks(asked);
    await numbers(asked);
    if (!over.aborted) await askByMember(asked, made, departmentIn(member?.firstPage));
    if (withOrder && !over.aborted) await askByOrder(asked, made);
  } finally {
    for (const { what, remove } of made.toReversed())
      if (!(await remove().catch(() => false))) asked.findings.left.push(what);
  }
}

/** Returns a department that a member has. */
function departmentIn(members: Answer | undefined): string | undefined {
  const ids = rowsOf(members).map(({ departmentId }) => idOf(departmentId) ?? '');
  return ids.find((id) => /^[1-9]\d{0,18}$/.test(id));
}

/** Asks with locks that do not exist, so nothing is locked. */
async function locks(asked: Asked): Promise<void> {
  const ask = (count: number) => {
    const assetNums = Array.from({ length: count }, (_, index) => `${MADE}-${index}`);
    return asked.ask('disableLocks', { body: { assetNums, operatorIdentity: MADE } });
  };
  const one = await ask(1);
  if (one.kind !== 'success') return tellRefused(asked, one);
  const isTaken = async (count: number) => {
    const { kind } = await ask(count);
    return kind === 'failed' ? undefined : kind === 'success';
  };
  const takesAll = await isTaken(MAX_LOCKS);
  const most = takesAll === false ? await largest(MAX_LOCKS, isTaken) : takesAll && MAX_LOCKS;
  asked.findings.found('maxLocksPerCall', most);
}

async function numbers(asked: Asked): Promise<void> {
  const answer = await asked.ask('obtainAssetNums', { body: { size: 1 } });
  if (answer.kind !== 'success') return tellRefused(asked, answer);
  const [number] = Array.isArray(answer.data) ? (answer.data as unknown[]) : [];
  if (!/^\d{10}$/.test(idOf(number) ?? ''))
    asked.findings.remark('An asset number has another form than ten digits.');
}
