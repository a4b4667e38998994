/** The absolute form of a target (RFC 9112 3.2.2), as clients send it to a proxy, and some proxies onwards. */
const ABSOLUTE = /^https?:\/\/([^/?#]+)/i;

/** The path and query of a request's target. */
export function pathOf(target: string): string {
  if (target.startsWith('/')) return target;
  // Fastify takes `*` for `/`, where there is such a route, and fails. It is refused by its original form.
  if (target === '*') return '/*';
  const rest = target.replace(ABSOLUTE, '');
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`;
}

/** What is wrong with a target, beside the `Host` of its request. */
export function targetFault(target: string, host: string | undefined): string | undefined {
  if (target.startsWith('/')) return undefined;
  const server = ABSOLUTE.exec(target)?.[1];
  if (server === undefined) return 'must begin with a slash, or be an http or https URL';
  const isOther = host !== undefined && server.toLowerCase() !== host.toLowerCase();
  return isOther ? 'must be a URL of the server that Host names' : undefined;
}
