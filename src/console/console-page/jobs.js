/** The section "Jobs": imports of all callers, their failed rows, and the way to cancel one. */
import { call, caller } from './credential.js';
import { dialogOf, faultIn } from './dialog.js';
import { empty, h, panel, state as word, table } from './dom.js';
import { ago, count, duration, plural } from './format.js';

const STATES = {
  queued: ['off', 'queued'],
  running: ['good', 'running'],
  succeeded: ['good', 'succeeded'],
  completed: ['watch', 'completed'],
  cancelled: ['off', 'cancelled'],
  failed: ['act', 'failed'],
};
const SCOPE = 'members:write';

export function jobs({ at }, data) {
  if (data === null)
    return panel('Jobs', null, empty('The order store does not answer: see "Now" for the reason.'));
  const { total, items } = data;
  if (total === 0) return panel('Jobs', null, empty('None in the last seven days.'));
  return [
    panel(
      plural(total, 'import'),
      `of the last seven days, the newest first${total > items.length ? `; these are the newest ${items.length}` : ''}`,
      table('Jobs', columns(at), items, ({ jobId }) => jobId),
    ),
    items.filter(({ rows }) => rows).map(failedRows),
  ];
}

const columns = (at) => [
  {
    head: 'Job',
    cell: ({ jobId, mode, enterpriseGlobalId, state, failed, unknown }) => [
      `${mode} to ${enterpriseGlobalId}`,
      h('br'),
      h('code', { class: 'quiet' }, jobId),
      h(
        'div',
        { class: 'buttons' },
        failed + unknown > 0 &&
          h('button', { type: 'button', 'data-action': 'rows', 'data-job': jobId }, 'Show failed rows'),
        (state === 'queued' || state === 'running') &&
          h('button', { type: 'button', 'data-action': 'cancel', 'data-job': jobId }, 'Cancel…'),
      ),
    ],
  },
  { head: 'Caller', wide: true, cell: (job) => job.caller },
  {
    head: 'State',
    cell: ({ state, isCancelled, problem }) => [
      isCancelled && (state === 'running' || state === 'queued')
        ? word('watch', 'cancelling')
        : word(...STATES[state]),
      problem && h('div', { class: 'quiet' }, problem.detail),
    ],
  },
  {
    head: 'Rows done',
    number: true,
    cell: ({ jobId, done, total, failed, unknown }) => [
      `${count(done)} of ${count(total)}`,
      h('progress', { max: Math.max(total, 1), value: done, 'aria-label': `Rows done of ${jobId}` }),
      failed > 0 && h('div', {}, word('act', `${count(failed)} failed`)),
      unknown > 0 && h('div', {}, word('watch', `${count(unknown)} unknown`)),
    ],
  },
  {
    head: 'Begun',
    wide: true,
    cell: ({ createdAt, finishedAt }) => [
      ago(Date.parse(createdAt), at),
      finishedAt && `, took ${duration((Date.parse(finishedAt) - Date.parse(createdAt)) / 1_000)}`,
    ],
  },
];

function failedRows({ jobId, rows, failed, unknown }) {
  return panel(
    `Failed rows of ${jobId}`,
    failed + unknown > rows.length ? `the first ${rows.length} of ${count(failed + unknown)}` : null,
    table(
      'Failed rows',
      [
        { head: 'Row', cell: ({ row }) => row ?? 'not in the file' },
        {
          head: 'State',
          cell: ({ status }) => (status === 'failed' ? word('act', 'failed') : word('watch', 'unknown')),
        },
        { head: 'Code', cell: ({ code }) => h('code', {}, code ?? '–') },
        { head: 'Message', cell: ({ message }) => message ?? '' },
      ],
      rows,
      ({ row }) => String(row),
    ),
  );
}

/** `done` is called after the job was cancelled. */
export function openCancellation(place, { jobId, enterpriseGlobalId, done: rowsDone, total }, done) {
  const { step, askCredential, dismiss, close } = dialogOf(place, `Cancel job ${jobId}`);
  const confirm = () =>
    step(
      [
        h(
          'p',
          {},
          `An import of ${enterpriseGlobalId}: ${count(rowsDone)} of ${plural(total, 'row')} are done.`,
        ),
        h(
          'ul',
          {},
          h('li', {}, 'What was sent is finished, and stays. Nothing further is sent.'),
          h('li', {}, 'The rest has to be sent again in a new import.'),
        ),
      ],
      async () => {
        const { ok, body } = await call('DELETE', `/v1/jobs/${encodeURIComponent(jobId)}`);
        if (!ok) return faultIn(body);
        close();
        void done();
        return undefined;
      },
      [h('button', { type: 'submit', class: 'danger' }, 'Yes, cancel the job'), dismiss()],
    );
  if (caller(SCOPE) === undefined) askCredential(SCOPE, confirm);
  else confirm();
  place.showModal();
}
