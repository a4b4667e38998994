import { z } from 'zod';
import { Secret } from '../config/secret.ts';
import { readSettingsFile } from '../config/settings-file.ts';
import type { UserPrincipal } from '../token/principal.ts';

export const ALIAS = /^[A-Za-z0-9_.-]{1,64}$/;

const schema = z.record(
  z.string().regex(ALIAS, { error: 'an alias must be 1 to 64 of A-Z a-z 0-9 _ . -' }),
  z.strictObject({ username: z.string().min(1), password: z.string().min(1) }),
);

/** Reads the aliases and their users of the platform. Throws SettingsFileError. */
export function readUsersFile(path: string): ReadonlyMap<string, UserPrincipal> {
  const users = readSettingsFile(path, schema);
  return new Map(
    Object.entries(users).map(([alias, { username, password }]) => [
      alias,
      { kind: 'user', alias, username, password: new Secret(password) },
    ]),
  );
}
