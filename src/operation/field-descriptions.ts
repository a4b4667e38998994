/**
 * What a field is, by its name: the vocabulary of the API has one meaning for a name, so a field of many DTOs is described once, here.
 * A DTO describes a field itself only where it means something particular there. Parameters are described in the same way.
 */
export const fieldDescriptions: Readonly<Record<string, string>> = {
  // Customers and enterprises
  address: "The customer's postal address, as one text",
  branchName: "Name of the customer's branch",
  channelCode: 'Code of the sales channel that the customer or order came by, such as `crm`',
  channelCustomerId: "The customer's number in the channel",
  crmCustomerId: "The customer's number in the CRM",
  customerId: 'Id of the customer on the platform',
  customerName: 'Name of the customer',
  enterpriseGlobalId: "Global id of the enterprise's main account",
  enterpriseName: "Name of the enterprise's main account",
  isDefault: 'Whether the customer is the default customer of its enterprise',
  memberIdentity: "The employee's identity, as the platform gives it",

  // Assets
  active: 'Whether the product is activated',
  assetId: 'Id of the asset',
  assetNum: 'Number of the asset, such as the number of a lock',
  assetNums: 'Numbers of assets',
  assetInsId: 'Id of the instance of the asset, where there is one',
  assignment: 'The member that it is assigned to; null where the platform names none',
  customerType: 'Whether the customer is a person or a company',
  extensions: 'Extension properties of the asset',
  frozen: 'Whether it is frozen; meaningful for certificates only',
  grantable: 'Whether it can be assigned to members',
  id: 'Id of the record on the platform',
  keyGeneration: 'Generation of the lock; null where it is no lock or of another generation',
  keyShellNumber: 'The digits of an asset number: one for the region, and nine that count up',
  lent: 'Whether it is lent to a member now',
  lentLock:
    'Whether it is a lent lock: a lock made for lending (its kind). `lent` tells whether it is lent out now (its state)',
  lentLockNum: 'Number of a lent lock',
  licenseType: 'Kind of the licence',
  locked: 'Whether the lock is disabled',
  online: 'Whether it is in use online now',
  region: 'Region of an asset number, by its first digit',

  // Products and packages
  appKey: 'Id of a web application, kept for older systems',
  children: 'Packages one level below, in the same form',
  crmProductId:
    "The product's or package's id in the CRM: a label of the caller's own, which the gateway does not check",
  features: 'Features of the product',
  gmsPid: 'Id of a tool product, kept for older systems',
  limitAmount: 'Amount that may be consumed, counted in units of the product',
  limitConcurrent: 'Number of nodes that may use the product at the same time',
  limitTimeDuration:
    'Time of use that may add up; digits in a string, in a unit that the platform does not document',
  limitType: 'Whether the limit is of the product itself or of a feature point',
  merchandiseInsId: 'Id of the package that the product belongs to; null where it belongs to none',
  merchandiseName: 'Name of the package',
  merchandiseNum: 'Number of the package',
  merchandises: 'Packages of products',
  parentCrmProductId:
    "Id in the CRM of the asset or package above: a label of the caller's own, which the gateway does not check",
  parentId: 'Id of the package above; null at the top',
  parentMerchandiseNum: 'Number of the package above',
  passwords: 'Licence passwords held in the lock. They are secret: no response, log or preview shows them',
  prodDefExtend: 'Whether the definition of the product has an extension',
  productName: 'Name of the product',
  productType: 'Type of the product; the platform does not document the words',
  productUri: 'The product: a `gmsPid` or an `appKey`',
  products: 'Single products',
  strictMatchWhenDelete:
    'Of a deletion: `true` matches `startsAt`, `endsAt` and `limitConcurrent` exactly; `false`, the default, matches the product only',
  timeDurationExpression: 'A length of time as years-months-days: `1-0-0` is one year',
  timeUnit: 'Unit of `timeUnitQuantity`, in a word of the platform. Prefer `timeDurationExpression`',
  timeUnitQuantity: 'Number of `timeUnit`s',
  transferred: 'Whether the asset number is transferred from another asset',
  trial: 'Whether it is a trial',
  trialEndsAt: 'End of the trial, where it has one',

  // Orders
  admin: "The customer's administrator",
  assets: 'The assets of the item',
  branch: "The customer's branch",
  customer: 'For whom the item is',
  channelOrderId: "The order's number in the channel. With `channelCode` it identifies an order for good",
  licenseOrderId: "The platform's id of the licence order",
  orderType: 'What the item does: buy, revoke assets, or revoke products',
  productUris: 'The products, each once',
  sequence: 'Number of the item in the order',
  srcLicenseOrderId: 'The licence order that it was transferred from, where it was',
  syncMode: 'Whether the platform places the order at once (`sync`) or later (`async`)',

  // Members
  username: "The user's login name on the platform, with the enterprise's suffix",
  account: "Login name without the enterprise's suffix",
  deleted: 'Whether the member is deleted',
  departmentId: 'Id of the department: a whole number of 64 bits, as digits in a string',
  departmentName: 'Name of the department',
  enterpriseId: "The platform's internal id of the enterprise; operations use `enterpriseGlobalId`",
  memberGlobalId: 'Global id of the member, which operations on a member use',
  memberId: "The platform's internal id of the member's record; operations use `memberGlobalId`",
  operatorIdentity: 'Name, mobile number or e-mail of the operator',
  passwordMobile: 'Mobile number for the recovery of the password; it cannot be used to log in',
  remark: 'Remark on the member',
  userId: "The platform's internal id of the user behind the member",
  userName: "Login name with the enterprise's suffix, which the platform appends",

  // Jobs
  jobId: 'Id of the job',

  // Times, pages, counts
  createdAt: 'When it was created',
  endsAt: 'End of validity, where it has one',
  expiresAt: 'When the session ends',
  failed: 'Number of items that did not succeed',
  items: 'The items of the page, in the order of the platform',
  page: 'Number of the page, counted from 1',
  pageSize: 'Items on a full page',
  startsAt: 'Start of validity, where it has one',
  succeeded: 'Number of items that succeeded',
  total: 'Number of items that match, on all pages',
  totalPages: 'Number of pages',
  updatedAt: 'When it was last changed; null where it was not',

  // Problems
  outcome:
    'What is known about the effect on the platform; `not_processed` means that provably nothing happened',
  requestId: 'The `X-Request-Id` of the request, by which the operator finds it in the log',
  retryable: 'Whether the same request may be sent again as it is',
  title: 'The problem in a few words, the same for every occurrence',
};
