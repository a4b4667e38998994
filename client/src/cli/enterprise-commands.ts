import type { ListAssetsInput } from '../licensing.ts';
import { licensingOf } from './access.ts';
import { command, group, listCommand, UsageError, wholeNumber, wordOption } from './command.ts';
import { exportMembers, importMembers } from './members.ts';
import { exitCodes, jsonOf, list, show, tell } from './output.ts';
import { secretOf } from './secret-of.ts';

const DAY_MS = 86_400_000;
const DRY_RUN = ['--dry-run', 'only checks it, and shows what would be sent'] as const;

/** A time from now on, as `60d`; else the text itself, in which the gateway says what is wrong. */
export function timeOf(text?: string): string | undefined {
  const [, days] = /^(\d{1,5})d$/.exec(text ?? '') ?? [];
  return days === undefined ? text : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}

export const assets = group('assets', 'assets of an enterprise', [
  listCommand('list', 'the assets of an enterprise')
    .argument('<enterprise>')
    .option('--type <…>', 'only this licence type, such as softkey')
    .option(
      '--ends-before <…>',
      'only those that end before this time: 60d (in 60 days), 2026-12-31, or with a time in UTC',
    )
    .action((enterpriseGlobalId, options) =>
      list(
        options,
        ['assetId', 'assetNum', 'licenseType', 'endsAt', 'frozen', 'locked', 'assignment.memberGlobalId'],
        licensingOf(options).assets.each({
          enterpriseGlobalId,
          licenseType: options.type as ListAssetsInput['licenseType'],
          endsBefore: timeOf(options.endsBefore),
        }),
      ),
    ),
  command('get', 'one asset, by its id')
    .argument('<enterprise>')
    .argument('<asset>')
    .action(async (enterpriseGlobalId, assetId, options) =>
      show(await licensingOf(options).assets.get({ enterpriseGlobalId, assetId }), options),
    ),
]);

/** Makes a command with the fields of a member, which adds or changes one. */
function memberCommand(name: string, about: string) {
  return command(name, about)
    .argument('<enterprise>')
    .requiredOption('--account <…>', 'the account, without the code of the enterprise')
    .requiredOption('--name <…>', "the member's own name")
    .option('--department <…>', 'id of the department')
    .option('--mobile <…>', 'a number for the recovery of the password')
    .option('--remark <…>', 'a remark on the member')
    .option(...DRY_RUN);
}

function memberOf({
  account,
  name,
  department,
  mobile,
  remark,
}: ReturnType<ReturnType<typeof memberCommand>['opts']>) {
  return { account, name, departmentId: department, passwordMobile: mobile, remark };
}

export const members = group('members', 'members of an enterprise', [
  listCommand('list', 'the members of an enterprise')
    .argument('<enterprise>')
    .option('--keyword <…>', 'only those whose name or account has it')
    .action((enterpriseGlobalId, options) =>
      list(
        options,
        ['memberGlobalId', 'userName', 'name', 'departmentId', 'online'],
        licensingOf(options).members.each({
          enterpriseGlobalId,
          pageSize: 200,
          keyword: options.keyword,
        }),
      ),
    ),
  command('get', 'one member, by the global id')
    .argument('<enterprise>')
    .argument('<member>')
    .action(async (enterpriseGlobalId, memberGlobalId, options) =>
      show(await licensingOf(options).members.get({ enterpriseGlobalId, memberGlobalId }), options),
    ),
  memberCommand(
    'add',
    'adds one member; the password is in LICENSING_MEMBER_PASSWORD, or in the file that LICENSING_MEMBER_PASSWORD_FILE names',
  ).action(async (enterpriseGlobalId, options) => {
    const password = secretOf('LICENSING_MEMBER_PASSWORD');
    if (password === undefined)
      throw new UsageError('Set LICENSING_MEMBER_PASSWORD or LICENSING_MEMBER_PASSWORD_FILE');
    const input = { enterpriseGlobalId, members: [{ ...memberOf(options), password }] };
    const { members: calls } = licensingOf(options);
    if (options.dryRun) return show(await calls.previewAdd(input), options);
    const { succeeded, failed } = await calls.add(input);
    for (const member of succeeded) show(member, options);
    for (const row of failed) {
      tell(options.json ? jsonOf(row) : `${row.message}\ncode ${row.code}`);
      process.exitCode = row.outcome === 'not_processed' ? exitCodes.refused : exitCodes.unknown;
    }
  }),
  memberCommand(
    'update',
    'changes a member; other fields than account and name stay as they are where they are left out',
  )
    .argument('<member>')
    .action(async (enterpriseGlobalId, memberGlobalId, options) => {
      const input = { enterpriseGlobalId, memberGlobalId, ...memberOf(options) };
      const { members: calls } = licensingOf(options);
      if (options.dryRun) return show(await calls.previewUpdate(input), options);
      await calls.update(input);
    }),
  command('delete', 'deletes a member')
    .argument('<enterprise>')
    .argument('<member>')
    .option(...DRY_RUN)
    .action(async (enterpriseGlobalId, memberGlobalId, options) => {
      const input = { enterpriseGlobalId, memberGlobalId };
      const { members: calls } = licensingOf(options);
      if (options.dryRun) return show(await calls.previewDelete(input), options);
      await calls.delete(input);
    }),
  command('import', 'adds the members of a file, and shows how far it is; exit code 1 where rows failed')
    .argument('<file>')
    .requiredOption('--enterprise <…>', 'whose members they are')
    .addOption(
      wordOption('--mode <add|upsert>', 'add, or upsert: rows that exist are updated', ['add', 'upsert']),
    )
    .option('--delete-missing', 'with upsert: members who are not in the file are deleted')
    .option(
      '--max-deletes <n>',
      'with --delete-missing, which needs it: more deletions are refused',
      wholeNumber('--max-deletes', 0),
    )
    .option('--keep <…>', 'accounts that are not deleted, separated by commas')
    .option('--dry-run', 'only checks the file, and shows what would be done')
    .option('--validate-only', 'the same as --dry-run')
    .action((path, options) => importMembers(path, options, licensingOf(options))),
  command('export', 'the members of an enterprise as CSV, with --json as JSON lines')
    .requiredOption('--enterprise <…>', 'whose members they are')
    .addOption(
      wordOption('--cells <exact|text>', 'text: for a spreadsheet, not for an import', ['exact', 'text']),
    )
    .action((options) => exportMembers(options, licensingOf(options))),
]);
