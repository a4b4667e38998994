import { randomBytes } from 'node:crypto';
import type { MemberDto } from '../member/dto/member.dto.ts';
import { toMemberPage } from '../member/member.mapper.ts';
import type { AskPage } from '../upstream/member-pages.ts';
import { operations } from '../upstream/operations.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { MemberPage } from '../upstream/wire/member.ts';
import { wireLong } from '../upstream/wire/scalars.ts';
import type { Asked } from './asked.ts';
import { CannotAsk } from './cannot-ask.ts';
import { MADE, type Made, tellRefused, twice } from './made.ts';
import { suffixOf } from './member-questions.ts';
import type { Answer } from './platform.ts';
import { idOf, itemsOf, objectOf } from './values.ts';

/** The mobile number of the members that are made. It has the form of such a number, and no network assigns it. */
const MOBILE = '10000000000';

/** A member as the list shows it. The gateway's reader of the list skips deleted members, so `deleted` is left out. */
interface Shown extends Pick<
  MemberDto,
  'memberGlobalId' | 'userName' | 'name' | 'departmentId' | 'remark' | 'passwordMobile'
> {
  readonly deleted: null;
  readonly isDeleted: boolean;
}

/**
 * Adds a member, edits it, adds one more whose account differs in the case of letters, and deletes both. `departmentId` is a department of
 * the enterprise, if one is known.
 */
export async function askByMember(
  asked: Asked,
  made: Made[],
  departmentId: string | undefined,
): Promise<void> {
  const { platform, findings } = asked;
  if (platform.alias === undefined || findings.unread.includes('member')) return;
  const userName = MADE + randomBytes(4).toString('hex');
  const name = `${MADE}-${userName.slice(-8)}`;
  const find = finderOf(asked, userName);
  /** The id from the answer to the call that adds the member. */
  let given: string | undefined;
  let first: Shown | undefined;
  /** True once the whole list, and not only a search, has shown the member. */
  let wasListed = false;
  /** True once the platform has refused the member. A member whose add has an open outcome may still appear. */
  let isRefused = false;
  // The member is noted before the call, because the answer may be lost.
  made.push({
    what: `the member ${name}`,
    remove: async () => {
      const memberGlobalId = given ?? (await find())[0]?.memberGlobalId;
      if (memberGlobalId === undefined) return isRefused;
      const own = { ids: { memberGlobalId } };
      const gone = await asked.ask('deleteMember', own);
      if (gone.kind !== 'success') return false;
      const again = await asked.ask('deleteMember', own);
      if (again.kind !== 'failed')
        findings.found('deletedTwice', again.kind === 'success' ? 'success' : 'code');
      const isIt = (each: Shown) => each.memberGlobalId === memberGlobalId;
      // A platform may leave deleted members out of a search, and show them in the list.
      let shown = (await find()).find(isIt);
      const isLeftOut = async () => (shown ??= (await searched(asked, userName)).find(isIt)) === undefined;
      if (await twice(isLeftOut)) {
        if (wasListed && findings.readings.deletedMembers !== 'listed')
          findings.found('deletedMembers', 'left-out');
        return true;
      }
      if (shown?.isDeleted) findings.found('deletedMembers', 'listed');
      return shown?.isDeleted === true;
    },
  });
  const row = { userName, name, password: newPassword(), remark: MADE };
  const added = await asked.ask('addMembers', { body: { userList: [row] } });
  isRefused = added.didNothing || isRowRefused(added);
  if (added.kind !== 'success') return tellRefused(asked, added);
  const [created] = itemsOf(objectOf(added)['succeeded']);
  given = idOf(created?.['globalId']);
  [first] = await find();
  if (!first) return findings.remark('A new member does not show at once in the list of members.');
  const suffix = suffixOf((first.userName ?? '').slice(userName.length));
  if (suffix) findings.found('accountSuffix', suffix);
  else findings.contradicted('accountSuffix');
  wasListed = (await searched(asked, userName)).some((each) => each.memberGlobalId === first?.memberGlobalId);
  await edit(asked, first, { userName, name }, departmentId, find);
  await addInUpperCase(asked, made, first, row);
}

