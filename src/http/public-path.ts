import type { FastifyInstance, FastifyReply } from 'fastify';

/** The public path: the path under which a proxy shows the gateway. Within the gateway no path has it. */

const PROBLEM_TYPE = '"type":"/';

/** Removes the public path from the target of a request, because a proxy may have left it there. */
export function withoutPublicPath(target: string, publicPath: string): string {
  if (!target.startsWith(publicPath)) return target;
  const rest = target.slice(publicPath.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : target;
}

/** Adds the public path to everything that a response names: `Location`, `Link` and the `type` of a problem. */
export function namePublicPath(fastify: FastifyInstance, publicPath: string): void {
  if (publicPath === '') return;
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    replace(reply, 'location', (location) => location.replace(/^\/(?!\/)/, `${publicPath}/`));
    replace(reply, 'link', (links) => links.replaceAll('</', `<${publicPath}/`));
    const isProblem = String(reply.getHeader('content-type')).startsWith('application/problem+json');
    const hasType = isProblem && typeof payload === 'string';
    done(null, hasType ? problemUnder(publicPath, payload) : payload);
  });
}

/** Adds the public path to the `type` of a problem. */
export function problemUnder(publicPath: string, text: string): string {
  return text.replace(PROBLEM_TYPE, `"type":"${publicPath}/`);
}

function replace(reply: FastifyReply, name: 'location' | 'link', change: (value: string) => string): void {
  const value = reply.getHeader(name);
  if (value !== undefined) void reply.header(name, change(String(value)));
}
