#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { isGatewayUnreachable, isProblem, Licensing } from '../licensing.ts';
import { placeOf } from '../problem.ts';
import { checkUrl, type Given, read, UsageError, usage, wordsOf } from './arguments.ts';
import { commands } from './commands.ts';
import { exitCodes, jsonOf, print, tell } from './output.ts';
import { secretOf } from './secret-of.ts';
import { Advised } from './place-order.ts';

// `licensing assets list … | head` closes the pipe: that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? 0 : exitCodes.unknown),
);

const argv = process.argv.slice(2);
const json = argv.includes('--json');
process.exitCode = await run().catch(failed);

async function run(): Promise<number> {
  if (argv[0] === '--version' || argv[0] === '-V') {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    print(`${(JSON.parse(manifest) as { version: string }).version}\n`);
    return exitCodes.done;
  }
  const [first, ...further] = wordsOf(argv, commands);
  const words = first === 'help' ? further : [first, ...further].filter((word) => word !== undefined);
  const wantsHelp = first === 'help' || argv.some((word) => word === '--help' || word === '-h');
  const inGroup = commands.filter(({ name }) => words.length < 2 && name.split(' ')[0] === words[0]);
  if (words.length === 0 || (inGroup.length > 1 && (wantsHelp || argv.length === 1))) {
    list(words.length === 0 ? commands : inGroup);
    return wantsHelp ? exitCodes.done : exitCodes.refused;
  }
  const asked = read(wantsHelp ? [...words, '--help'] : argv, commands);
  if (asked.yes.has('help')) {
    print(usage(asked.command));
    return exitCodes.done;
  }
  const command = commands.find(({ name }) => name === asked.command.name);
  return command
    ? command.run(asked, { licensing: () => clientFor(asked), write: print })
    : exitCodes.refused;
}

function list(some: typeof commands): void {
  const rows = some.map(({ name, places, about }) => [[name, ...places].join(' '), about] as const);
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  print(
    `licensing <command>\n\n${rows.map(([name, about]) => `  ${name.padEnd(width)}${about}`).join('\n')}\n\n` +
      '`licensing help <command>` shows its options; `licensing --version` the version.\n' +
      'LICENSING_URL and LICENSING_API_KEY (or LICENSING_API_KEY_FILE) name the gateway and the key.\n' +
      'Exit codes: 0 done, 1 some of it failed or is in doubt, 2 refused, 3 no answer: the outcome is unknown.\n',
  );
}

function clientFor({ text, command }: Given): Licensing {
  const baseUrl = text['url'] ?? process.env['LICENSING_URL'];
  const apiKey = secretOf('LICENSING_API_KEY');
  if (baseUrl === undefined || apiKey === undefined)
    throw new UsageError('Set LICENSING_URL (or --url) and LICENSING_API_KEY (or LICENSING_API_KEY_FILE)');
  checkUrl('url' in text ? '--url' : 'LICENSING_URL', baseUrl);
  const licensing = new Licensing({ baseUrl, apiKey });
  // Some commands have an option of their own with this name.
  const alias = 'as' in command.options ? undefined : text['as'];
  return alias === undefined ? licensing : licensing.as(alias);
}

/** Says what is known on the standard error, and gives the exit code. */
function failed(thrown: unknown): number {
  const advice = thrown instanceof Advised ? thrown.advice : undefined;
  const error = thrown instanceof Advised ? thrown.cause : thrown;
  if (isProblem(error)) {
    const { code, title, detail, outcome, retryable, requestId, errors, conflicts, fields, oldest } = error;
    if (json)
      tell(
        jsonOf({
          code,
          title,
          detail,
          outcome,
          retryable,
          requestId,
          errors,
          conflicts,
          fields,
          oldest,
          advice,
        }),
      );
    else {
      tell(`${title}${detail === undefined ? '' : `: ${detail}`}`);
      for (const fault of errors) tell(`  ${placeOf(fault)}: ${fault.detail}`);
      for (const { assetNum, memberGlobalId } of conflicts)
        tell(`  ${assetNum} belongs to ${memberGlobalId}`);
      if (advice !== undefined) tell(advice);
      else if (outcome !== 'not_processed') tell('It may have been carried out. Look before you repeat it.');
      if (oldest !== undefined) tell(`Go on with --after ${oldest}`);
      tell(`code ${code}, request ${requestId}`);
    }
    return outcome === 'not_processed' ? exitCodes.refused : exitCodes.unknown;
  }
  if (isGatewayUnreachable(error)) {
    const { sent, requestId, message } = error;
    if (json)
      tell(
        jsonOf({
          code: 'gateway-unreachable',
          detail: message,
          outcome: sent ? 'unknown' : 'not_processed',
          requestId,
          advice,
        }),
      );
    else {
      tell(message);
      if (advice !== undefined) tell(advice);
    }
    return exitCodes.unknown;
  }
  tell(error instanceof Error ? error.message : 'It failed');
  return exitCodes.refused;
}
