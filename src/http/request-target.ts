/** The absolute form of a target (RFC 9112 3.2.2), which clients send to a proxy, and which some proxies forward. */
const ABSOLUTE = /^https?:\/\/([^/?#]+)/i;

/** Returns the path and query of a request's target. */
export function pathOf(target: string): string {
  if (target.startsWith('/')) return target;
  // Fastify reads `*` as `/` if there is such a route, and fails. The request is then refused by its original form.
  if (target === '*') return '/*';
  const rest = target.replace(ABSOLUTE, '');
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`;
}

/** Describes the fault of a target, in view of the `Host` of its request. */
export function targetFault(target: string, host: string | undefined): string | undefined {
  if (target.startsWith('/')) return undefined;
  const server = ABSOLUTE.exec(target)?.[1];
  if (server === undefined) return 'must begin with a slash, or be an http or https URL';
  const isOther = host !== undefined && server.toLowerCase() !== host.toLowerCase();
  return isOther ? 'must be a URL of the server that Host names' : undefined;
}
