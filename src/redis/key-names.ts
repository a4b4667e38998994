import { createHash } from 'node:crypto';

/** The first part of every key, so that gateways of two platforms can share one Redis. */
export function environmentName(baseUrl: URL): string {
  return sha256(baseUrl.href).slice(0, 8);
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
