import { createHash, randomBytes } from 'node:crypto';

/** Makes an API key of 256 random bits, and its SHA-256 for the callers file. */
export function newApiKey(): { key: string; hash: string } {
  const key = `lgw_${randomBytes(32).toString('base64url')}`;
  return { key, hash: createHash('sha256').update(key).digest('hex') };
}
