import { readFileSync } from 'node:fs';
import { UsageError } from './command.ts';

/**
 * Reads a secret from the variable with this name, or from the file that the variable with `_FILE` names, which wins. There is no option
 * for it, because other users of the machine see command lines.
 */
export function secretOf(variable: string): string | undefined {
  const file = process.env[`${variable}_FILE`];
  const [from, secret] =
    file === undefined
      ? [variable, process.env[variable]?.trim()]
      : [`${variable}_FILE ${file}`, contentOf(file, variable)];
  if (secret === '') throw new UsageError(`${from} is empty`);
  return secret;
}

function contentOf(file: string, variable: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    // The message leaves out the value, because it may be the secret itself by mistake.
    throw new UsageError(`${variable}_FILE cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
