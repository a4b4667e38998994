/** Member operation 5: paging through an enterprise's employees (section 4.2). */
import type { Handler } from '../call.ts';
import type { Employee } from '../state/records.ts';
import { badParameter, readCount } from './body.ts';
import { pageOf } from './page.ts';
import { listView } from './views.ts';

/**
 * Operation 5. Employees in the order of their creation, without deleted ones. `keyword` is a part of the name or of the account with
 * its suffix, in upper or lower case. An unknown enterprise has none.
 * @returns the page object of section 2.10.
 */
export const listMembers: Handler = (call) => {
  const { state, query, settings, parameters } = call;
  const pageNum = readCount(query, 'pageNum', Number.MAX_SAFE_INTEGER);
  const { maxPageSize, largerPages } = settings.profile;
  const most = largerPages === 'cut' ? Number.MAX_SAFE_INTEGER : maxPageSize;
  const pageSize = Math.min(readCount(query, 'pageSize', most), maxPageSize);
  const departmentId = query.get('departmentId') ?? '';
  if (!/^\d{0,19}$/.test(departmentId)) throw badParameter('departmentId must be a long');
  const keyword = (query.get('keyword') ?? '').toLowerCase();
  const enterprise = state.enterprises.get(parameters['enterpriseGlobalId'] ?? '');
  if (enterprise === undefined) return pageOf([], pageNum, pageSize, String);
  const matches = (employee: Employee): boolean =>
    (departmentId === '' || employee.departmentId === departmentId) &&
    (keyword === '' ||
      employee.name.toLowerCase().includes(keyword) ||
      employee.userName.toLowerCase().includes(keyword));
  const employees = state.employees.by('enterprise', enterprise.globalId).filter(matches);
  return pageOf(employees, pageNum, pageSize, (employee) => listView(call, enterprise, employee));
};
