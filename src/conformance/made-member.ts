import { randomBytes } from 'node:crypto';
import type { MemberDto } from '../member/dto/member.dto.ts';
import { toMemberPage } from '../member/member.mapper.ts';
import type { AskPage } from '../upstream/member-pages.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { Asked } from './asked.ts';
import { CannotAsk } from './cannot-ask.ts';
import { MADE, type Made, tellRefused } from './made.ts';
import { SHOWS_DELETED, suffixOf } from './member-questions.ts';
import { idOf, itemsOf, objectOf } from './values.ts';

/** Adds a member, edits it, and deletes it twice. */
export async function askByMember(asked: Asked, made: Made[]): Promise<void> {
  const { platform, findings } = asked;
  if (platform.alias === undefined || findings.unread.includes('member')) return;
  const userName = MADE + randomBytes(4).toString('hex');
  const name = `${MADE}-${userName.slice(-8)}`;
  const find = finderOf(asked, userName);
  /** From the answer to the call that adds the member. */
  let given: string | undefined;
  // Before the call: its answer may be lost.
  made.push({
    what: `the member ${name}`,
    remove: async () => {
      const memberGlobalId = given ?? (await find())?.memberGlobalId;
      if (memberGlobalId === undefined) return true;
      const own = { ids: { memberGlobalId } };
      const gone = await asked.ask('deleteMember', own);
      if (gone.kind !== 'success') return false;
      const again = await asked.ask('deleteMember', own);
      if (again.kind !== 'failed')
        findings.found('deletedTwice', again.kind === 'success' ? 'success' : 'code');
      const shown = await find();
      if (shown?.deleted) findings.remark(SHOWS_DELETED);
      return !shown || shown.deleted === true;
    },
  });
  const row = { userName, name, password: `Aa1${randomBytes(9).toString('hex')}`, remark: MADE };
  const added = await asked.ask('addMembers', { body: { userList: [row] } });
  if (added.kind !== 'success') return tellRefused(asked, added);
  given = idOf(itemsOf(objectOf(added)['succeeded'])[0]?.['globalId']);
  const first = await find();
  if (!first) return findings.remark('A new member does not show at once in the list of members.');
  const tail = first.userName?.slice(userName.length) ?? '';
  if (suffixOf(tail) === 'joined')
    findings.remark(
      'The code of the enterprise is appended to an account without a separator: the gateway cannot tell where the account ends.',
      true,
    );
  const edit = { userName, name: `${name}-2` };
  const { memberGlobalId } = first;
  const edited = await asked.ask('editMember', { ids: { memberGlobalId }, body: edit });
  if (edited.kind !== 'success') return tellRefused(asked, edited);
  // A list that does not show the new name, or that shows no remarks, does not show what became of the remark.
  const then = await find();
  if (then?.name !== edit.name)
    return findings.remark('An edit of a member does not show at once in the list of members.');
  if (first.remark !== MADE)
    return findings.remark('The list of members does not show the remark of a member.');
  findings.found('memberEdit', then.remark === MADE ? 'keeps' : 'clears');
}

/**
 * Finds the member by its account as a keyword. Where no keyword has found it yet the whole list is read, because a platform may compare
 * keywords otherwise.
 */
function finderOf(asked: Asked, userName: string): () => Promise<MemberDto | undefined> {
  let isFoundByKeyword = false;
  return async () => {
    const hit = await searched(asked, userName, userName);
    isFoundByKeyword ||= hit !== undefined;
    return hit || isFoundByKeyword ? hit : searched(asked, userName);
  };
}

async function searched(asked: Asked, userName: string, keyword?: string): Promise<MemberDto | undefined> {
  const ask: AskPage<MemberDto> = async (wanted) => {
    const { operation, kind, data, code, status } = await asked.ask('listMembers', {
      query: { keyword, ...wanted },
    });
    if (kind === 'success') return toMemberPage(data, asked.config.timestampUnit);
    throw new UpstreamFailure(operation, 'refused', true, {
      ...(code !== undefined && { code }),
      ...(status !== undefined && { status }),
    });
  };
  try {
    for await (const { items } of asked.members.all(ask))
      for (const item of items) if (item.userName?.toLowerCase().startsWith(userName)) return item;
    return undefined;
  } catch (error) {
    if (error instanceof CannotAsk) throw error;
    throw new CannotAsk('The members of the enterprise cannot be read any more.', { cause: error });
  }
}
