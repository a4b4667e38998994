/** Member operation 1: adding employees in batch (section 4.2). */
import type { Call, Handler } from '../call.ts';
import { Refusal } from '../errors.ts';
import { newEmployee } from '../state/creation.ts';
import type { Enterprise } from '../state/records.ts';
import { badParameter, readObject } from './body.ts';
import {
  departmentName,
  type EmployeeTerms,
  type EmptyCodes,
  readPassword,
  readTerms,
} from './employee-fields.ts';
import { createdView } from './views.ts';
import { holderOf } from './who.ts';

const BODY_FIELDS = new Set(['userList']);
const ROW_FIELDS = new Set(['userName', 'password', 'departmentId', 'name', 'remark', 'passwordMobile']);
const EMPTY: EmptyCodes = { account: '40008', name: '40022' };

/** The most rows of a call (section 8). */
const MAX_ROWS = 100;

interface NewMember extends EmployeeTerms {
  readonly password: string;
}

/** A failed row (section 2.9). `userName` is unchanged. */
interface Failure {
  readonly userName: string;
  readonly message: string;
}

/**
 * Operation 1. The whole call fails because of the list as a whole, the enterprise's suffix (an unknown enterprise has none) or a trial's
 * limit. An account that is taken, in the enterprise or earlier in the list, fails only its row. With failed rows the response is 60027
 * with both lists, even if all of them failed.
 * @returns `{ succeeded, failed }` of section 2.9, in the order of the rows
 */
export const addMembers: Handler = (call) => {
  const rows = readRows(call);
  const enterprise = call.state.enterprises.get(call.parameters['enterpriseGlobalId'] ?? '');
  if (enterprise === undefined || enterprise.suffix === '') throw new Refusal('40006');
  const { members, failed } = sortOut(call, enterprise, rows);
  checkTrialLimit(call, enterprise, members.length);
  const succeeded = members.map((member) => createdView(call, enterprise, create(call, enterprise, member)));
  const data = { succeeded, failed };
  return failed.length === 0 ? data : new Refusal('60027', `${failed.length} of ${rows.length}`, { data });
};

function readRows({ body, settings }: Call): readonly unknown[] {
  const { userList } = readObject(body, 'the body', BODY_FIELDS, settings);
  if (!Array.isArray(userList)) throw badParameter('userList must be an array');
  if (userList.length === 0) throw new Refusal('40021');
  if (userList.length > MAX_ROWS) throw new Refusal('60013');
  return userList;
}

function sortOut(
  call: Call,
  enterprise: Enterprise,
  rows: readonly unknown[],
): { members: NewMember[]; failed: Failure[] } {
  const members: NewMember[] = [];
  const failed: Failure[] = [];
  const taken = new Set<string>();
  for (const [place, row] of rows.entries()) {
    const values = readObject(row, `userList[${place}]`, ROW_FIELDS, call.settings);
    try {
      const terms = readTerms(values, enterprise, EMPTY);
      const password = readPassword(values['password'], call.settings);
      const { account } = terms;
      const name = call.settings.profile.accountCase === 'two' ? account : account.toLowerCase();
      if (taken.has(name) || holderOf(call, enterprise, account) !== undefined) {
        failed.push({ userName: account, message: 'the account exists already' });
      } else {
        taken.add(name);
        members.push({ ...terms, password });
      }
    } catch (error) {
      if (!(error instanceof Refusal) || call.settings.rowFaults === 'whole') throw error;
      const userName = values['userName'];
      failed.push({ userName: typeof userName === 'string' ? userName : '', message: error.message });
    }
  }
  return { members, failed };
}

/** Checks the limit of a trial. Every employee counts, including the administrator. */
function checkTrialLimit({ state }: Call, { globalId, trialMemberLimit }: Enterprise, added: number): void {
  if (trialMemberLimit === null) return;
  const present = state.employees.by('enterprise', globalId).length;
  if (present + added <= trialMemberLimit) return;
  const message = `the enterprise account may create only ${trialMemberLimit} trial member accounts`;
  throw new Refusal('60009', `it has ${present}, and ${added} more are wanted`, { message });
}

function create(call: Call, enterprise: Enterprise, member: NewMember): ReturnType<typeof newEmployee> {
  const { departmentId, remark, passwordMobile, ...rest } = member;
  return newEmployee(call, enterprise, {
    ...rest,
    departmentId: departmentId ?? null,
    departmentName: departmentId === undefined ? null : departmentName(enterprise, departmentId),
    remark: remark ?? null,
    passwordMobile: passwordMobile ?? null,
  });
}
