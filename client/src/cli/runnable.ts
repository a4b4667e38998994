import type { Licensing } from '../licensing.ts';
import type { Command, Given } from './arguments.ts';
import { exitCodes, fieldsOf, jsonOf, outputOf } from './output.ts';

/** What a command works with; tests and `main.ts` give it. */
export interface World {
  readonly licensing: () => Licensing;
  /** To the standard output. */
  readonly write: (text: string) => void;
}

export interface Runnable extends Command {
  run(given: Given, world: World): Promise<number>;
}

export const ENTERPRISE = '<enterprise>';

export function enterprise({ places: [enterpriseGlobalId = ''] }: Given): { enterpriseGlobalId: string } {
  return { enterpriseGlobalId };
}

export function show(given: Given, { write }: World, thing: object): number {
  write(given.yes.has('json') ? `${jsonOf(thing)}\n` : fieldsOf(thing));
  return exitCodes.done;
}

export async function list(
  given: Given,
  { write }: World,
  columns: readonly string[],
  items: AsyncIterable<object> | Iterable<object>,
): Promise<number> {
  const output = outputOf(write, given.yes.has('json'), columns);
  for await (const item of items) output.item(item);
  output.end();
  return exitCodes.done;
}
