#!/usr/bin/env node
import { CommanderError } from '@commander-js/extra-typings';
import { isGatewayUnreachable, isProblem } from '../licensing.ts';
import { operations, streams } from '../operations.ts';
import { placeOf } from '../problem.ts';
import { writes } from './access.ts';
import { COMPLETE, complete } from './completion.ts';
import { exitCodes, jsonOf, readers, tell } from './output.ts';
import { Advised } from './place-order.ts';
import { program } from './program.ts';

/** The fields of a problem that `--json` prints. */
const FIELDS = [
  ...(['code', 'title', 'detail', 'outcome', 'retryable', 'requestId'] as const),
  ...(['errors', 'conflicts', 'fields', 'oldest', 'resetsAt', 'location'] as const),
];

const LOOK_FIRST = 'It may have been carried out. Look before you repeat it.';

/** The exit code of an output that cannot be written. */
let unwritten: number | undefined;

// `licensing assets list … | head` closes the pipe, which is no error.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code !== 'EPIPE') process.exitCode = unwritten ??= toldUnwritten(message);
  // The command may set its exit code right after it has printed.
  if (readers.areNeeded) setImmediate(() => process.exit(unwritten ?? process.exitCode));
});
process.stderr.on('error', () => undefined);

const argv = process.argv.slice(2);
const [first, ...further] = argv;
const json = argv.includes('--json');
if (first === COMPLETE) complete(program, further);
else
  await program
    .parseAsync(first === 'help' ? [...further, '--help'] : first === '-V' ? ['--version'] : argv, {
      from: 'user',
    })
    .catch((error: unknown) => {
      process.exitCode = failed(error);
    });

/** Says that the output is lost, and whether a write was carried out. */
function toldUnwritten(why: string): number {
  const advice = writes.areDone ? 'The change has been carried out. Look before you repeat it.' : undefined;
  told(new Error(`The output cannot be written: ${why}`), advice);
  return exitCodes.someFailed;
}

/** True unless the operation only reads, or the command is a dry run. */
function isWrite(operation: string): boolean {
  const { method } = { ...operations, ...streams }[operation] ?? {};
  return method !== 'GET' && !argv.includes('--dry-run') && !argv.includes('--validate-only');
}

/** Prints the known facts on the standard error, and returns the exit code. */
function failed(thrown: unknown): number {
  // Commander has printed the help, the version or the error.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? exitCodes.done : exitCodes.refused;
  if (!(thrown instanceof Advised)) return told(thrown);
  const code = told(thrown.cause, thrown.advice);
  return thrown.exitCode ?? code;
}

function told(error: unknown, advice?: string): number {
  if (isProblem(error)) {
    const { code, title, detail, requestId, errors, conflicts, oldest } = error;
    // The advice is about something that has begun.
    const outcome = advice && error.outcome === 'not_processed' ? 'unknown' : error.outcome;
    const fields = Object.fromEntries(FIELDS.map((name) => [name, error[name]]));
    if (json) tell(jsonOf({ ...fields, outcome, advice }));
    else {
      tell(`${title}${detail === undefined ? '' : `: ${detail}`}`);
      // The client sends the cursor in this header.
      for (const fault of errors)
        tell(`  ${placeOf(fault).replace('Last-Event-ID', '--after')}: ${fault.detail}`);
      for (const { assetNum, memberGlobalId } of conflicts)
        tell(`  ${assetNum} belongs to ${memberGlobalId}`);
      if (advice !== undefined) tell(advice);
      else if (outcome === 'processed') tell('It has been carried out. Do not repeat it.');
      else if (outcome !== 'not_processed') tell(LOOK_FIRST);
      if (oldest !== undefined) tell(`Go on with --after ${oldest}`);
      tell(`code ${code}, request ${requestId}`);
    }
    if (outcome === 'processed') return exitCodes.someFailed;
    return outcome === 'not_processed' ? exitCodes.refused : exitCodes.unknown;
  }
  if (isGatewayUnreachable(error)) {
    const { sent, requestId, message: detail } = error;
    const isOpen = advice !== undefined || (sent && isWrite(error.operation));
    const outcome = isOpen ? 'unknown' : 'not_processed';
    if (json) tell(jsonOf({ code: 'gateway-unreachable', detail, outcome, requestId, advice }));
    else tell(advice === undefined ? detail : `${detail}\n${advice}`);
    return exitCodes.unknown;
  }
  const detail = error instanceof Error ? error.message : 'It failed';
  const more = advice ?? (writes.areDone ? LOOK_FIRST : undefined);
  if (json) tell(jsonOf({ detail, advice: more }));
  else tell(more === undefined ? detail : `${detail}\n${more}`);
  return writes.areDone ? exitCodes.unknown : exitCodes.refused;
}