/** Edits the member, and leaves out the remark, the mobile number and the department. */
async function edit(
  asked: Asked,
  { memberGlobalId, remark }: Shown,
  body: { readonly userName: string; readonly name: string },
  departmentId: string | undefined,
  find: () => Promise<readonly Shown[]>,
): Promise<void> {
  const { findings } = asked;
  const ids = { memberGlobalId };
  const shown = async () => (await find()).find((each) => each.memberGlobalId === memberGlobalId);
  // These fields have an edit of their own, because a platform may refuse a number that no network has.
  const fields = { departmentId: wireLong(departmentId), remark: MADE, passwordMobile: MOBILE };
  await asked.ask('editMember', { ids, body: { ...body, ...fields } });
  const before = await shown();
  const edited = await asked.ask('editMember', { ids, body: { ...body, name: `${body.name}-2` } });
  if (edited.kind !== 'success') return tellRefused(asked, edited);
  // The effect on the other fields is visible only if the list has the new name and shows remarks.
  const then = await shown();
  if (then?.name !== `${body.name}-2`)
    return findings.remark('An edit of a member does not show at once in the list of members.');
  if (remark !== MADE) return findings.remark('The list of members does not show the remark of a member.');
  const isKept = [
    then.remark === MADE,
    ...(['passwordMobile', 'departmentId'] as const)
      .filter((name) => (before?.[name] ?? null) !== null)
      .map((name) => then[name] === before?.[name]),
  ];
  if (!isKept.includes(true)) findings.found('memberEdit', 'clears');
  else if (isKept.includes(false)) {
    findings.remark('An edit of a member clears some of the fields that it leaves out, and keeps others.');
    findings.contradicted('memberEdit');
  }
  // Unless every field was seen, it is not known whether an edit would keep it.
  else if (isKept.length === 3) findings.found('memberEdit', 'keeps');
}

/** Tells whether an account in capital letters is another member. If it is the same one, the row fails, or names the first member. */
async function addInUpperCase(
  asked: Asked,
  made: Made[],
  first: Shown,
  row: { readonly userName: string; readonly name: string },
): Promise<void> {
  const userName = row.userName.toUpperCase();
  const find = finderOf(asked, userName);
  const others = async () =>
    (await find()).filter((each) => each.memberGlobalId !== first.memberGlobalId && !each.isDeleted);
  let given: string | undefined;
  /** True once the answer has shown that there is no second member. */
  let isNone = false;
  made.push({
    what: `the member ${row.name}-3`,
    remove: async () => {
      const memberGlobalId = given ?? (await others())[0]?.memberGlobalId;
      if (memberGlobalId === undefined) return isNone;
      const gone = await asked.ask('deleteMember', { ids: { memberGlobalId } });
      return gone.kind === 'success' && (await others()).length === 0;
    },
  });
  const upper = { ...row, userName, name: `${row.name}-3`, password: newPassword() };
  const added = await asked.ask('addMembers', { body: { userList: [upper] } });
  const created = idOf(itemsOf(objectOf(added)['succeeded'])[0]?.['globalId']);
  const isSame = created === first.memberGlobalId || isRowRefused(added);
  isNone = isSame || added.didNothing;
  if (isSame) return asked.findings.found('accountCase', 'one');
  given = created;
  if (given !== undefined) asked.findings.found('accountCase', 'two');
}

/** True if the call was carried out, and its only row was not. */
function isRowRefused(added: Answer): boolean {
  return added.code === operations.addMembers.partialCode || itemsOf(objectOf(added)['failed']).length > 0;
}

function newPassword(): string {
  // A platform may refuse longer passwords.
  return `Aa1${randomBytes(5).toString('hex').slice(1)}`;
}

/**
 * Finds the members with this account, ignoring case, by the account as a keyword. If no keyword has found one yet, the whole list is read,
 * because a platform may compare keywords in another way.
 */
function finderOf(asked: Asked, userName: string): () => Promise<readonly Shown[]> {
  let isFoundByKeyword = false;
  return async () => {
    const hits = await searched(asked, userName, userName);
    isFoundByKeyword ||= hits.length > 0;
    return isFoundByKeyword ? hits : searched(asked, userName);
  };
}

async function searched(asked: Asked, userName: string, keyword?: string): Promise<readonly Shown[]> {
  const ask: AskPage<Shown> = async (wanted) => {
    const { operation, kind, data, code, status } = await asked.ask('listMembers', {
      query: { keyword, ...wanted },
    });
    if (kind === 'success') return asShown(toMemberPage(data, asked.config.timestampUnit));
    throw new UpstreamFailure(operation, 'refused', true, {
      ...(code !== undefined && { code }),
      ...(status !== undefined && { status }),
    });
  };
  const found: Shown[] = [];
  try {
    for await (const { items } of asked.members.all(ask))
      for (const item of items)
        if (item.userName?.toLowerCase().startsWith(userName.toLowerCase())) found.push(item);
    return found;
  } catch (error) {
    if (error instanceof CannotAsk) throw error;
    throw new CannotAsk('The members of the enterprise cannot be read any more.', { cause: error });
  }
}

function asShown(page: MemberPage<MemberDto>): MemberPage<Shown> {
  const items = page.items.map(
    (item) => item && { ...item, deleted: null, isDeleted: item.deleted === true },
  );
  return { ...page, items };
}
