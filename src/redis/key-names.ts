import { createHash } from 'node:crypto';

/** Stands first in every key: gateways of two platforms on one Redis never meet each other's keys. */
export function environmentName(baseUrl: URL): string {
  return sha256(baseUrl.href).slice(0, 8);
}

/** In hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
