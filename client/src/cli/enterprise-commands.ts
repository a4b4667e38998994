import { exportMembers, importMembers } from './members.ts';
import { ENTERPRISE, enterprise, list, type Runnable, show } from './runnable.ts';

const DAY_MS = 86_400_000;

/** A time from now on, as `60d`; else the text itself, in which the gateway says what is wrong. */
function timeOf(text: string): string {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  return days === undefined ? text : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}

export const enterpriseCommands: readonly Runnable[] = [
  {
    name: 'assets list',
    places: [ENTERPRISE],
    about: 'the assets of an enterprise',
    options: {
      type: { type: 'text', about: 'only this licence type, such as softkey' },
      'ends-before': {
        type: 'text',
        about: 'only those that end before this time: 60d (in 60 days), 2026-12-31, or with a time in UTC',
      },
    },
    run: (given, world) =>
      list(
        given,
        world,
        ['assetId', 'assetNum', 'licenseType', 'endsAt', 'frozen', 'locked', 'assignment.memberGlobalId'],
        world.licensing().assets.each({
          ...enterprise(given),
          ...(given.text['type'] !== undefined && { licenseType: given.text['type'] as 'softkey' }),
          ...(given.text['ends-before'] !== undefined && { endsBefore: timeOf(given.text['ends-before']) }),
        }),
      ),
  },
  {
    name: 'members list',
    places: [ENTERPRISE],
    about: 'the members of an enterprise',
    options: { keyword: { type: 'text', about: 'only those whose name or account has it' } },
    run: (given, world) =>
      list(
        given,
        world,
        ['memberGlobalId', 'userName', 'name', 'departmentId', 'active'],
        world.licensing().members.each({
          ...enterprise(given),
          pageSize: 200,
          ...(given.text['keyword'] !== undefined && { keyword: given.text['keyword'] }),
        }),
      ),
  },
  {
    name: 'members get',
    places: [ENTERPRISE, '<member>'],
    about: 'one member, by the global id',
    options: {},
    run: async (given, world) => {
      const [, memberGlobalId = ''] = given.places;
      return show(
        given,
        world,
        await world.licensing().members.get({ ...enterprise(given), memberGlobalId }),
      );
    },
  },
  {
    name: 'members import',
    places: ['<file>'],
    about: 'adds the members of a file, and shows how far it is; exit code 1 where rows failed',
    options: {
      enterprise: { type: 'text', about: 'whose members they are', required: true },
      mode: { type: 'text', about: 'add, or upsert: rows that exist are updated', words: ['add', 'upsert'] },
      'delete-missing': { type: 'yes', about: 'with upsert: members who are not in the file are deleted' },
      'max-deletes': {
        type: 'text',
        about: 'with --delete-missing, which needs it: more deletions are refused',
      },
      keep: { type: 'text', about: 'accounts that are not deleted, separated by commas' },
      'dry-run': { type: 'yes', about: 'only checks the file, and shows what would be done' },
      'validate-only': { type: 'yes', about: 'the same as --dry-run' },
    },
    run: (given, { licensing, write }) => importMembers(given, licensing(), write),
  },
  {
    name: 'members export',
    places: [],
    about: 'the members of an enterprise as CSV, with --json as JSON lines',
    options: { enterprise: { type: 'text', about: 'whose members they are', required: true } },
    run: (given, { licensing, write }) => exportMembers(given, licensing(), write),
  },
];
