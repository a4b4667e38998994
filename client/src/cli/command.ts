import {
  Command,
  type CommandUnknownOpts,
  type ErrorOptions,
  type HelpContext,
  Option,
} from '@commander-js/extra-typings';
import { closest, distance } from 'fastest-levenshtein';
import { print } from './output.ts';

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

const FOOTER = `
\`licensing help <command>\` shows its options; \`licensing --version\` the version.
LICENSING_URL and LICENSING_API_KEY (or LICENSING_API_KEY_FILE) name the gateway and the key; or --profile does.
Exit codes: 0 done, 1 some of it failed or is in doubt, 2 refused, 3 no answer: the outcome is unknown.`;

/** A command of commander that explains a wrong command line in words of `licensing`, and prints through one function. */
class Words extends Command {
  constructor(name: string, about: string) {
    super(name);
    const helpWidth = () => process.stdout.columns ?? Infinity;
    this.description(about)
      .exitOverride()
      .helpCommand(false)
      .helpOption('-h, --help', 'what the command does')
      // Options of a command and of its group may have the same name.
      .enablePositionalOptions()
      .configureOutput({
        writeOut: print,
        writeErr: print,
        getOutHelpWidth: helpWidth,
        getErrHelpWidth: helpWidth,
      })
      .configureHelp({
        visibleCommands: leavesOf,
        subcommandTerm: signatureOf,
        optionDescription: ({ description, argChoices = [], flags, mandatory }) =>
          description +
          (argChoices.length > 0 && !flags.includes('|') ? `: ${argChoices.join(', ')}` : '') +
          (mandatory ? ' (required)' : ''),
      });
  }

  override parseOptions(argv: string[]): ReturnType<Command['parseOptions']> {
    for (const [index, word] of argv.entries()) {
      const value = argv[index + 1];
      if (word === '--') break;
      if (value !== undefined && !/^-./.test(value)) continue;
      if (this.options.some(({ long, required }) => long === word && required))
        throw new UsageError(`${word} needs a value; one that begins with - is given as ${word}=<value>`);
    }
    return super.parseOptions(argv);
  }

  /** Refuses to show the help of a group instead of that of a command that does not exist. */
  override outputHelp(context?: HelpContext | ((text: string) => string)): void {
    if (this.commands.length > 0 && this.args.some((word) => !word.startsWith('-')))
      this.error('', { code: 'commander.unknownCommand' });
    super.outputHelp(typeof context === 'function' ? undefined : context);
  }

  override error(message: string, { code }: ErrorOptions = {}): never {
    const name = nameOf(this);
    // Commander returns a name in quotes, and only in its message.
    const [, named = ''] = /'(.*)'/s.exec(message) ?? [];
    const flags = this.createHelp()
      .visibleOptions(this)
      .map(({ long }) => long ?? '');
    if (code === 'commander.unknownOption') {
      const [flag = ''] = named.split('=');
      throw new UsageError(
        flags.includes(flag)
          ? `${flag} takes no value`
          : `${name || 'licensing'} has no option ${flag}${meant(flag, flags)}`,
      );
    }
    if (code === 'commander.missingMandatoryOptionValue') {
      const missing = this.options.filter(
        (option) => option.mandatory && this.getOptionValue(option.attributeName()) === undefined,
      );
      throw new UsageError(`${name} needs ${missing.map(({ long }) => long).join(' and ')}`);
    }
    if (code === 'commander.unknownCommand') {
      const words = this.args.filter((word) => !word.startsWith('-'));
      const asked = [name, ...words].filter(Boolean).slice(0, 2).join(' ');
      const root = rootOf(this);
      const known = [...leavesOf(root), ...root.commands].map(nameOf);
      throw new UsageError(
        `No command "${asked}"${meant(asked, known) || '.'} \`licensing --help\` lists them.`,
      );
    }
    const { args, registeredArguments } = this;
    throw new UsageError(
      `licensing ${signatureOf(this)}: ${args.length} of ${registeredArguments.length} given`,
    );
  }
}

/** Makes a command with the options that all commands have. */
export function commandOfAnyUser(name: string, about: string) {
  return new Words(name, about)
    .option('--url <…>', 'the gateway; by default $LICENSING_URL')
    .option('--profile <…>', 'gateway and key of this name in the file of profiles')
    .option('--json', 'JSON for machines, one line an item')
    .option('--debug', 'each request on the standard error, without secrets');
}

export function command(name: string, about: string) {
  return commandOfAnyUser(name, about).option('--as <…>', 'alias of the user for whom member operations act');
}

/** Makes a command that prints a list. */
export function listCommand(name: string, about: string) {
  return command(name, about).option('--limit <n>', 'no more items than this', wholeNumber('--limit'));
}

export function group(name: string, about: string, commands: readonly CommandUnknownOpts[]) {
  const all = command(name, about).usage('<command>').addHelpText('after', FOOTER);
  for (const each of commands) all.addCommand(each);
  return all;
}

/** Makes an option with words that help and completion show. The gateway refuses other words, and names the field. */
export function wordOption<Flags extends string, const Word extends string>(
  flags: Flags,
  about: string,
  words: readonly Word[],
) {
  return new Option(flags, about).choices(words).argParser((word) => word as Word);
}

export function wholeNumber(name: string, least: 0 | 1 = 1): (text: string) => number {
  return (text) => {
    if (!/^(?:0|[1-9]\d{0,8})$/.test(text) || Number(text) < least)
      throw new UsageError(`${name} has to be a whole number from ${least} to 999999999, and is ${text}`);
    return Number(text);
  };
}

/** Asks `did you mean` if one of the names is nearly the same. Otherwise the text is empty. */
export function meant(asked: string, names: readonly string[]): string {
  const nearest = closest(asked, names);
  return distance(asked, nearest) <= 1 + asked.length / 4 ? `; did you mean ${nearest}?` : '';
}

/** Returns the commands that do something, including those of groups. */
function leavesOf({ commands }: CommandUnknownOpts): CommandUnknownOpts[] {
  return commands.flatMap((each) => (each.commands.length > 0 ? leavesOf(each) : [each]));
}

function rootOf(each: CommandUnknownOpts): CommandUnknownOpts {
  return each.parent ? rootOf(each.parent) : each;
}

/** Returns the names of the groups and of the command, such as `assets list`. The program's name is left out. */
function nameOf(each: CommandUnknownOpts): string {
  return each.parent ? `${nameOf(each.parent)} ${each.name()}`.trim() : '';
}

function signatureOf(each: CommandUnknownOpts): string {
  const places = each.registeredArguments.map((place) => `<${place.name()}${place.variadic ? '...' : ''}>`);
  return [nameOf(each), ...places].join(' ');
}
