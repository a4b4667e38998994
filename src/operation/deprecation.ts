import type { FastifyInstance, onSendHookHandler, RouteOptions } from 'fastify';
import type { DeprecationHeaders } from '../request/request-stages.ts';

type Day = `${number}-${number}-${number}`;

/** An operation that callers should stop using. Days begin at midnight, UTC. */
export interface Deprecated {
  readonly since: Day;
  /** The day from which on the operation may be gone. */
  readonly sunset?: Day;
  /** The id of the operation that replaces it. */
  readonly instead?: string;
}

/** Throws if a day does not exist, or if the end comes before the beginning. The process then does not start. */
export function deprecationHeaders({ since, sunset }: Deprecated): DeprecationHeaders {
  const begin = timeOf(since);
  if (sunset === undefined) return { deprecation: `@${begin / 1000}` };
  const end = timeOf(sunset);
  if (end < begin) throw new RangeError(`The sunset ${sunset} comes before the deprecation ${since}`);
  return { deprecation: `@${begin / 1000}`, sunset: new Date(end).toUTCString() };
}

export function deprecationText({ since, sunset, instead }: Deprecated): string {
  const end = sunset === undefined ? '' : `, and may be gone from ${sunset} on`;
  return `**Deprecated** from ${since} on${end}.${instead === undefined ? '' : ` Use \`${instead}\` instead.`}`;
}

/** Adds a hook to a deprecated route, and to no other. The hook sets the headers on every response, whichever code makes it. */
export function tellDeprecation(fastify: FastifyInstance, route: RouteOptions, publicPath: string): void {
  const { deprecation: headers } = route.config ?? {};
  if (!headers) return;
  const link = `<${publicPath}/docs/changelog>; rel="deprecation"; type="text/html"`;
  const isExplained = fastify.hasRoute({ method: 'GET', url: '/docs/:file' });
  const tell: onSendHookHandler = (_request, reply, _payload, done) => {
    void reply.headers({ ...headers });
    // A page has links of its own.
    const links = reply.getHeader('link');
    if (isExplained) void reply.header('link', links === undefined ? link : `${String(links)}, ${link}`);
    done();
  };
  route.onSend = [route.onSend ?? [], tell].flat();
}

function timeOf(day: Day): number {
  const time = Date.parse(`${day}T00:00:00Z`);
  // Date reads a day that does not exist as a day of the next month.
  if (Number.isNaN(time) || !new Date(time).toISOString().startsWith(day))
    throw new RangeError(`${day} is no day`);
  return time;
}
