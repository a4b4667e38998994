import { licensingOf } from './access.ts';
import { command, group, listCommand, wordOption } from './command.ts';
import { retryJob, showJob } from './members.ts';
import { list, show } from './output.ts';

const JOB_STATES = ['queued', 'running', 'succeeded', 'completed', 'cancelled', 'failed'] as const;

export const jobs = group('jobs', 'imports of members', [
  listCommand('list', 'the imports of the last 7 days, newest first')
    .addOption(wordOption('--state <…>', 'only in this state', JOB_STATES))
    .option('--enterprise <…>', 'only of this enterprise')
    .action((options) =>
      list(
        options,
        ['jobId', 'enterpriseGlobalId', 'mode', 'state', 'total', 'done', 'failed', 'createdAt'],
        licensingOf(options).jobs.each({ state: options.state, enterpriseGlobalId: options.enterprise }),
      ),
    ),
  command('watch', 'shows how far a job is, up to its end; exit code 1 where rows failed')
    .argument('<job>')
    .action((jobId, options) => showJob(jobId, options, licensingOf(options))),
  command(
    'retry',
    'imports rows again that failed in a job; the file has these rows only, with their passwords',
  )
    .argument('<job>')
    .argument('<file>')
    .action((jobId, path, options) => retryJob(jobId, path, options, licensingOf(options))),
  command('cancel', 'finishes what was sent, and sends nothing further')
    .argument('<job>')
    .action(async (jobId, options) => show(await licensingOf(options).jobs.cancel({ jobId }), options)),
]);
