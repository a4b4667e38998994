import { UsageError } from './arguments.ts';
import { completion, shells } from './completion.ts';
import { enterpriseCommands } from './enterprise-commands.ts';
import { gatewayCommands } from './gateway-commands.ts';
import { jobCommands } from './job-commands.ts';
import { lockCommands } from './lock-commands.ts';
import { orderCommands } from './order-commands.ts';
import { exitCodes } from './output.ts';
import { type Runnable, show } from './runnable.ts';

/** In the order of the help. */
export const commands: readonly Runnable[] = [
  {
    name: 'whoami',
    places: [],
    about: 'what the key may do',
    options: {},
    run: async (given, world) => show(given, world, await world.licensing().callers.me()),
  },
  ...enterpriseCommands,
  ...lockCommands,
  ...jobCommands,
  ...gatewayCommands,
  ...orderCommands,
  {
    name: 'completion',
    places: [`<${shells.join('|')}>`],
    about: 'a script for your shell: source <(licensing completion bash)',
    options: {},
    run: (given, world) => {
      const script = completion(given.places[0] ?? '', commands);
      if (script === undefined) throw new UsageError(`completion knows ${shells.join(', ')}`);
      world.write(script);
      return Promise.resolve(exitCodes.done);
    },
  },
];
