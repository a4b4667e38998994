#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { isGatewayUnreachable, isProblem, Licensing, type RequestFault } from '../licensing.ts';
import { type Given, read, UsageError, usage } from './arguments.ts';
import { commands } from './commands.ts';
import { exitCodes } from './output.ts';

// `licensing assets list … | head` closes the pipe: that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? 0 : exitCodes.unknown),
);

const argv = process.argv.slice(2);
const json = argv.includes('--json');
process.exitCode = await run().catch(failed);

async function run(): Promise<number> {
  if (argv.every((word) => word === '--help')) {
    const rows = commands.map(({ name, places, about }) => [[name, ...places].join(' '), about] as const);
    const width = Math.max(...rows.map(([name]) => name.length)) + 2;
    process.stdout.write(
      `licensing <command>\n\n${rows.map(([name, about]) => `  ${name.padEnd(width)}${about}`).join('\n')}\n\n` +
        'LICENSING_URL and LICENSING_API_KEY (or LICENSING_API_KEY_FILE) name the gateway and the key.\n' +
        'Exit codes: 0 done, 1 some of it failed or is in doubt, 2 refused, 3 no answer: the outcome is unknown.\n',
    );
    return argv.length === 0 ? exitCodes.refused : exitCodes.done;
  }
  const asked = read(argv, commands);
  if (asked.yes.has('help')) {
    process.stdout.write(usage(asked.command));
    return exitCodes.done;
  }
  const command = commands.find(({ name }) => name === asked.command.name);
  return command
    ? command.run(asked, { licensing: () => clientFor(asked), write: (text) => process.stdout.write(text) })
    : exitCodes.refused;
}

function clientFor({ text }: Given): Licensing {
  const baseUrl = text['url'] ?? process.env['LICENSING_URL'];
  // Not an option: other users of the machine see command lines.
  const file = process.env['LICENSING_API_KEY_FILE'];
  const apiKey = file === undefined ? process.env['LICENSING_API_KEY'] : readFileSync(file, 'utf8').trim();
  if (baseUrl === undefined || apiKey === undefined || apiKey === '')
    throw new UsageError('Set LICENSING_URL (or --url) and LICENSING_API_KEY (or LICENSING_API_KEY_FILE)');
  const licensing = new Licensing({ baseUrl, apiKey });
  return text['as'] === undefined ? licensing : licensing.as(text['as']);
}

/** Says what is known on the standard error, and gives the exit code. */
function failed(error: unknown): number {
  if (isProblem(error)) {
    const { code, title, detail, outcome, retryable, requestId, errors, conflicts } = error;
    if (json) tell(JSON.stringify({ code, title, detail, outcome, retryable, requestId, errors, conflicts }));
    else {
      tell(`${title}${detail === undefined ? '' : `: ${detail}`}`);
      for (const fault of errors) tell(`  ${placeOf(fault)}: ${fault.detail}`);
      for (const { assetNum, memberGlobalId } of conflicts)
        tell(`  ${assetNum} belongs to ${memberGlobalId}`);
      if (outcome !== 'not_processed') tell('It may have been carried out. Look before you repeat it.');
      tell(`code ${code}, request ${requestId}`);
    }
    return outcome === 'not_processed' ? exitCodes.refused : exitCodes.unknown;
  }
  if (isGatewayUnreachable(error)) {
    const { sent, requestId, message } = error;
    if (json)
      tell(
        JSON.stringify({
          code: 'gateway-unreachable',
          detail: message,
          outcome: sent ? 'unknown' : 'not_processed',
          requestId,
        }),
      );
    else tell(message);
    return exitCodes.unknown;
  }
  tell(error instanceof Error ? error.message : 'It failed');
  return exitCodes.refused;
}

/** Where in the request, or in its file. */
function placeOf({ row, line, column, pointer, parameter }: RequestFault): string {
  if (row === undefined) return pointer || parameter || 'body';
  if (row === 0) return column === undefined ? 'file' : `header, ${column}`;
  const place = line === undefined ? `row ${row}` : `row ${row} (line ${line})`;
  return column === undefined ? place : `${place}, ${column}`;
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
