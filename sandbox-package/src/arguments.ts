import { parseArgs } from 'node:util';
import { Refusal } from './refusal.ts';

export const HELP = `npx @licensing-gateway/sandbox [options]

Starts the licensing gateway in front of an emulated platform, and prints an API key and the addresses. Ctrl-C ends both.

  --port <n>           port of the gateway; 0 or left out: a free one
  --sandbox-port <n>   port of the emulated platform, in the same way
  --host <address>     where both listen: 127.0.0.1, or 0.0.0.0 in a container
  --profile <file>     how the platform behaves: the JSON file that \`npm run conformance\` of the gateway writes
  --state <file>       data of the platform to begin with, in the form of GET /__sandbox/state
  --user <name>        the platform's user who acts by default: admin@harbour
  --seed <n>           repeats the draws of faults with a probability
  --sandbox-only       the emulated platform without a gateway
  --json               prints one line of JSON for programs
  --log                shows the log of the gateway, on standard error
  --stdin              reads further options as a line of JSON, and ends when the input ends: startGateway() uses it
  --help, --version
`;

export const DEFAULT_USER = 'admin@harbour';

const TEXT = { type: 'string' } as const;
const FLAG = { type: 'boolean', default: false } as const;

export interface Arguments {
  readonly port: number;
  readonly sandboxPort: number;
  readonly host: string;
  readonly profile: string | undefined;
  readonly state: string | undefined;
  readonly user: string;
  readonly seed: number | undefined;
  readonly has: Readonly<Record<'sandbox-only' | 'json' | 'log' | 'stdin' | 'help' | 'version', boolean>>;
}

/** @throws Refusal for an unknown option, and for an invalid value */
export function readArguments(given: readonly string[]): Arguments {
  const values = parsed(given);
  const port = integer('--port', values.port, 65_535) ?? 0;
  const sandboxPort = integer('--sandbox-port', values['sandbox-port'], 65_535) ?? 0;
  if (port === sandboxPort && port !== 0) throw new Refusal('--port and --sandbox-port must differ.');
  // The image gives both ports.
  if (values['sandbox-only'] && port !== 0 && values['sandbox-port'] === undefined)
    throw new Refusal('--port is for the gateway, and --sandbox-only starts none: use --sandbox-port.');
  const { host } = values;
  if (host !== '127.0.0.1' && host !== '0.0.0.0')
    throw new Refusal(`--host must be 127.0.0.1 or 0.0.0.0, not "${host}".`);
  return {
    ...{ port, sandboxPort, host },
    profile: values.profile,
    state: values.state,
    user: values.user,
    seed: integer('--seed', values.seed, 2 ** 32 - 1),
    has: values,
  };
}

function parsed(given: readonly string[]) {
  try {
    return parseArgs({
      args: [...given],
      options: {
        ...{ port: TEXT, 'sandbox-port': TEXT, host: { ...TEXT, default: '127.0.0.1' }, seed: TEXT },
        ...{ profile: TEXT, state: TEXT, user: { ...TEXT, default: DEFAULT_USER } },
        ...{ 'sandbox-only': FLAG, json: FLAG, log: FLAG, stdin: FLAG, help: FLAG, version: FLAG },
      },
    }).values;
  } catch (error) {
    // Node adds advice after the first sentence.
    const option = /'(--[\w-]+)' argument is ambiguous/.exec((error as Error).message)?.[1];
    if (option !== undefined) throw new Refusal(`${option} needs a value that does not begin with "-".`);
    const [sentence = ''] = (error as Error).message.split(/\.\s|\n/);
    throw new Refusal(`${sentence.replace(/\.$/, '')}: --help lists the options.`);
  }
}

function integer(name: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text) || Number(text) > most)
    throw new Refusal(`${name} must be a whole number from 0 to ${most}, not "${text}".`);
  return Number(text);
}
