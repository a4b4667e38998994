import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { Secret } from '../config/secret.ts';
import type { UserPrincipal } from '../token/principal.ts';

export const ALIAS = /^[A-Za-z0-9_.-]{1,64}$/;

const schema = z.record(
  z.string().regex(ALIAS, { error: 'an alias must be 1 to 64 of A-Z a-z 0-9 _ . -' }),
  z.strictObject({ username: z.string().min(1), password: z.string().min(1) }),
);

/** The users file does not say who may be acted as. Names the place and the rule, never a value. */
export class UsersFileError extends Error {
  override readonly name = 'UsersFileError';
}

/** Aliases and whom they stand for upstream. Throws {@link UsersFileError}. */
export function readUsersFile(path: string): ReadonlyMap<string, UserPrincipal> {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw new UsersFileError('must be the path of a readable JSON file');
  }
  const result = schema.safeParse(content);
  if (!result.success) {
    const faults = result.error.issues.map(
      (issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`,
    );
    throw new UsersFileError(faults.join('; '));
  }
  return new Map(
    Object.entries(result.data).map(([alias, { username, password }]) => [
      alias,
      { kind: 'user', alias, username, password: new Secret(password) },
    ]),
  );
}
