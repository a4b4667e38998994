import { beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** What the gateway gives out, it takes back: an exported file, and each member as it is shown. */

const { sandbox, gateway } = useStack();

const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';

/** Names and remarks that a platform may have, by the login name of their employee. */
const ODD: Readonly<Record<string, object>> = {
  'anna@harbour': { name: 'علی\u200cرضا', remark: 'شماره\u200c۵' },
  'bo@harbour': {
    name: 'क्\u200dष \u2067שלום\u2069\u200f',
    remark: 'First floor\r\nleft, "second" door;\tring',
  },
  'chen@harbour': { name: ' Chen\u00a0 ', remark: ' \n trimmed nowhere \n ' },
  'dora@harbour': {
    name: 'Do\u0308ra e\u0301',
    remark: `=${'字'.repeat(199)}`,
    passwordMobile: '+491705550',
  },
  'petra@harbour': { userName: 'petra.von-k@harbour', name: '-Petra\u200b', remark: "'x\u2028y\ufeff" },
};

beforeEach(async () => {
  for (const [userName, fields] of Object.entries(ODD)) await change(userName, fields);
});

interface State {
  readonly employees: readonly { readonly id: string; readonly userName: string }[];
}

async function change(userName: string, fields: object): Promise<void> {
  const { employees } = await sandbox.control<State>('GET', '/state');
  const { id } = employees.find((each) => each.userName === userName) ?? {};
  await sandbox.control('PATCH', `/state/employees/${id}`, fields);
}

const membersOf = (enterprise: string) => `/v1/enterprises/${enterprise}/members`;

async function exported(type: string, enterprise = 'ent-harbour', user = 'default'): Promise<string> {
  const headers = { accept: type, 'x-acting-user': user };
  const { status, text } = await gateway.get(`${membersOf(enterprise)}/export`, { headers });
  expect(status).toBe(200);
  return text;
}

function sent(
  type: string,
  body: string,
  query = '',
  enterprise = 'ent-harbour',
  user = 'default',
  path = '',
): Promise<TestAnswer> {
  return gateway.request('POST', `/v1/enterprises/${enterprise}/member-imports${path}?mode=upsert${query}`, {
    body,
    headers: { 'content-type': type, 'x-acting-user': user },
  });
}

/** The account, status and message of each row, once the job has ended. */
async function rowsOf({ status, text, body }: TestAnswer): Promise<(readonly [string, string, unknown])[]> {
  expect([status, status === 202 ? '' : text]).toEqual([202, '']);
  const path = `/v1/jobs/${String(body['jobId'])}`;
  await until('the job has ended', async () =>
    ['succeeded', 'completed', 'failed'].includes(String((await gateway.get(path)).body['state'])),
  );
  const rows = await gateway.get(`${path}/rows`, { headers: { accept: NDJSON } });
  return rows.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, string>)
    .map(({ account = '', status: of = '', message }) => [account, of, message] as const);
}

async function writes(): Promise<unknown[]> {
  return (await sandbox.calls()).filter(({ method }) => method !== 'GET').map(({ operation }) => operation);
}

describe.each([CSV, NDJSON])('an exported file in %s', (type) => {
  it.each([
    ['ent-harbour', 'default', 6],
    ['ent-meridian', 'meridian', 3],
  ])('is imported again without a change, all of %s', async (enterprise, user, count) => {
    const file = await exported(type, enterprise, user);
    const { body } = await sent(type, file, '', enterprise, user, '/dry-run');
    const plan = { add: 0, update: 0, unchanged: count, delete: [], impossible: [] };
    expect(body).toEqual({ wouldSend: [], effects: [], plan });
    const all = '&deleteMissing=true&maxDeletes=0';
    const rows = await rowsOf(await sent(type, file, all, enterprise, user));
    expect(rows.filter(([, status]) => status !== 'unchanged')).toEqual([]);
    expect(rows).toHaveLength(count);
    expect(await writes()).toEqual([]);
    expect(await exported(type, enterprise, user)).toBe(file);
  });
});

