import { type Licensing, type ListEstateInput, responseOf } from '../licensing.ts';
import { licensingOf } from './access.ts';
import { command, group, listCommand } from './command.ts';
import { timeOf } from './enterprise-commands.ts';
import { exitCodes, jsonOf, list, show, type Shown, tell } from './output.ts';

const COLUMNS = [
  ...['enterpriseGlobalId', 'assetNum', 'licenseType', 'productUri', 'endsAt', 'memberGlobalId'],
  ...['lent', 'lastOnlineAt', 'seenAt'],
] as const;

export const estate = group('estate', 'what all enterprises have', [
  listCommand('list', 'products on assets of all enterprises, those that end next first')
    .option('--enterprise <…>', 'only of this enterprise')
    .option('--product <…>', 'only products of this URI, such as draft.pro')
    .option('--type <…>', 'only this licence type, such as softkey')
    .option('--ends-after <…>', 'only those that end at this time or later: 30d (in 30 days), 2026-12-31')
    .option('--ends-before <…>', 'only those that end before this time: 60d (in 60 days), 2026-12-31')
    .option('--unassigned', 'only what can be given to a member and has none')
    .option('--sort <…>', 'endsAt, enterpriseGlobalId, productUri or seenAt, with - before it the other way')
    .action(async (options) => {
      await listRows(licensingOf(options), options, {
        pageSize: 1_000,
        enterpriseGlobalId: options.enterprise,
        productUri: options.product,
        licenseType: options.type as ListEstateInput['licenseType'],
        endsAfter: timeOf(options.endsAfter),
        endsBefore: timeOf(options.endsBefore),
        unassigned: options.unassigned,
        sort: options.sort as ListEstateInput['sort'],
      });
    }),
  command('summary', 'how much there is, what ends in which month, and how old it is')
    .option('--enterprise <…>', 'only of this enterprise')
    .action(async (options) =>
      show(await licensingOf(options).estate.summary({ enterpriseGlobalId: options.enterprise }), options),
    ),
  command('refresh', 'has an enterprise read next')
    .argument('<enterprise>')
    .action(async (enterpriseGlobalId, options) => {
      await licensingOf(options).estate.refresh({ enterpriseGlobalId });
    }),
]);

export const find = listCommand(
  'find',
  'where something is: an asset number or id, an account, the number of an order, a customer; exit code 1 where nothing is found, 3 where rows may be missing too',
)
  .argument('<number>')
  .action(async (text, options) => {
    const { found, incomplete } = await listRows(licensingOf(options), options, { find: text });
    if (found === 0) process.exitCode = incomplete > 0 ? exitCodes.unknown : exitCodes.someFailed;
  });

/** Prints rows of the estate, and says on the standard error if some may be missing. Returns the counts of rows and of incomplete enterprises. */
async function listRows(
  licensing: Licensing,
  options: Shown & { readonly limit?: number },
  input: ListEstateInput,
): Promise<{ readonly found: number; readonly incomplete: number }> {
  let found = 0;
  let incomplete = 0;
  const onPage = (page: object) => {
    incomplete = Math.max(incomplete, responseOf(page)?.incomplete ?? 0);
  };
  async function* counted() {
    for await (const row of licensing.estate.each(input, { onPage })) {
      found++;
      yield row;
    }
  }
  await list(options, COLUMNS, counted());
  if (incomplete > 0) {
    const who = incomplete === 1 ? '1 enterprise' : `${incomplete} enterprises`;
    const detail = `Rows of ${who} may be missing: licensing estate summary shows which`;
    tell(options.json ? jsonOf({ incomplete, detail }) : detail);
  }
  return { found, incomplete };
}
