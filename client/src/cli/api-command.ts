import { Argument } from '@commander-js/extra-typings';
import { type Licensing, responseOf } from '../licensing.ts';
import { operations, streams } from '../operations.ts';
import { licensingOf } from './access.ts';
import { command, meant, UsageError } from './command.ts';
import { escaped, exitCodes, print, show } from './output.ts';
import { exactJson, objectIn } from './place-order.ts';

/** The status of an answer with a result for each part, of which some failed. */
const SOME_FAILED = 207;
const IDS = Object.keys(operations);

const operation = new Argument('<operation>').choices(IDS).argParser((id: string) => {
  if (Object.hasOwn(operations, id)) return id;
  const [, stream] = Object.entries(streams).find(([each]) => each === id) ?? [];
  throw new UsageError(
    stream
      ? `${id} carries a file or a stream, which other commands do: licensing help ${stream.group}`
      : `No operation ${id}${meant(id, IDS) || '.'} \`licensing api --help\` lists them.`,
  );
});

export const api = command(
  'api',
  'any operation by its operationId, and its answer as JSON; exit code 1 where not all of it succeeded',
)
  .addArgument(operation)
  .option(
    '--field <name=text>',
    'a parameter or a field of the body; name:=… takes JSON, such as true or ["*"]; may be repeated',
    (text: string, before: string[]) => [...before, text],
    [],
  )
  .option('--input <file>', 'a JSON object with all of them; - is the standard input')
  .action(async (id, { field, input, ...options }) => {
    const given = {
      ...(input !== undefined && (await objectIn(input))),
      ...Object.fromEntries(field.map(fieldOf)),
    };
    const answer = await methodOf(licensingOf(options), id)(given);
    if (answer === undefined) return;
    if (options.json) show(answer, options);
    else print(`${escaped(JSON.stringify(answer, null, 2))}\n`);
    const { state } = answer as { readonly state?: unknown };
    const isOpen = state === 'in_doubt' || state === 'incomplete';
    if (isOpen || responseOf(answer)?.status === SOME_FAILED) process.exitCode = exitCodes.someFailed;
  })
  .addHelpText('after', () => {
    const rows = Object.entries(operations).map(
      ([id, { method, path }]) => `  ${id.padEnd(24)}${method} ${path}`,
    );
    return `\nOperations:\n${rows.join('\n')}`;
  });

function methodOf(licensing: Licensing, id: string): (input: object) => Promise<object | undefined> {
  const { group, name } = operations[id] ?? { group: '', name: '' };
  const methods = Reflect.get(licensing, group) as object;
  return Reflect.get(methods, name) as (input: object) => Promise<object | undefined>;
}

function fieldOf(text: string): readonly [name: string, value: unknown] {
  const [, name, isJson, value = ''] = /^([^:=]+)(:?)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new UsageError('--field has to be name=text or name:=JSON');
  if (isJson === '') return [name, value];
  try {
    return [name, exactJson(value, `--field ${name}`)];
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--field ${name}:= has to be followed by JSON, such as true, 5 or ["*"]`);
  }
}
