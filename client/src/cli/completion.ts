import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { command, UsageError } from './command.ts';
import { exitCodes, quoted, writeAsItIs } from './output.ts';

/** The word with which a script of a shell asks this program for the possible next words. */
export const COMPLETE = '__complete';

const shells = new Argument('<bash|zsh|fish>').choices(['bash', 'zsh', 'fish'] as const);

export const completion = command(
  'completion',
  'a script for your shell: source <(licensing completion bash)',
)
  .addArgument(shells.argParser((shell: string) => shell))
  .action((shell) => {
    // The paths are used, so that it works if `licensing` is an alias.
    const ask = [process.execPath, process.argv[1] ?? '', COMPLETE].map(quoted).join(' ');
    const bash = `_licensing() {
  local IFS=$'\\n'
  COMPREPLY=( $(${ask} "\${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null | cut -f 1) )
}
complete -o default -F _licensing licensing
`;
    const scripts: Readonly<Record<string, string>> = {
      bash,
      zsh: `autoload -U +X bashcompinit && bashcompinit\n${bash}`,
      fish: `function __licensing
  set -l words (commandline -opc) (commandline -ct)
  ${ask} $words[2..]; or __fish_complete_path $words[-1]
end
complete -c licensing -f -a '(__licensing)'
`,
    };
    const script = scripts[shell];
    if (script === undefined) throw new UsageError(`completion knows ${Object.keys(scripts).join(', ')}`);
    writeAsItIs(script);
  });

/** Prints the words that can replace the last word, each with its meaning. Without any the exit code is 1, and the shell offers files. */
export function complete(program: CommandUnknownOpts, words: readonly string[]): void {
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? '';
  let asked = program;
  let places = 0;
  for (const [index, word] of before.entries()) {
    if (word.startsWith('-') || optionBefore(asked, before[index - 1])) continue;
    const next = asked.commands.find((each) => each.name() === word);
    if (next) asked = next;
    else places++;
  }
  const option = optionBefore(asked, before.at(-1));
  const offers = option ? wordsOf(option) : offersOf(asked, places, last);
  const fitting = offers.filter(([word]) => word.startsWith(last));
  for (const offer of fitting) writeAsItIs(`${offer.join('\t')}\n`);
  if (fitting.length === 0) process.exitCode = exitCodes.someFailed;
}

type Offer = readonly [word: string, about: string];

function offersOf(asked: CommandUnknownOpts, places: number, last: string): Offer[] {
  const place = asked.registeredArguments[places];
  const words = [
    ...asked.commands.map((each): Offer => [each.name(), each.description()]),
    ...(place ? wordsOf(place) : []),
  ];
  const isOfFlags = words.length === 0 && !place?.name().startsWith('file');
  if (!last.startsWith('-') && !isOfFlags) return words;
  const options = asked.createHelp().visibleOptions(asked);
  return options.map(({ long, description }): Offer => [long ?? '', description]);
}

function wordsOf({ argChoices = [] }: { readonly argChoices?: readonly string[] }): Offer[] {
  return argChoices.map((word) => [word, '']);
}

/** Returns the option whose value is the next word. */
function optionBefore({ options }: CommandUnknownOpts, word?: string) {
  return options.find(({ long, required }) => required && long === word);
}
