import type { Asked } from './asked.ts';
import type { Answer } from './platform.ts';

/** The beginning of the name of everything that the command makes. */
export const MADE = 'conformance';

/** An object that the command makes. `remove` resolves to true if it is gone, even if it was never there. */
export interface Made {
  readonly what: string;
  readonly remove: () => Promise<boolean>;
}

export function tellRefused({ findings }: Asked, { operation, code, words }: Answer): void {
  const said = [code, words].filter((part) => part !== undefined && part !== '').join(': ');
  findings.remark(`The platform refuses ${operation.name} (${said}).`);
}
