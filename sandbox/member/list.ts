/** Member operation 5: paging through an enterprise's employees (section 4.2). */
import type { Call, Handler } from '../call.ts';
import type { Profile } from '../profile.ts';
import type { Employee } from '../state/records.ts';
import type { State } from '../state/state.ts';
import { badParameter, readCount } from './body.ts';
import { pageOf } from './page.ts';
import { listView, shownUserName } from './views.ts';

/**
 * Operation 5 lists employees in the order of their creation, without deleted ones unless the profile lists them. The profile also defines
 * what `keyword` matches; case is ignored. An unknown enterprise has none.
 * @returns the page object of section 2.10, in the form of the profile
 */
export const listMembers: Handler = (call) => {
  const { state, query, settings, parameters } = call;
  const { maxPageSize, largerPages, firstPage, pagesBeyond } = settings.profile;
  const wanted = 1 - firstPage + readCount(query, 'pageNum', Number.MAX_SAFE_INTEGER, firstPage);
  const most = largerPages === 'cut' ? Number.MAX_SAFE_INTEGER : maxPageSize;
  const pageSize = Math.min(readCount(query, 'pageSize', most), maxPageSize);
  const departmentId = query.get('departmentId') ?? '';
  if (!/^\d{0,19}$/.test(departmentId)) throw badParameter('departmentId must be a long');
  const keyword = (query.get('keyword') ?? '').toLowerCase();
  const enterprise = state.enterprises.get(parameters['enterpriseGlobalId'] ?? '');
  if (enterprise === undefined) return asProfiled(pageOf([], wanted, pageSize, String), settings.profile);
  const isFound = FOUND[settings.profile.keyword];
  const matches = (employee: Employee): boolean =>
    (departmentId === '' || employee.departmentId === departmentId) &&
    (keyword === '' ||
      isFound(
        keyword,
        shownUserName(call, enterprise, employee.userName).toLowerCase(),
        employee.name.toLowerCase(),
      ));
  const employees = employeesOf(call, enterprise.globalId).filter(matches);
  const ordered = settings.profile.movingList === 'yes' ? moved(employees, state) : employees;
  const last = Math.max(1, Math.ceil(ordered.length / pageSize));
  const pageNum = pagesBeyond === 'last' ? Math.min(wanted, last) : wanted;
  const page = pageOf(ordered, pageNum, pageSize, (employee) => listView(call, enterprise, employee));
  return asProfiled(page, settings.profile);
};

type IsFound = (keyword: string, userName: string, name: string) => boolean;
const FOUND: Readonly<Record<Profile['keyword'], IsFound>> = {
  part: (keyword, userName, name) => userName.includes(keyword) || name.includes(keyword),
  whole: (keyword, userName, name) => userName === keyword || name === keyword,
  beginning: (keyword, userName, name) => userName.startsWith(keyword) || name.startsWith(keyword),
  account: (keyword, userName) => userName.includes(keyword),
};

function employeesOf({ state, settings }: Call, enterpriseGlobalId: string): readonly Employee[] {
  if (settings.profile.deletedMembers === 'left-out')
    return state.employees.by('enterprise', enterpriseGlobalId);
  return state.employees.copy().filter((employee) => employee.enterpriseGlobalId === enterpriseGlobalId);
}

const TOTALS = ['total', 'pages', 'navigatepageNums', 'lastPage'];
const FLAGS = {
  all: [],
  next: ['isLastPage', 'isFirstPage'],
  none: ['isLastPage', 'isFirstPage', 'hasNextPage'],
};

/** The numbers of pages, which begin with the number of the first page. */
const NUMBERS = ['pageNum', 'prePage', 'nextPage', 'firstPage', 'lastPage'];

function asProfiled(page: object, { pageNumbers, pageTotal, pageFlags, firstPage }: Profile): object {
  const numbered = (name: string, value: unknown): unknown => {
    if (name === 'navigatepageNums') return (value as number[]).map((number) => number - 1 + firstPage);
    return NUMBERS.includes(name) ? Math.max(0, Number(value) - 1 + firstPage) : value;
  };
  const absent = new Set<string>([...(pageTotal === 'given' ? [] : TOTALS), ...FLAGS[pageFlags]]);
  const there = Object.entries(page)
    .filter(([name]) => !absent.has(name))
    .map(([name, value]) => [name, numbered(name, value)] as const);
  return Object.fromEntries(
    there.map(([name, value]) => [
      name,
      pageNumbers === 'text' && typeof value === 'number' ? String(value) : value,
    ]),
  );
}

/** Forgets the number of reads. A reset does so, so that a run can be repeated. */
export function forgetReads(state: State): void {
  reads.delete(state);
}

/** The number of reads of the lists of a state. */
const reads = new WeakMap<State, number>();
/** The number of reads after which the first item of a list becomes its last, as if it had been changed. */
const READS_A_MOVE = 25;

function moved<Item>(items: readonly Item[], state: State): readonly Item[] {
  const count = reads.get(state) ?? 0;
  reads.set(state, count + 1);
  const first = Math.floor(count / READS_A_MOVE) % Math.max(1, items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
