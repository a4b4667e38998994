/**
 * What the interface of the platform leaves open, as data: one row for each question. A platform behaves by one of the values; the first value
 * is what the sandbox does unless it is told otherwise. The gateway, the sandbox (`PUT /__sandbox/profile`), `npm run conformance` and the
 * tables of the documentation use these rows. The files of the rows import no package, because the sandbox uses them without any.
 */
import type { Reading } from './reading.ts';
import { tokenReadings } from './token-readings.ts';

export const readings = {
  maxPageSize: {
    question: 'How many members does a page have at most?',
    values: { least: 1, most: 1_000_000, usual: 1_000 },
    gateway: 'asks for 200 and learns from the response, or begins with the known number',
    asked: 'reads',
  },
  largerPages: {
    question: 'What does the platform do with a larger page?',
    values: ['refuse', 'cut'],
    gateway: 'asks for half after a refusal, and counts the members that came',
    asked: 'reads',
  },
  pageNumbers: {
    question: 'Are the numbers of a page JSON numbers or texts?',
    values: ['number', 'text'],
    gateway: 'reads both',
    asked: 'reads',
  },
  pageTotal: {
    question: 'Does a page say how many members there are?',
    values: ['given', 'absent'],
    gateway: 'answers `total: null` if there is none, unless it read the list to its end',
    asked: 'reads',
  },
  pageFlags: {
    question: 'How does a page say that another one follows?',
    values: ['all', 'next', 'none'],
    gateway: 'ends a list at `isLastPage`, at `hasNextPage: false`, or at a page with nothing new',
    asked: 'reads',
  },
  pagesBeyond: {
    question: 'What is a page beyond the end of the list?',
    values: ['empty', 'last'],
    gateway: 'treats a repeated last page as empty',
    asked: 'reads',
  },
  movingList: {
    question: 'Can the order of the members change while the list is read?',
    values: ['no', 'yes'],
    gateway: 'reads a list again if it shows fewer members than its total, and then answers an error',
    asked: 'never',
  },
  firstPage: {
    question: 'Which number has the first page of the list of members?',
    values: { least: 0, most: 1, usual: 1 },
    gateway: 'finds out from the first response, or by asking for the page before it',
    asked: 'reads',
  },
  deletedMembers: {
    question: 'Does the list of members show deleted employees?',
    values: ['left-out', 'listed'],
    gateway: 'leaves them out; once it has seen one, it counts the members or answers `total: null`',
    asked: 'write',
  },
  keyword: {
    question: 'What does the keyword of the list of members match?',
    values: ['part', 'whole', 'beginning', 'account'],
    gateway:
      "passes on a caller's keyword; by itself it uses one only if keywords are known to find accounts",
    asked: 'reads',
  },
  mobiles: {
    question: 'Does the list of members show mobile numbers?',
    values: ['shown', 'masked', 'absent'],
    gateway:
      'never sends a masked number back, and refuses with 409 an edit that may lose a number that is not shown',
    asked: 'reads',
  },
  accountSuffix: {
    question: 'How is the code of the enterprise appended to an account?',
    values: ['separated', 'joined', 'dotted'],
    gateway:
      'learns it from the answer to `addMembers` or from the whole list; until then, `deleteMissing` is 409',
    asked: 'write',
  },
  accountCase: {
    question: 'Are accounts that differ only in the case of letters two members?',
    values: ['two', 'one'],
    gateway: 'compares accounts without case, and refuses a row whose account two members have',
    asked: 'write',
  },
  maxAssetNums: {
    question: 'How many asset numbers can one call reserve?',
    values: { least: 1, most: 1_000, usual: 1_000 },
    gateway: 'makes several calls for more',
    asked: 'never',
  },
  maxLocksPerCall: {
    question: 'How many locks can one call disable or enable?',
    values: { least: 1, most: 1_000, usual: 1_000 },
    gateway: 'makes several calls for more',
    asked: 'write',
  },
  maxOrdersPerBatch: {
    question: 'How many items can a batch have?',
    values: { least: 1, most: 1_000, usual: 1_000 },
    gateway: 'refuses a longer batch with 400 and splits none',
    asked: 'never',
  },
  memberEdit: {
    question: 'What becomes of a field that an edit of a member leaves out?',
    values: ['keeps', 'clears'],
    gateway:
      'reads the member first and sends all fields, unless the platform keeps them; it accepts `null` only if the platform clears them',
    asked: 'write',
  },
  customerEdit: {
    question: 'What becomes of a field that an edit of a customer leaves out?',
    values: ['keeps', 'clears'],
    gateway: 'sends only what changes; it accepts `null` only if the platform clears fields',
    asked: 'never',
  },
  asyncOrders: {
    question: 'What becomes of an order for later (`syncMode` async)?',
    values: ['done', 'never', 'refused'],
    gateway: 'searches for it ever more rarely, and alerts an operator after `ACCEPTED_ALERT_AFTER_MS`',
    asked: 'never',
  },
  packagesInDeletion: {
    question: 'Does `delete_product` take packages? If not, it passes over those beside products.',
    values: ['refused', 'taken'],
    gateway: 'refuses every package with 400, unless the platform is known to take them',
    asked: 'order',
  },
  negativeLimits: {
    question: 'Can `limitConcurrent` be -1, as a word for "no limit"?',
    values: ['taken', 'refused'],
    gateway: 'passes on any number of the type',
    asked: 'never',
  },
  timestampUnit: {
    question: 'What is the unit of times?',
    values: ['ms', 's'],
    gateway: 'reads and sends times in it, `ms` while it is not known; a change needs a restart',
    asked: 'reads',
  },
  featureTrialEnd: {
    question: "What is the date at the end of a feature's trial?",
    values: ['long', 'text'],
    gateway: 'sends a time in the unit of times, or a text such as 2026-12-31',
    asked: 'never',
  },
  refusalStatus: {
    question: 'With which status do refusals come?',
    values: ['299', '200', 'both'],
    gateway:
      'reads the code of HTTP 200 and 299; with 401 and 403, only a code that refuses credentials counts',
    asked: 'reads',
  },
  refusalCode: {
    question: 'Is the code of a refusal a text or a number?',
    values: ['text', 'number'],
    gateway: 'reads both',
    asked: 'reads',
  },
  unknownEnterprise: {
    question: 'What are the assets of an unknown enterprise?',
    values: ['code', 'empty', 'other-code'],
    gateway: 'answers an empty list if the platform refuses an impossible id in the same way',
    asked: 'reads',
  },
  repeatedOrder: {
    question: 'What becomes of an order whose number was placed before?',
    values: ['placed', 'refused', 'other-code'],
    gateway: 'never sends a number twice',
    asked: 'never',
  },
  ...tokenReadings,
  lockedTwice: {
    question: 'What is the result of disabling a disabled lock?',
    values: ['success', 'failure'],
    gateway: "passes on the platform's result",
    asked: 'never',
  },
  deletedTwice: {
    question: 'What is the answer to deleting a deleted member?',
    values: ['code', 'success'],
    gateway: 'answers 404 to the code, and 204 if the response to an earlier delete was lost',
    asked: 'write',
  },
  memberIds: {
    question: "Are a member's ids JSON numbers or texts?",
    values: ['number', 'text'],
    gateway: 'reads both exactly',
    asked: 'reads',
  },
  emptyLists: {
    question: 'How does the platform send an empty list?',
    values: ['list', 'null'],
    gateway: 'shows null as an empty list, but decides by it only if null is known to mean that',
    asked: 'reads',
  },
  flags: {
    question: 'Are flags JSON booleans, or 0 and 1?',
    values: ['boolean', 'number'],
    gateway: 'reads both',
    asked: 'reads',
  },
  assetList: {
    question: "Which assets are in the order module's list of an enterprise?",
    values: ['all', 'virtual'],
    gateway:
      'also looks in the member center before an asset counts as missing, unless the list is known to have all',
    asked: 'reads',
  },
  usersSee: {
    question: 'Which enterprises does the member center show to a user?',
    values: ['all', 'own'],
    gateway:
      'reads as the user that the users file names for the enterprise, and searches for an order as its user; with `own`, an empty list of members is an error',
    asked: 'never',
  },
  extendCode: {
    question: 'What does `extendCode` leave out of the list of assets?',
    values: ['assets', 'properties', 'nothing'],
    gateway:
      'leaves out assets without the property if the platform is known not to, or if others in the list have it',
    asked: 'reads',
  },
  orderIds: {
    question: 'Which items of an order get a `licenseOrderId` in the response?',
    values: ['always', 'purchases', 'later'],
    gateway:
      'reports an order without its ids as `incomplete`; if ids may be missing, the code alone decides',
    asked: 'order',
  },
  licenseOrders: {
    question: 'Does each item of a batch become a licence order, or the whole batch one?',
    values: ['item', 'batch'],
    gateway: 'compares products and nodes, so it finds both',
    asked: 'never',
  },
  productTrialEnd: {
    question: "What is the integer at the end of a product's trial?",
    values: ['time', 'seconds'],
    gateway: 'sends a time in the unit of times, or seconds that fit into 32 bits',
    asked: 'never',
  },
  otherIds: {
    question: 'Are ids that are texts sent as JSON numbers where they are all digits?',
    values: ['text', 'number'],
    gateway: 'reads both exactly',
    asked: 'reads',
  },
} as const satisfies Readonly<Record<string, Reading>>;

export type ReadingName = keyof typeof readings;
type ValueOf<R extends Reading> = R['values'] extends readonly (infer Word)[] ? Word : number;
export type Readings = { readonly [Name in ReadingName]: ValueOf<(typeof readings)[Name]> };

export const readingNames = Object.keys(readings) as readonly ReadingName[];

/** What the sandbox does unless it is told otherwise, which is also what the interface suggests. */
export const plainReadings = Object.fromEntries(
  readingNames.map((name) => {
    const { values }: Reading = readings[name];
    return [name, 'usual' in values ? values.usual : values[0]];
  }),
) as unknown as Readings;

/** Returns why a reading cannot have this value; undefined where it can. The text follows the name of the reading. */
export function faultOfReading(name: ReadingName, value: unknown): string | undefined {
  const { values }: Reading = readings[name];
  if (!('usual' in values))
    return values.includes(value as string) ? undefined : `must be one of ${values.join(', ')}`;
  const { least, most } = values;
  const isOne = Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
  return isOne ? undefined : `must be a whole number from ${least} to ${most}`;
}
