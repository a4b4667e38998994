import type { Event } from '../licensing.ts';
import { listen } from './listen.ts';
import { retryJob, watchJob } from './members.ts';
import { outages } from './outages.ts';
import { exitCodes, jsonOf, plain } from './output.ts';
import { list, type Runnable, show } from './runnable.ts';

const JOB_STATES = ['queued', 'running', 'succeeded', 'completed', 'cancelled', 'failed'];

export const jobCommands: readonly Runnable[] = [
  {
    name: 'jobs list',
    places: [],
    about: 'the imports of the last 7 days, newest first',
    options: {
      state: { type: 'text', about: 'only in this state', words: JOB_STATES },
      enterprise: { type: 'text', about: 'only of this enterprise' },
    },
    run: (given, world) =>
      list(
        given,
        world,
        ['jobId', 'enterpriseGlobalId', 'mode', 'state', 'total', 'done', 'failed', 'createdAt'],
        world.licensing().jobs.each({
          ...(given.text['state'] !== undefined && { state: given.text['state'] as 'running' }),
          ...(given.text['enterprise'] !== undefined && { enterpriseGlobalId: given.text['enterprise'] }),
        }),
      ),
  },
  {
    name: 'jobs watch',
    places: ['<job>'],
    about: 'shows how far a job is, up to its end; exit code 1 where rows failed',
    options: {},
    run: (given, { licensing, write }) => watchJob(given, licensing(), write),
  },
  {
    name: 'jobs retry',
    places: ['<job>', '<file>'],
    about: 'imports rows again that failed in a job; the file has these rows only, with their passwords',
    options: {},
    run: (given, { licensing, write }) => retryJob(given, licensing(), write),
  },
  {
    name: 'jobs cancel',
    places: ['<job>'],
    about: 'finishes what was sent, and sends nothing further',
    options: {},
    run: async (given, world) =>
      show(given, world, await world.licensing().jobs.cancel({ jobId: given.places[0] ?? '' })),
  },
  {
    name: 'events tail',
    places: [],
    about: 'what becomes of orders and jobs, as it is recorded, until it is ended',
    options: {
      after: { type: 'text', about: 'the id of the last event that you have had; else from now on' },
      type: { type: 'text', about: 'only of these types, separated by commas' },
      enterprise: { type: 'text', about: 'only of this enterprise' },
    },
    run: async (given, { licensing, write }) => {
      const { after, type, enterprise: enterpriseGlobalId } = given.text;
      const input = {
        ...(after !== undefined && { after }),
        ...(type !== undefined && { types: type.split(',') as Event['type'][] }),
        ...(enterpriseGlobalId !== undefined && { enterpriseGlobalId }),
      };
      for await (const event of licensing().events.each(input, outages(given)))
        write(
          given.yes.has('json')
            ? `${jsonOf(event)}\n`
            : `${plain(`${event.time}  ${event.type}  ${event.subject}`)}\n`,
        );
      return exitCodes.done;
    },
  },
  {
    name: 'webhooks listen',
    places: [],
    about:
      'sends events to a receiver on this machine as the gateway would, until it is ended: for development',
    options: {
      'forward-to': { type: 'text', about: 'the URL of the receiver', required: true },
      secret: {
        type: 'text',
        about:
          'not taken: LICENSING_WEBHOOK_SECRET, or the file of LICENSING_WEBHOOK_SECRET_FILE, signs; else a new one, which is printed',
      },
      type: { type: 'text', about: 'only of these types, separated by commas' },
    },
    run: (given, { licensing, write }) => listen(given, licensing(), write),
  },
];
