import { readFileSync } from 'node:fs';
import { api } from './api-command.ts';
import { group } from './command.ts';
import { completion } from './completion.ts';
import { assets, members } from './enterprise-commands.ts';
import { estate, find } from './estate-commands.ts';
import { events, trigger, webhooks } from './event-commands.ts';
import { budgets, gaps, maintenance, whoami } from './gateway-commands.ts';
import { jobs } from './job-commands.ts';
import { locks } from './lock-commands.ts';
import { orders } from './order-commands.ts';

const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');

/** All commands, in the order of the help. */
export const program = group('licensing', 'The command of the licensing gateway', [
  whoami,
  assets,
  members,
  locks,
  estate,
  find,
  jobs,
  events,
  webhooks,
  trigger,
  orders,
  budgets,
  gaps,
  maintenance,
  api,
  completion,
])
  .version((JSON.parse(manifest) as { version: string }).version, '-v, --version', 'the version')
  // Options may precede the words of a command too.
  .hook('preAction', (_, action) => {
    for (let outer = action.parent; outer; outer = outer.parent)
      for (const [name, value] of Object.entries(outer.opts()))
        if (action.getOptionValue(name) === undefined) action.setOptionValue(name, value);
  });
