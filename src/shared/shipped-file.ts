import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { readFileSync } from 'node:fs';

/** A file that the gateway serves is missing from the place where the build puts it. */
export class IncompleteInstallation extends Error {
  override readonly name = 'IncompleteInstallation';
}

/** Reads a file that is part of the installation. Call it at the start, so that a missing file stops the start and not the first reader. */
export function shippedFile(file: URL): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new IncompleteInstallation(
      `${fileURLToPath(file)} cannot be read (${code}): the installation is incomplete`,
    );
  }
}

export const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
