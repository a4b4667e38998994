import { parseArgs } from 'node:util';

/** An option of a command; `yes`: without a value. */
export interface Option {
  readonly type: 'text' | 'yes';
  readonly about: string;
  /** The values that it can have. */
  readonly words?: readonly string[];
  /** The command does not run without it. */
  readonly required?: true;
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

/** More values of an option stand behind what it is about. */
const WIDEST_VALUE = 24;

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

const common: Readonly<Record<string, Option>> = {
  url: { type: 'text', about: 'the gateway; by default $LICENSING_URL' },
  as: { type: 'text', about: 'alias of the user for whom member operations act' },
  json: { type: 'yes', about: 'JSON for machines, one line an item' },
  help: { type: 'yes', about: 'what the command does; -h is the same' },
};

/** All options of a command: its own take the place of common ones of the same name. */
export function optionsOf({ options }: Command): Readonly<Record<string, Option>> {
  return { ...common, ...options };
}

/** The words that are neither options nor their values. */
export function wordsOf(argv: readonly string[], commands: readonly Command[]): string[] {
  return parsed(argv, Object.assign({}, ...commands.map(optionsOf)) as Record<string, Option>).positionals;
}

export function read(argv: readonly string[], commands: readonly Command[]): Given {
  const words = wordsOf(argv, commands);
  const command =
    commands.find(({ name }) => name === words.slice(0, 2).join(' ')) ??
    commands.find(({ name }) => name === words[0]);
  if (!command) throw new UsageError(`${wrongCommand(words, commands)} \`licensing --help\` lists them.`);
  const options = optionsOf(command);
  const { tokens, positionals } = parsed(argv, options);
  const text: Record<string, string> = {};
  const yes = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const type = options[name]?.type;
    if (type === undefined)
      throw new UsageError(`${command.name} has no option ${rawName}${meant(name, Object.keys(options))}`);
    if (type === 'yes') {
      if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
      yes.add(name);
    } else if (value === undefined || (!inlineValue && value.startsWith('-')))
      throw new UsageError(`${rawName} needs a value; one that begins with - is given as ${rawName}=<value>`);
    else text[name] = value;
  }
  const places = positionals.slice(command.name.split(' ').length);
  const isOpen = command.places.at(-1)?.includes('...') === true;
  const isWrong = isOpen ? places.length < command.places.length : places.length !== command.places.length;
  if (!yes.has('help') && isWrong)
    throw new UsageError(
      `licensing ${command.name} ${command.places.join(' ')}: ${places.length} of ${command.places.length} given`,
    );
  const required = Object.keys(options).filter((name) => options[name]?.required);
  if (!yes.has('help') && required.some((name) => text[name] === undefined))
    throw new UsageError(`${command.name} needs ${required.map((name) => `--${name}`).join(' and ')}`);
  return { command, places, text, yes };
}

/** Not strict: what is wrong is told here, in words of this command. */
function parsed(argv: readonly string[], options: Readonly<Record<string, Option>>) {
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    strict: false,
    tokens: true,
    options: Object.fromEntries(
      Object.entries(options).map(([name, { type }]) => [
        name,
        {
          type: type === 'yes' ? ('boolean' as const) : ('string' as const),
          ...(name === 'help' && { short: 'h' }),
        },
      ]),
    ),
  });
}

function wrongCommand(words: readonly string[], commands: readonly Command[]): string {
  if (words.length === 0) return 'No command is given.';
  const asked = words.slice(0, 2).join(' ');
  const names = commands.map(({ name }) => name);
  return `No command "${asked}"${meant(asked, names, '') || '.'}`;
}

/** What was meant, where one of the names is nearly the same. */
function meant(asked: string, names: readonly string[], before = '--'): string {
  const [nearest, far] = names
    .map((name) => [name, distance(asked, name)] as const)
    .reduce((best, one) => (one[1] < best[1] ? one : best), ['', Infinity] as const);
  return far <= 1 + asked.length / 4 ? `; did you mean ${before}${nearest}?` : '';
}

/** How many characters have to be changed, added or removed (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, character] of [...one].entries()) {
    const next = [line + 1];
    for (const [column, theirs] of [...other].entries())
      next.push(
        Math.min(
          (next[column] ?? 0) + 1,
          (row[column + 1] ?? 0) + 1,
          (row[column] ?? 0) + Number(character !== theirs),
        ),
      );
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** A URL that can be asked, of the option or variable with this name. */
export function checkUrl(name: string, value: string): void {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw new UsageError(`${name} is no http or https URL: ${value}`);
}

export function usage(command: Command): string {
  const rows = Object.entries(optionsOf(command)).map(([name, { type, about, words = [], required }]) => {
    const all = words.join('|');
    const isShort = words.length > 0 && all.length <= WIDEST_VALUE;
    return [
      `  --${name}${type === 'text' ? ` <${isShort ? all : '…'}>` : ''}`,
      about + (words.length > 0 && !isShort ? `: ${words.join(', ')}` : '') + (required ? ' (required)' : ''),
    ] as const;
  });
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return [
    `licensing ${[command.name, ...command.places].join(' ')}: ${command.about}`,
    '',
    ...rows.map(([name, about]) => `${name.padEnd(width)}${about}`),
    '',
  ].join('\n');
}
