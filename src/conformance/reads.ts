import { readings } from '../config/readings.ts';
import { toAssets, toCustomers } from '../order/order.mapper.ts';
import { freshNonce } from '../upstream/credential-forms.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { operations } from '../upstream/operations.ts';
import type { Answers, Customers, Filtered } from './answers.ts';
import { type Asked, UNKNOWN_ID } from './asked.ts';
import { memberReads } from './member-reads.ts';
import type { Answer } from './platform.ts';
import { idOf, itemsOf, objectOf, type Row, rowsOf } from './values.ts';

/** Makes every read that the gateway makes for callers, and some impossible requests, to learn the form of refusals. */
export async function readAll(asked: Asked): Promise<Answers> {
  const nonces = readings.nonceForm.values.map((nonceForm) => ({ nonceForm }));
  const assets = await asked.firstRead('listAssets', nonces, assetsIn(asked));
  const answers = {
    assets,
    token: asked.platform.token,
    assetsExtended: await extended(asked, assets),
    assetsOfNothing: {
      value: UNKNOWN_ID,
      answer: await asked.ask('listAssets', { query: { extendCode: UNKNOWN_ID } }),
    },
    assetsOfNobody: await asked.ask('listAssets', { ids: { enterpriseGlobalId: UNKNOWN_ID } }),
    customersWithoutChannel: await asked.ask('queryCustomers', { query: {} }),
    customers: await customers(asked),
    member: asked.platform.alias !== undefined ? await memberReads(asked, rowsOf(assets)) : undefined,
    nonceAgain: await nonceAgain(asked),
    refusals: asked.refusals,
  };
  noteEmpty(asked, answers);
  return answers;
}

const assetsIn = (asked: Asked) => (data: unknown, notes: ContractNotes) =>
  toAssets(data, asked.config.timestampUnit, notes);

async function extended(asked: Asked, assets: Answer): Promise<Filtered | undefined> {
  const extensions = rowsOf(assets).flatMap(({ assetExtends }) => itemsOf(assetExtends));
  const value = extensions.map(({ extendCode }) => idOf(extendCode)).find((code) => code !== undefined);
  if (value === undefined) return undefined;
  return { value, answer: await asked.read('listAssets', { query: { extendCode: value } }, assetsIn(asked)) };
}

/** Reads the customers with each value of the filters that the gateway sends. */
async function customers(asked: Asked): Promise<Customers | undefined> {
  const { channelCode } = asked.target;
  if (channelCode === undefined) return undefined;
  const of = (defaultCustomer: 'Y' | 'N', channelCustomerId?: string) =>
    asked.read('queryCustomers', { query: { channelCode, channelCustomerId, defaultCustomer } }, toCustomers);
  const all = await of('N');
  const onlyDefault = await of('Y');
  const one = rowsOf(all).find(({ channelCustomerId }) => idOf(channelCustomerId) !== undefined);
  const value = idOf(one?.['channelCustomerId']);
  if (value === undefined) return { all, onlyDefault, ofOne: undefined };
  const ofOne = { value, of: idOf(one?.['enterpriseGlobalId']), answer: await of('N', value) };
  return { all, onlyDefault, ofOne };
}

async function nonceAgain(asked: Asked): Promise<Answer> {
  const nonce = freshNonce(asked.config.profile.of('nonceForm'));
  await asked.ask('listAssets', { nonce });
  return asked.ask('listAssets', { nonce });
}

/** Notes empty lists, because they show nothing about their items. */
function noteEmpty({ findings }: Asked, { assets, customers: of, member }: Answers): void {
  const products = (list: string) => member?.products.flatMap((answer) => itemsOf(objectOf(answer)[list]));
  const lists: [keyof typeof operations, path: string, came: boolean, items: readonly Row[] | undefined][] = [
    ['listAssets', 'data[]', assets.kind === 'success', rowsOf(assets)],
    ['queryCustomers', 'data[]', of?.all.kind === 'success', rowsOf(of?.all)],
    ['listAssetNums', 'data[]', member?.assetNums.kind === 'success', rowsOf(member?.assetNums)],
    ['listLentLocks', 'data[]', member?.lentLocks.kind === 'success', rowsOf(member?.lentLocks)],
    ['listMembers', 'data.list[]', member?.firstPage !== undefined, rowsOf(member?.firstPage)],
    ...['productInstanceList', 'children'].map(
      (list) =>
        [
          'listAssetProducts',
          `data.${list}[]`,
          member !== undefined,
          products(list),
        ] as (typeof lists)[number],
    ),
  ];
  for (const [name, path, came, items] of lists)
    if (came && items?.length === 0) findings.notSeen.push(`${operations[name].operationId} ${path}`);
  if (!of) findings.notSeen.push(`${operations.queryCustomers.operationId} data[] (needs --channel)`);
}
