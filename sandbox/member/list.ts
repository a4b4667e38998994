/** Member operation 5: paging through an enterprise's employees (section 4.2). */
import type { Handler } from '../call.ts';
import type { Profile } from '../profile.ts';
import type { Employee } from '../state/records.ts';
import type { State } from '../state/state.ts';
import { badParameter, readCount } from './body.ts';
import { pageOf } from './page.ts';
import { listView } from './views.ts';

/**
 * Operation 5. Employees in the order of their creation, without deleted ones. `keyword` is a part of the name or of the account with
 * its suffix, in upper or lower case. An unknown enterprise has none.
 * @returns the page object of section 2.10, in the form that the profile gives it.
 */
export const listMembers: Handler = (call) => {
  const { state, query, settings, parameters } = call;
  const wanted = readCount(query, 'pageNum', Number.MAX_SAFE_INTEGER);
  const { maxPageSize, largerPages } = settings.profile;
  const most = largerPages === 'cut' ? Number.MAX_SAFE_INTEGER : maxPageSize;
  const pageSize = Math.min(readCount(query, 'pageSize', most), maxPageSize);
  const departmentId = query.get('departmentId') ?? '';
  if (!/^\d{0,19}$/.test(departmentId)) throw badParameter('departmentId must be a long');
  const keyword = (query.get('keyword') ?? '').toLowerCase();
  const enterprise = state.enterprises.get(parameters['enterpriseGlobalId'] ?? '');
  if (enterprise === undefined) return asProfiled(pageOf([], wanted, pageSize, String), settings.profile);
  const matches = (employee: Employee): boolean =>
    (departmentId === '' || employee.departmentId === departmentId) &&
    (keyword === '' ||
      employee.name.toLowerCase().includes(keyword) ||
      employee.userName.toLowerCase().includes(keyword));
  const employees = state.employees.by('enterprise', enterprise.globalId).filter(matches);
  const ordered = settings.profile.movingList === 'yes' ? moved(employees, state) : employees;
  const last = Math.max(1, Math.ceil(ordered.length / pageSize));
  const pageNum = settings.profile.pagesBeyond === 'last' ? Math.min(wanted, last) : wanted;
  const page = pageOf(ordered, pageNum, pageSize, (employee) => listView(call, enterprise, employee));
  return asProfiled(page, settings.profile);
};

const TOTALS = ['total', 'pages', 'navigatepageNums', 'lastPage'];
const FLAGS = {
  all: [],
  next: ['isLastPage', 'isFirstPage'],
  none: ['isLastPage', 'isFirstPage', 'hasNextPage'],
};

function asProfiled(page: object, { pageNumbers, pageTotal, pageFlags }: Profile): object {
  const absent = new Set<string>([...(pageTotal === 'given' ? [] : TOTALS), ...FLAGS[pageFlags]]);
  const there = Object.entries(page).filter(([name]) => !absent.has(name));
  return Object.fromEntries(
    there.map(([name, value]) => [
      name,
      pageNumbers === 'text' && typeof value === 'number' ? String(value) : value,
    ]),
  );
}

/** A reset begins to count again, so that a run can be repeated. */
export function forgetReads(state: State): void {
  reads.delete(state);
}

/** How often the lists of a state were read. */
const reads = new WeakMap<State, number>();
/** After this many reads the first of a list becomes its last, as if it had been changed. */
const READS_A_MOVE = 25;

function moved<Item>(items: readonly Item[], state: State): readonly Item[] {
  const count = reads.get(state) ?? 0;
  reads.set(state, count + 1);
  const first = Math.floor(count / READS_A_MOVE) % Math.max(1, items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