describe('a file for mode=upsert', () => {
  it('changes members without their passwords, and a row that cannot be carried out fails alone', async () => {
    const rows = [
      ' account , userName,name,remark,password',
      'admin,,,,',
      ` dora\t,,Dora Lind, Moved\n,${newSecret('m')}`,
      ',chen@harbour,Chen Wu,,',
      ',bo@meridian,Bo,,',
      ',zoe@harbour,Zoe,,',
      'max,,,,',
      `ida,other@harbour,Ida,,${newSecret('m')}`,
      `,odd.one@harbour,Odd,,${newSecret('m')}`,
      ',petra.von-k@harbour,Petra,,',
    ];
    const job = await sent(CSV, rows.map((row) => row.replace(' Moved\n', '" Moved\n"')).join('\r\n'));
    const odd =
      'The account has other characters than letters and digits: a file can neither add nor change such a member.';
    expect(await rowsOf(job)).toEqual([
      ['admin', 'unchanged', null],
      ['dora', 'updated', null],
      ['chen', 'updated', null],
      [
        'bo',
        'failed',
        'The account is there under another user name: the file may be of another enterprise.',
      ],
      ['zoe', 'failed', 'The row has no password, which a new member needs.'],
      ['max', 'failed', 'The row has no name, which a new member needs.'],
      ['ida', 'added', null],
      ['odd.one@harbour', 'failed', odd],
      ['petra.von-k@harbour', 'failed', odd],
    ]);
    const bodies = (await sandbox.journal('editMember')).map(({ body }) => body);
    expect(bodies).toEqual([
      expect.objectContaining({ userName: 'dora', name: 'Dora Lind', remark: 'Moved' }),
      expect.objectContaining({ userName: 'chen', name: 'Chen Wu' }),
    ]);
    expect((await writes()).toSorted()).toEqual(['addMembers', 'editMember', 'editMember']);
  });

  it('as JSON lines takes null for nothing, and an empty remark removes the remark', async () => {
    const rows = [
      { userName: 'admin@harbour', name: null, remark: null, departmentId: null, passwordMobile: '' },
      { userName: 'bo@harbour', name: 'Bo Lind', remark: '' },
      { userName: 'chen@harbour', name: '', remark: '' },
    ];
    await change('bo@harbour', { name: 'Bo Lind' });
    const job = await sent(NDJSON, rows.map((row) => JSON.stringify(row)).join('\n'));
    expect(await rowsOf(job)).toEqual([
      ['admin', 'unchanged', null],
      ['bo', 'updated', null],
      ['chen', 'failed', 'The row has no name, which a change of a member needs.'],
    ]);
    expect((await sandbox.journal('editMember')).map(({ body }) => body)).toEqual([
      expect.objectContaining({ userName: 'bo', name: 'Bo Lind', remark: '' }),
    ]);
  });

  it('needs a column for the account, and in mode=add also password and name', async () => {
    const refused = async (query: string, file: string) => {
      const { status, body } = await sent(CSV, file, query);
      expect(status).toBe(400);
      return (body['errors'] as { column?: string; detail: string }[]).map(({ column, detail }) => [
        column,
        detail,
      ]);
    };
    expect(await refused('', 'memberGlobalId,name\nx,Zoe\n')).toEqual([
      ['account', 'is required, or userName'],
    ]);
    expect(await refused('', 'account,nickname\nzoe,Z\n')).toEqual([
      ['nickname', expect.stringContaining('nor another column of an export')],
    ]);
    expect(await refused('', 'userName\nzoe@harbour\nZOE@harbour\n')).toEqual([
      ['userName', 'must not be given twice, in any case of letters: row 1 has it too'],
    ]);
  });
});

it('a member takes every text again that the gateway shows of it', async () => {
  const { body } = await gateway.get(membersOf('ent-harbour'));
  const shown = body['items'] as Record<string, string | null>[];
  expect(shown).toHaveLength(6);
  for (const { memberGlobalId, userName, name, remark, departmentId, passwordMobile } of shown) {
    const account = String(userName).replace(/[^a-z].*/, '');
    const given = Object.entries({ remark, departmentId, passwordMobile }).filter(
      ([, text]) => text !== null,
    );
    const answer = await gateway.request('PATCH', `${membersOf('ent-harbour')}/${memberGlobalId}`, {
      body: { account, name, ...Object.fromEntries(given) },
    });
    expect([userName, answer.status, answer.text]).toEqual([userName, 204, '']);
  }
});
