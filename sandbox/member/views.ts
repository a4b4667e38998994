/** Employees as the member center shows them (sections 2.9 and 2.10). */
import { type Call, wireTime } from '../call.ts';
import { exactNumber, exactText } from '../json.ts';
import type { Employee, Enterprise } from '../state/records.ts';

/** Returns an employee in the form of section 2.9. */
export function createdView(call: Call, enterprise: Enterprise, employee: Employee): Record<string, unknown> {
  return {
    id: memberId(call, employee.id),
    userId: memberId(call, employee.userId),
    globalId: employee.globalId,
    enterpriseId: memberId(call, enterprise.enterpriseId),
    departmentId: departmentId(call, employee),
    departmentName: employee.departmentName,
    userName: shownUserName(call, enterprise, employee.userName),
    name: employee.name,
    remark: employee.remark,
    deleted: employee.deleted,
    updateTime: wireTime(call, employee.updateTime),
    createTime: wireTime(call, employee.createTime),
  };
}

/**
 * Returns an employee in the form of section 2.10. `assetNums` are the numbers that are assigned to the employee. `borrowNum` is the lent
 * lock that is lent to the employee (the first of several), or null.
 */
export function listView(call: Call, enterprise: Enterprise, employee: Employee): Record<string, unknown> {
  const { state } = call;
  const { globalId: enterpriseGlobalId } = enterprise;
  const assigned = state.assets.by('member', employee.globalId);
  const lent = state.assets.by('lentToMember', employee.globalId);
  return {
    id: memberId(call, employee.id),
    userId: memberId(call, employee.userId),
    globalId: employee.globalId,
    enterpriseId: memberId(call, enterprise.enterpriseId),
    departmentId: departmentId(call, employee),
    departmentName: employee.departmentName,
    userName: shownUserName(call, enterprise, employee.userName),
    ...shownMobile(call, employee),
    name: employee.name,
    assetNums: assigned
      .filter((asset) => state.enterpriseOf(asset) === enterpriseGlobalId)
      .map(({ assetNum }) => assetNum),
    borrowNum: lent.find((lock) => state.enterpriseOf(lock) === enterpriseGlobalId)?.assetNum ?? null,
    onlineFlag: employee.online,
    remark: employee.remark,
    deleted: employee.deleted,
    updateTime: wireTime(call, employee.updateTime),
    createTime: wireTime(call, employee.createTime),
    boundUserInfo: null,
  };
}

function memberId({ settings }: Call, digits: string): object {
  return settings.profile.memberIds === 'number' ? exactNumber(digits) : exactText(digits);
}

function departmentId(call: Call, employee: Employee): object | null {
  return employee.departmentId === null ? null : memberId(call, employee.departmentId);
}

/** Returns the account with the enterprise's code appended, as the profile says. The name for login does not depend on the profile. */
export function shownUserName({ settings }: Call, { suffix }: Enterprise, userName: string): string {
  const { accountSuffix } = settings.profile;
  if (accountSuffix === 'separated' || suffix === '' || !userName.endsWith(suffix)) return userName;
  const code = suffix.replace(/^[^A-Za-z0-9]+/, '');
  return userName.slice(0, -suffix.length) + (accountSuffix === 'dotted' ? `.${code}` : code);
}

function shownMobile({ settings }: Call, { passwordMobile }: Employee): object {
  const { mobiles } = settings.profile;
  if (mobiles === 'absent') return {};
  const shown =
    mobiles === 'masked' && passwordMobile !== null
      ? `${passwordMobile.slice(0, 3)}****${passwordMobile.slice(-4)}`
      : passwordMobile;
  return { passwordMobile: shown };
}
