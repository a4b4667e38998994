import { setTimeout as sleep } from 'node:timers/promises';
import type { Asked } from './asked.ts';
import type { Answer } from './platform.ts';

/** The beginning of the name of everything that the command makes. */
export const MADE = 'conformance';

/** An object that the command makes. `remove` resolves to true if it is gone, even if it was never there. */
export interface Made {
  readonly what: string;
  readonly remove: () => Promise<boolean>;
}

const PAUSE_MS = 500;

/**
 * Looks once more after a pause if the first look is true, because a single list may lack something that is there. Undefined means that a
 * look shows nothing.
 */
export async function twice<T extends boolean | undefined>(look: () => Promise<T>): Promise<T> {
  const first = await look();
  if (first !== true) return first;
  await sleep(PAUSE_MS);
  return look();
}

export function tellRefused({ findings }: Asked, { operation, code, words }: Answer): void {
  const said = [code, words].filter((part) => part !== undefined && part !== '').join(': ');
  findings.remark(`The platform refuses ${operation.name} (${said}).`);
}
