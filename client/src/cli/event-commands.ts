import type { CreateWebhook, Event, ListDeliveriesInput, TestEvent } from '../licensing.ts';
import { licensingOf } from './access.ts';
import { command, group, listCommand, wordOption } from './command.ts';
import { outages } from './outages.ts';
import { exitCodes, jsonOf, list, plain, print, show, type Shown } from './output.ts';
import { Receiver } from './receiver.ts';
import { eventTypes, sampleOf } from './sample-events.ts';

const TYPES = ['--type <…>', 'only of these types, separated by commas'] as const;
const FORWARD_TO = ['--forward-to <…>', 'the URL of the receiver'] as const;

export const events = group('events', 'what becomes of orders and jobs', [
  command('tail', 'what becomes of orders and jobs, as it is recorded, until it is ended')
    .option('--after <…>', 'the id of the last event that you have had; else from now on')
    .option(...TYPES)
    .option('--enterprise <…>', 'only of this enterprise')
    .action(async ({ after, type, enterprise: enterpriseGlobalId, ...options }) => {
      const input = { after, types: typesIn(type), enterpriseGlobalId };
      for await (const event of licensingOf(options).events.each(input, outages(options)))
        print(
          options.json
            ? `${jsonOf(event)}\n`
            : `${plain(`${event.time}  ${event.type}  ${event.subject}`)}\n`,
        );
    }),
]);

export const webhooks = group('webhooks', 'receivers of events', [
  command('create', 'has events sent to a URL from now on, and prints the secret, which is shown only now')
    .argument('<url>')
    .option('--type <…>', 'only of these types, separated by commas; else all, also those to come')
    .option('--enterprise <…>', 'only of these enterprises, separated by commas; else of all')
    .option('--description <…>', 'for people')
    .action(async (url, { type = '*', enterprise, description, ...options }) => {
      const types = type.split(',') as CreateWebhook['types'];
      const input = { url, types, enterprises: enterprise?.split(','), description };
      show(await licensingOf(options).webhooks.create(input), options);
    }),
  listCommand('list', 'your webhooks, newest first').action((options) =>
    list(
      options,
      ['webhookId', 'url', 'types', 'enabled', 'state', 'pending', 'failingSince', 'description'],
      licensingOf(options).webhooks.each(),
    ),
  ),
  listCommand('deliveries', 'what became of the events for a webhook, newest first')
    .argument('<webhook>')
    .addOption(
      wordOption('--state <…>', 'only in this state', [
        'delivered',
        'pending',
        'failed',
      ] satisfies ListDeliveriesInput['state'][]),
    )
    .action((webhookId, options) =>
      list(
        options,
        ['eventId', 'type', 'subject', 'state', 'attempts', 'lastStatus', 'lastError', 'nextAttemptAt'],
        licensingOf(options).webhooks.eachDelivery({ webhookId, state: options.state }),
      ),
    ),
  command('redeliver', 'sends an event to a webhook once more')
    .argument('<webhook>')
    .argument('<event>')
    .action(async (webhookId, eventId, options) => {
      await licensingOf(options).webhooks.redeliver({ webhookId, eventId });
    }),
  command(
    'listen',
    'sends events to a receiver on this machine as the gateway would, until it is ended: for development',
  )
    .requiredOption(...FORWARD_TO)
    .option(
      '--secret <…>',
      'not taken: LICENSING_WEBHOOK_SECRET, or the file of LICENSING_WEBHOOK_SECRET_FILE, signs; else a new one, which is printed',
    )
    .option(...TYPES)
    .action(async (options) => {
      const receiver = await Receiver.of(options);
      const input = { types: typesIn(options.type) };
      for await (const event of licensingOf(options).events.each(input, outages(options)))
        showSent(event, await receiver.send(event), options);
    }),
]);

export const trigger = command(
  'trigger',
  'sends a made-up event to a receiver on this machine, signed as the gateway would; exit code 1 where it is not taken',
)
  .addArgument(eventTypes)
  .requiredOption(...FORWARD_TO)
  .action(async (type, options) => {
    const event = sampleOf(type);
    const receiver = await Receiver.of(options);
    const answer = await receiver.send(event);
    showSent(event, answer, options);
    if (!/^2\d\d$/.test(answer)) process.exitCode = exitCodes.someFailed;
  });

function showSent(event: Event | TestEvent, answer: string, options: Shown): void {
  if (options.json) show({ event, answer }, options);
  else print(`${plain(`${event.time}  ${event.type}  ${event.subject}  ${answer}`)}\n`);
}

function typesIn(type?: string): Event['type'][] | undefined {
  return type?.split(',');
}
