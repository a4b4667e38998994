import { hostname } from 'node:os';
import type { IncomingMessage } from 'node:http';

/** An address is no name that could lead elsewhere, and `localhost` is this machine. */
const ADDRESS = /^(localhost|\[[\da-f:.]+\]|\d+\.\d+\.\d+\.\d+)$/i;
/** Names that only a container's network or a cluster gives: no name of the internet has one label, or ends so. */
const OF_CLUSTER = /^[a-z\d_-]+$|\.svc$|\.cluster\.local$/i;

interface Allowed {
  /** A name that was configured. */
  readonly name: string;
  /** A server of the same cluster reads this, by the name of a service, of a pod or of this machine. */
  readonly fromCluster: boolean;
  /** A link of another site may lead here: it shows something to a person, and the other site cannot read it. */
  readonly byLink: boolean;
}

/**
 * Why a request must not be served that a page of another site may have sent, in the browser of a person who reaches this listener: under
 * a name of its own that leads here (DNS rebinding), or from another origin. Undefined where it may.
 */
export function foreignRequest({ headers }: IncomingMessage, allowed: Allowed): string | undefined {
  const { host = '', origin, 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers;
  const name = host.replace(/:\d*$/, '');
  const isOwn =
    ADDRESS.test(name) ||
    name === allowed.name ||
    (allowed.fromCluster && (OF_CLUSTER.test(name) || name === hostname()));
  if (!isOwn)
    return allowed.fromCluster
      ? 'Read this by an address, by localhost, by the name of a service or a pod, or by the name in MANAGEMENT_HOST.'
      : 'Open this by its address, by localhost, or by the name in MANAGEMENT_HOST.';
  const isSameOrigin = origin === undefined || URL.parse(origin)?.host === host;
  const isVisit = allowed.byLink && mode === 'navigate';
  if (!isSameOrigin || !(isVisit || ['none', 'same-origin'].includes(site)))
    return 'Requests of other sites are refused.';
  return undefined;
}
