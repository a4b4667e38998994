import type { Findings } from './findings.ts';
import type { Answers } from './answers.ts';
import { unfiltered } from './member-questions.ts';
import { emptyForms, hasOtherIds } from './list-questions.ts';
import { flagOf, idOf, rowsOf } from './values.ts';

const MAX_SKEW_MS = 60_000;

/** The checks of properties that the gateway relies on and that no reading covers. Each returns a sentence for every departure. */
type Check = (answers: Answers) => readonly (string | false | undefined)[];

/** Departures with which something would be wrong under today's settings. */
const wrong: readonly Check[] = [
  ({ assets: { skewMs = 0 } }) => [
    skewMs > MAX_SKEW_MS &&
      `The clocks of the platform and of this machine differ by ${Math.round(skewMs / 1000)} s: orders in doubt may be mistaken. Set this one by NTP.`,
  ],
  ({ member }) => [
    member?.wrongUser.kind === 'success' && 'The platform answers to a wrong userToken.',
    member?.withoutUser.kind === 'success' && 'The platform answers without a userToken.',
    member?.unknownUser?.tokenIn && 'The token endpoint gives a token to a user who does not exist.',
  ],
  ({ assetsOfNobody }) => [
    rowsOf(assetsOfNobody).length > 0 && 'The platform shows assets of an enterprise that is not there.',
  ],
];

/** Departures that the gateway can tolerate. */
const odd: readonly Check[] = [
  ({ nonceAgain }) => [
    nonceAgain.kind === 'success' &&
      'The platform takes a nonce twice, so it does not protect against replays.',
  ],
  ({ customersWithoutChannel }) => [
    customersWithoutChannel.kind === 'success' && 'The platform lists customers without a channel.',
  ],
  ({ refusals }) => {
    const others = new Set(refusals.flatMap(({ status }) => status ?? []).filter((each) => !USUAL.has(each)));
    return [others.size > 0 && `Refusals come with HTTP ${[...others].join(', ')} too.`];
  },
  ({ member }) => [
    member?.refreshTokens === 'refused' &&
      'The platform gives a refresh token and then refuses it, so the gateway logs in again with the password.',
  ],
  (answers) => [unfiltered(answers) && 'A keyword does not filter the list of members.'],
  ({ assets, member }) => [
    assets.kind === 'success' &&
      rowsOf(assets).length === 0 &&
      'The enterprise has no assets, so nothing of an asset was seen: name an enterprise that has some.',
    member?.firstPage &&
      rowsOf(member.firstPage).length === 0 &&
      'The enterprise has no members, so nothing of a member was seen: name an enterprise that has some.',
  ],
  ({ customers }) => {
    if (!customers) return [];
    const { all, onlyDefault, ofOne } = customers;
    const ids = new Set(rowsOf(all).map(({ customerId }) => idOf(customerId)));
    return [
      rowsOf(onlyDefault).some(({ isDefault }) => flagOf(isDefault) === false) &&
        'defaultCustomer=Y lists customers that are not the default one.',
      all.kind === 'success' &&
        rowsOf(onlyDefault).some(({ customerId }) => !ids.has(idOf(customerId))) &&
        'defaultCustomer=N leaves out the default customer.',
      rowsOf(ofOne?.answer).some((each) => idOf(each['enterpriseGlobalId']) !== ofOne?.of) &&
        'channelCustomerId does not filter: the list has customers of other enterprises.',
      ofOne?.answer.kind === 'success' &&
        !rowsOf(ofOne.answer).some((each) => idOf(each['channelCustomerId']) === ofOne.value) &&
        'channelCustomerId does not find a customer that the list of the channel shows.',
    ];
  },
  ({ assetsExtended }) => [
    assetsExtended?.answer.kind === 'success' &&
      rowsOf(assetsExtended.answer).length === 0 &&
      'extendCode does not find an asset that has that extension.',
  ],
  (answers) => [
    hasOtherIds(answers) && 'The order module and the member center give an asset different ids.',
    emptyForms(answers).size > 1 && 'Some empty lists are [], and others are null.',
  ],
];

/** The statuses that the reading `refusalStatus` covers. */
const USUAL = new Set([200, 299]);

export function check(answers: Answers, findings: Findings): void {
  for (const [checks, isWrong] of [
    [wrong, true],
    [odd, false],
  ] as const)
    for (const each of checks) for (const what of each(answers)) if (what) findings.remark(what, isWrong);
}
