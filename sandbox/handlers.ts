/** The handler of each operation. */
import type { Handler } from './call.ts';
import { addMembers } from './member/add.ts';
import { listAssetNums, listLentLocks } from './member/asset-numbers.ts';
import { borrowAssets } from './member/borrow.ts';
import { deleteMember, editMember, resetPassword } from './member/employees.ts';
import { listMembers } from './member/list.ts';
import { changePrivileges } from './member/privileges.ts';
import { listAssetProducts } from './member/products.ts';
import type { OperationName } from './operations.ts';
import { listAssets, obtainAssetNums } from './order/assets.ts';
import { batchOrder } from './order/batch.ts';
import { bindCustomer, createEnterprise, queryCustomers, updateCustomer } from './order/customers.ts';
import { disableLocks, enableLocks } from './order/locks.ts';

export const HANDLERS: Readonly<Record<OperationName, Handler>> = {
  bindCustomer,
  createEnterprise,
  queryCustomers,
  updateCustomer,
  batchOrder,
  disableLocks,
  enableLocks,
  listAssets,
  obtainAssetNums,
  addMembers,
  editMember,
  resetPassword,
  deleteMember,
  listMembers,
  listAssetNums,
  listAssetProducts,
  listLentLocks,
  changePrivileges,
  borrowAssets,
};
