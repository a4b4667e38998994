import { isDecodable } from '../validation/texts.ts';

/** The absolute form of a target (RFC 9112 3.2.2), which clients send to a proxy, and which some proxies forward. */
const ABSOLUTE = /^https?:\/\/([^/?#]+)/i;

/** The target of a request that has no path for the router. No route has it. Such a request passes all stages, and then gets its refusal. */
const NO_PATH = '/*';

/** Returns the path and query of a request's target. */
export function pathOf(target: string): string {
  if (target.startsWith('/')) return hasDecodablePath(target) ? target : NO_PATH;
  const rest = target.replace(ABSOLUTE, '');
  if (rest === target) return NO_PATH;
  return pathOf(rest.startsWith('/') ? rest : `/${rest}`);
}

/** True if the part before the query can be decoded. Fastify runs no hook for any other path. */
export function hasDecodablePath(target: string): boolean {
  const [path = ''] = target.split('?', 1);
  return isDecodable(path);
}

/** Describes the fault of a target, in view of the `Host` of its request. */
export function targetFault(target: string, host: string | undefined): string | undefined {
  // A proxy may read the rest as a part of the path. Fastify would take it for the query.
  if (target.includes('#')) return 'must have no fragment';
  if (target.startsWith('/')) return undefined;
  const server = ABSOLUTE.exec(target)?.[1];
  if (server === undefined) return 'must begin with a slash, or be an http or https URL';
  const isOther = host !== undefined && server.toLowerCase() !== host.toLowerCase();
  return isOther ? 'must be a URL of the server that Host names' : undefined;
}
