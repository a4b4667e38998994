import type { IncomingMessage } from 'node:http';

/** Addresses, and names of this machine, of a container's network or of a cluster. An address is no name that could lead elsewhere. */
const OWN = /^(\[[\da-f:.]+\]|\d+\.\d+\.\d+\.\d+|[a-z\d_-]+|.+\.svc|.+\.cluster\.local)$/i;

/**
 * Tells why a control call is refused. A page of a foreign site may have sent it from a developer's browser. Such a call comes from another
 * origin, or uses a name of the site that leads here (DNS rebinding). Undefined if the call is served.
 */
export function foreignCall(
  { headers, method }: IncomingMessage,
  configuredHost: string,
): string | undefined {
  const { host = '', origin, 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers;
  const name = host.replace(/:\d*$/, '');
  if (!OWN.test(name) && name !== configuredHost)
    return 'call /__sandbox by an address, by localhost, or by the name of a container or a service';
  const isSameOrigin = origin === undefined || URL.parse(origin)?.host === host;
  // A link shows something to a person, and the site with the link cannot read it.
  const isVisit = mode === 'navigate' && method === 'GET';
  const isServed = isSameOrigin && (isVisit || ['none', 'same-origin'].includes(site));
  return isServed ? undefined : 'requests of other sites are refused';
}
