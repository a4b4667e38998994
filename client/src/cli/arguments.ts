import { parseArgs } from 'node:util';

/** An option of a command; `yes`: without a value. */
export interface Option {
  readonly type: 'text' | 'yes';
  readonly about: string;
  /** What the completion offers as its value. */
  readonly words?: readonly string[];
}

export interface Command {
  /** Two words, such as `assets list`, or one. */
  readonly name: string;
  /** What stands behind the name, such as `<channel> <number>`; a last one with dots takes the rest. */
  readonly places: readonly string[];
  readonly about: string;
  readonly options: Readonly<Record<string, Option>>;
}

export interface Given {
  readonly command: Command;
  readonly places: readonly string[];
  readonly text: Readonly<Record<string, string>>;
  readonly yes: ReadonlySet<string>;
}

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

export const common: Readonly<Record<string, Option>> = {
  url: { type: 'text', about: 'the gateway; by default $LICENSING_URL' },
  as: { type: 'text', about: 'alias of the user for whom member operations act' },
  json: { type: 'yes', about: 'JSON for machines, one line an item' },
  help: { type: 'yes', about: 'what the command does' },
};

export function read(argv: readonly string[], commands: readonly Command[]): Given {
  const named = argv.filter((word) => !word.startsWith('-'));
  const command =
    commands.find(({ name }) => name === named.slice(0, 2).join(' ')) ??
    commands.find(({ name }) => name === named[0]);
  if (!command) {
    const wrong = named.length === 0 ? 'No command' : `No command "${named.slice(0, 2).join(' ')}"`;
    throw new UsageError(`${wrong}; \`licensing --help\` lists them`);
  }
  const options = { ...command.options, ...common };
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: Object.fromEntries(
        Object.entries(options).map(([name, { type }]) => [
          name,
          { type: type === 'yes' ? ('boolean' as const) : ('string' as const) },
        ]),
      ),
    });
    const places = positionals.slice(command.name.split(' ').length);
    const yes = new Set(Object.keys(values).filter((name) => values[name] === true));
    if (!yes.has('help') && places.length !== command.places.length)
      throw new UsageError(
        `licensing ${command.name} ${command.places.join(' ')}: ${places.length} of ${command.places.length} given`,
      );
    const text = Object.entries(values).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    return { command, places, text: Object.fromEntries(text), yes };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError((error as Error).message);
  }
}

export function usage(command: Command): string {
  const rows = Object.entries({ ...command.options, ...common }).map(
    ([name, { type, about }]) => [`  --${name}${type === 'text' ? ' <…>' : ''}`, about] as const,
  );
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return [
    `licensing ${[command.name, ...command.places].join(' ')}: ${command.about}`,
    '',
    ...rows.map(([name, about]) => `${name.padEnd(width)}${about}`),
    '',
  ].join('\n');
}
