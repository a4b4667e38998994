import { describe, expect, it } from '@jest/globals';
import { operations, type OperationName } from '../operations.ts';
import { inOurWords } from './wire-names.ts';

describe('a text of the platform that names fields of the wire', () => {
  it.each<[OperationName, string, string, string[]]>([
    [
      'batchOrder',
      'orderList[0].customerId is unknown',
      '/items/0/customer/customerId is unknown',
      ['/items/0/customer/customerId'],
    ],
    [
      'batchOrder',
      'orderList[12].assets[3].assetNos[1] must be a string that is not empty',
      '/items/12/assets/3/assetNums/1 must be a string that is not empty',
      ['/items/12/assets/3/assetNums/1'],
    ],
    [
      'batchOrder',
      'orderList[0].assets[0].merchandises[1].children[0].licenseOrderProductList[2].productFeatures[0].featureCode is wrong, and orderList[1].adminName',
      '/items/0/assets/0/merchandises/1/children/0/products/2/features/0/code is wrong, and /items/1/admin/name',
      ['/items/0/assets/0/merchandises/1/children/0/products/2/features/0/code', '/items/1/admin/name'],
    ],
    ['batchOrder', 'orderList has a sequence twice', 'items has a sequence twice', ['/items']],
    ['batchOrder', 'assetNos and limitStartDate do not match', 'assetNums and startsAt do not match', []],
    ['batchOrder', 'appKey must not be empty', 'appKey must not be empty', []],
    [
      'batchOrder',
      'The address of the customer has no name. Sorry',
      'The address of the customer has no name. Sorry',
      [],
    ],
    ['bindCustomer', 'channelCustomerId is taken', 'channelCustomerId is taken', ['/channelCustomerId']],
    ['addMembers', 'userList must not be empty', 'members must not be empty', ['/members']],
    ['borrowAssets', 'borrowedUsbKey is wrong', 'lentLockNum is wrong', ['/lentLockNum']],
    ['listAssets', 'enterpriseGlobalId is unknown', 'enterpriseGlobalId is unknown', []],
    ['queryCustomers', 'defaultCustomer must be Y or N', 'defaultOnly must be Y or N', []],
  ])('%s: %s', (operation, message, text, pointers) => {
    expect(inOurWords(operations[operation], message)).toEqual({ text, pointers });
  });
});
