import { describe, expect, it } from '@jest/globals';
import { operations, type OperationName } from '../operations.ts';
import { inOurWords } from './wire-names.ts';

describe('a text of the platform that names fields of the wire has our names in their place', () => {
  it.each<[OperationName, string, string, string[]]>([
    [
      'batchOrder',
      'orderList[0].customerId is unknown',
      'customerId is unknown',
      ['/items/0/customer/customerId'],
    ],
    [
      'batchOrder',
      'orderList[12].assets[3].assetNos[1] must be a string that is not empty',
      'assetNums[1] must be a string that is not empty',
      ['/items/12/assets/3/assetNums/1'],
    ],
    [
      'batchOrder',
      'orderList[0].assets[0].merchandises[1].children[0].licenseOrderProductList[2].productFeatures[0].featureCode is wrong, and orderList[1].adminName',
      'items[0].assets[0].merchandises[1].children[0].products[2].features[0].code is wrong, and items[1].admin.name',
      ['/items/0/assets/0/merchandises/1/children/0/products/2/features/0/code', '/items/1/admin/name'],
    ],
    [
      'batchOrder',
      'orderList[0]: the customer is not one of that enterprise',
      'items[0]: the customer is not one of that enterprise',
      ['/items/0'],
    ],
    [
      'batchOrder',
      'orderList[0].assets[0].assetExtendList[0].extendCode is unknown',
      'extensions.code is unknown',
      ['/items/0/assets/0/extensions/0/code'],
    ],
    ['batchOrder', 'orderList has a sequence twice', 'items has a sequence twice', ['/items']],
    ['batchOrder', 'assetNos and limitStartDate do not match', 'assetNums and startsAt do not match', []],
    ['batchOrder', 'products[1].trialEndDate is over', 'products[1].trialEndsAt is over', []],
    ['batchOrder', 'branchCode is empty.', 'branch.code is empty.', []],
    [
      'batchOrder',
      'orderList.assets.products.trialEndDate is over',
      'items.assets.products.trialEndsAt is over',
      [],
    ],
    ['batchOrder', 'orderList[0].assets.assetNos is empty', 'items[0].assets.assetNums is empty', []],
    ['addMembers', 'userList.userName is empty', 'members.account is empty', []],
    ['batchOrder', 'appKey must not be empty', 'appKey must not be empty', []],
    ['batchOrder', 'channelCode is unknown', 'channelCode is unknown', ['/channelCode']],
    ['batchOrder', '字段assetNos不能为空', '字段assetNums不能为空', []],
    [
      'batchOrder',
      '参数:orderList[3].customerName，不能为空',
      '参数:customerName，不能为空',
      ['/items/3/customer/customerName'],
    ],
    ['batchOrder', 'Das Feld „assetNos“ ist leer.', 'Das Feld „assetNums“ ist leer.', []],
    ['bindCustomer', 'channelCustomerId is taken', 'channelCustomerId is taken', ['/channelCustomerId']],
    ['addMembers', 'userList must not be empty', 'members must not be empty', ['/members']],
    ['addMembers', 'userList[3].userName 不能为空', 'account 不能为空', ['/members/3/account']],
    ['borrowAssets', 'borrowedUsbKey is wrong', 'lentLockNum is wrong', ['/lentLockNum']],
    ['listAssets', 'enterpriseGlobalId is unknown', 'enterpriseGlobalId is unknown', []],
    ['listAssets', 'extendCode is unknown', 'extendCode is unknown', []],
    ['queryCustomers', 'defaultCustomer must be Y or N', 'defaultOnly must be Y or N', []],
  ])('%s: %s', (operation, message, text, pointers) => {
    expect(inOurWords(operations[operation], message)).toEqual({ text, pointers });
  });
});

describe('every other word of the platform stays as it is', () => {
  const texts = [
    // The texts contain products, mail addresses, hosts, versions, URNs, files, numbers, and plain words that are also names of fields.
    'there is no product draft.prox',
    'the product products.pro needs assets.base 2.1',
    'keyword anna.b matches nobody',
    'ask help.vendor.example, or write to userName.list@vendor.example',
    'write to name.surname@assets.vendor.example or to a.b+userName@c.example',
    'see https://help.vendor.example/orderList/assetNos?customerId=7&pageNum=2#userName',
    'needs client v2.10.3-rc.1 or userName.2.0',
    'urn:vendor:assetNos:7 and urn:customerId:8000001001 are not urns of ours',
    'the file orderList.csv, userName.xlsx or C:\\temp\\assetNos has no rows',
    'class com.vendor.order.customerId.Check, line 12',
    'cloudAccountGlobalId and mobileNumber are names of neither request',
    'The address of the customer has no name. The size of products, assets and passwords is wrong.',
    'x-customerId-y, customerId-7 and assetNos/2 belong to something else',
    '产品 draft.prox 不存在，请联系 help.vendor.example 或 li.wei@vendor.example（版本 2.10.3）',
    'Das Produkt draft.prox fehlt in Größe.csv; fragen Sie jürgen.b@vendor.example, assetNos-Liste 2.0',
    'محصول draft.prox پیدا نشد؛ help.vendor.example',
    'Продукт draft.prox не найден: файл отчёт.userName.pdf',
  ];

  it.each(texts.map((text) => ({ text })))('$text', ({ text }) => {
    for (const operation of Object.values(operations))
      expect({ operation: operation.name, ...inOurWords(operation, text) }).toEqual({
        operation: operation.name,
        text,
        pointers: [],
      });
  });
});
