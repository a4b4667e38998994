/** The responses of the fixed platform, and the orders: real shapes of the interface, of a chosen size. */

const BASE_TIME = Date.UTC(2026, 0, 1);
const YEAR_MS = 365 * 24 * 3_600_000;

/** Returns an asset in the form of order #8 (interface section 2.8), about 500 bytes. */
function asset(index: number): object {
  const digits = String(8_000_000_000 + index);
  return {
    id: `90071992547${40_993 + index}`,
    licenseType: 'cloud_account',
    assetNum: digits,
    grantable: true,
    customerId: 'cus-harbour-default',
    keyShellNumber: digits,
    keyChipType: 2,
    locked: false,
    freezing: false,
    createTime: BASE_TIME + index,
    updateTime: BASE_TIME + YEAR_MS / 2 + index,
    limitStartTime: BASE_TIME,
    limitEndTime: BASE_TIME + 4 * YEAR_MS,
    assignStatus: {
      id: `90071992547${40_993 + index}`,
      assignStatus: 'assigned',
      assignMemberId: `mem-${1_000 + index}`,
      createTime: String(BASE_TIME + index),
      updateTime: null,
    },
    assetLimits: null,
    assetExtends: [{ extendCode: 'site', extendValue: `pier-${index}` }],
    borrowedUsbKey: false,
  };
}

/** Returns a member in the form of member #5 (interface section 2.10), about 350 bytes. */
function member(index: number): object {
  return {
    id: `${40_993 + index}`,
    userId: `${50_993 + index}`,
    globalId: `mem-${1_000 + index}`,
    enterpriseId: 'ent-harbour',
    departmentId: 10,
    departmentName: 'Drawing office',
    userName: `member${index}@harbour`,
    passwordMobile: null,
    name: `Member ${index}`,
    assetNums: [String(8_000_000_000 + index)],
    borrowNum: null,
    onlineFlag: false,
    remark: null,
    deleted: false,
    updateTime: BASE_TIME + YEAR_MS / 2 + index,
    createTime: BASE_TIME + index,
    boundUserInfo: null,
  };
}

/** Returns a response of member #5 of at least this many bytes: one page with all members. */
export function membersAnswer(bytes: number): { readonly body: Buffer; readonly count: number } {
  return grown(member, bytes, (list) => ({
    pageNum: 1,
    pageSize: 200,
    size: list.length,
    total: list.length,
    pages: 1,
    isFirstPage: true,
    isLastPage: true,
    hasPreviousPage: false,
    hasNextPage: false,
    list,
  }));
}

/** Adds items until the response is large enough. */
function grown(
  item: (index: number) => object,
  bytes: number,
  data: (items: readonly object[]) => unknown,
): { readonly body: Buffer; readonly count: number } {
  const items: object[] = [];
  let body = success(data(items));
  while (body.length < bytes) {
    items.push(item(items.length));
    body = success(data(items));
  }
  return { body, count: items.length };
}

function success(data: unknown): Buffer {
  return Buffer.from(JSON.stringify({ code: 0, message: 'success', data }));
}

/** Returns a response of order #8 of at least this many bytes. */
export function assetsAnswer(bytes: number): { readonly body: Buffer; readonly count: number } {
  return grown(asset, bytes, (assets) => assets);
}

/** Returns a response of order #5 to this many items (interface section 2.6). */
export function ordersAnswer(items: number): Buffer {
  return success(
    Array.from({ length: items }, (_, index) => ({
      sequence: index + 1,
      licenseOrderId: `90071992547${40_993 + index}`,
      customerId: 'cus-harbour-default',
    })),
  );
}

/** Returns a batch as the gateway's callers write it, about 800 bytes an item. */
export function batch(channelOrderId: string, items: number): object {
  return {
    channelCode: 'crm',
    channelOrderId,
    syncMode: 'sync',
    items: Array.from({ length: items }, (_, index) => ({
      orderType: 'new_buy',
      sequence: index + 1,
      licenseType: 'cloud_account',
      customerType: 'company',
      customer: {
        customerId: 'cus-harbour-default',
        customerName: 'Harbour Engineering',
        enterpriseGlobalId: 'ent-harbour',
        address: `Pier ${index}`,
      },
      admin: { name: 'Anna Berg', account: 'anna', email: 'anna@harbour.example' },
      assets: [
        {
          extensions: [{ code: 'site', value: `pier-${index}` }],
          startsAt: '2026-01-01T00:00:00.000Z',
          endsAt: '2030-01-01T00:00:00.000Z',
          products: [
            {
              crmProductId: `CRM-P-${index}`,
              productUri: 'draft.pro',
              productName: 'Draft Pro',
              limitConcurrent: 5,
              features: [
                { code: 'export', name: 'Export', value: 'on', valueType: 'string', trial: false },
                { code: 'render', name: 'Render', value: 'on', valueType: 'string', trial: false },
              ],
            },
          ],
        },
      ],
    })),
  };
}
