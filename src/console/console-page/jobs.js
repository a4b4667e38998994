/** The section "Jobs": imports of all callers, their failed rows, and the way to cancel one. */
import { call } from './credential.js';
import { question } from './dialog.js';
import { button, h, panel, table, word } from './dom.js';
import { ago, count, plural } from './format.js';

const KINDS = { running: 'good', succeeded: 'good', completed: 'watch', cancelling: 'watch', failed: 'act' };

/** The job whose failed rows are shown. */
let open = '';

export const jobs = {
  title: 'Jobs',
  path: () => `jobs?rows=${encodeURIComponent(open)}`,
  count: ({ jobs: unfinished }) => unfinished,
  render: ({ at }, { total, items }, refresh) =>
    total === 0
      ? panel('None', 'There was no import in the last seven days.')
      : [
          panel(
            `${items.length} of ${plural(total, 'import')} of the last seven days: those that have not ended, then the newest`,
            table('Jobs', columns(at, refresh), items, ({ jobId }) => jobId),
          ),
          items.filter(({ rows }) => rows).map(failedRows),
        ],
};

const columns = (at, refresh) => [
  [
    'Job',
    (job) => [
      `${job.mode} to ${job.enterpriseGlobalId}`,
      h('br'),
      h('code', job.jobId),
      h(
        'div.buttons',
        job.failed + job.unknown > 0 &&
          button(job.jobId === open ? 'Hide failed rows' : 'Show failed rows', () => showRows(job, refresh)),
        isUnfinished(job) && button('Cancel…', () => cancel(job, refresh)),
      ),
    ],
  ],
  ['Caller', ({ caller }) => caller, '.wide'],
  ['State', (job) => [stateOf(job), job.problem && h('div.quiet', job.problem.detail)]],
  [
    'Rows done',
    ({ jobId, done, total, failed, unknown }) => [
      `${count(done)} of ${count(total)}`,
      h('progress', { max: Math.max(total, 1), value: done, 'aria-label': `Rows done of ${jobId}` }),
      failed > 0 && h('div', word('act', `${count(failed)} failed`)),
      unknown > 0 && h('div', word('watch', `${count(unknown)} unknown`)),
    ],
  ],
  ['Begun', ({ createdAt }) => ago(Date.parse(createdAt), at), '.wide'],
  ['Ended', ({ finishedAt }) => finishedAt && ago(Date.parse(finishedAt), at), '.wide'],
];

const isUnfinished = ({ state }) => state === 'queued' || state === 'running';

function stateOf(job) {
  const state = job.isCancelled && isUnfinished(job) ? 'cancelling' : job.state;
  return word(KINDS[state] ?? 'off', state);
}

function showRows({ jobId }, refresh) {
  open = open === jobId ? '' : jobId;
  void refresh();
}

function failedRows({ jobId, rows, failed, unknown }) {
  return panel(
    `The first ${rows.length} of ${plural(failed + unknown, 'failed row')} of ${jobId}`,
    table(
      'Failed rows',
      [
        ['Row', ({ row }) => row ?? 'not in the file'],
        ['State', ({ status }) => word(status === 'failed' ? 'act' : 'watch', status)],
        ['Code', ({ code }) => h('code', code ?? '–')],
        ['Message', ({ message }) => message],
      ],
      rows,
      ({ row }) => row,
    ),
  );
}

function cancel({ jobId, enterpriseGlobalId, done, total }, refresh) {
  const title = `Cancel job ${jobId}`;
  const meaning = [
    h('p', `An import of ${enterpriseGlobalId}: ${count(done)} of ${plural(total, 'row')} are done.`),
    h('p', 'What was sent is finished, and stays. Nothing further is sent.'),
    h('p', 'The rest has to be sent again in a new import.'),
  ];
  const yes = button('Yes, cancel the job', null, '.danger');
  const send = () => call('DELETE', `/v1/jobs/${encodeURIComponent(jobId)}`);
  question({ title, scope: 'members:write', meaning, yes, send }, refresh);
}
