import { type Command, optionsOf } from './arguments.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

/** A script that the shell reads: it completes commands, options, and the words of options that have some. */
export function completion(shell: string, commands: readonly Command[]): string | undefined {
  if (shell === 'fish') return fish(commands);
  if (shell === 'bash') return bash(commands);
  if (shell === 'zsh') return `autoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`;
  return undefined;
}

function bash(commands: readonly Command[]): string {
  const first = [...new Set(commands.map(({ name }) => name.split(' ')[0]))].join(' ');
  const cases = commands.map((command) => {
    const { name, places } = command;
    const flags = Object.keys(optionsOf(command)).map((option) => `--${option}`);
    const file = places.some((place) => place.includes('file')) ? ' $(compgen -f -- "$word")' : '';
    return `    "${name}") words="${flags.join(' ')}"; COMPREPLY=( $(compgen -W "$words" -- "$word")${file} ); return;;`;
  });
  const words = commands.flatMap(({ name, options }) =>
    Object.entries(options).flatMap(([option, { words: own }]) =>
      own
        ? [`    "${name} --${option}") COMPREPLY=( $(compgen -W "${own.join(' ')}" -- "$word") ); return;;`]
        : [],
    ),
  );
  const seconds = [...verbsOf(commands)].map(
    ([group, names]) => `    ${group}) COMPREPLY=( $(compgen -W "${names.join(' ')}" -- "$word") );;`,
  );
  return `_licensing() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]} $before" in
${words.join('\n')}
  esac
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${cases.filter((_, index) => commands[index]?.name.includes(' ')).join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${cases.filter((_, index) => !commands[index]?.name.includes(' ')).join('\n')}
${seconds.join('\n')}
    *) COMPREPLY=( $(compgen -W "${first}" -- "$word") );;
  esac
}
complete -F _licensing licensing
`;
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const { name, about } = command;
    const [group = '', verb] = name.split(' ');
    const quoted = about.replaceAll("'", "\\'");
    const inGroup = `__fish_seen_subcommand_from ${group}`;
    const isThere = verb === undefined ? inGroup : `${inGroup}; and __fish_seen_subcommand_from ${verb}`;
    return [
      verb === undefined
        ? `complete -c licensing -f -n __fish_use_subcommand -a ${group} -d '${quoted}'`
        : `complete -c licensing -f -n '${inGroup}' -a ${verb} -d '${quoted}'`,
      ...Object.entries(optionsOf(command)).map(
        ([option, { type, about: text, words }]) =>
          `complete -c licensing -n '${isThere}' -l ${option}${type === 'text' ? ' -r' : ''}${words ? ` -f -a '${words.join(' ')}'` : ''} -d '${text.replaceAll("'", "\\'")}'`,
      ),
    ];
  });
  const groups = [...verbsOf(commands).keys()];
  return `${[`complete -c licensing -f -n __fish_use_subcommand -a '${groups.join(' ')}'`, ...lines].join('\n')}\n`;
}

/** The second words of commands, by their first. */
function verbsOf(commands: readonly Command[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { name } of commands) {
    const [group = '', verb] = name.split(' ');
    if (verb !== undefined) groups.set(group, [...(groups.get(group) ?? []), verb]);
  }
  return groups;
}
