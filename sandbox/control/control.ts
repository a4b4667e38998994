/** The control side under `/__sandbox`, with which a test, a demo or a person controls the sandbox. */
import { nearestWord } from '../nearest.ts';
import { passTime } from '../order/batch.ts';
import { ControlError, Unknown } from './checks.ts';
import { type ControlRequest, type Parameters, ROUTES, type Sandbox } from './routes.ts';

interface ControlAnswer {
  readonly status: number;
  readonly body: unknown;
}

const LINES = ROUTES.map(({ method, path }) => `${method} ${path === '' ? '/' : path}`);

/** Answers a control request: 200 with JSON, 204 without content, 400 naming the field, or 404. */
export function control(sandbox: Sandbox, request: ControlRequest): ControlAnswer {
  try {
    passTime(sandbox.world);
    const path = request.path === '/' ? '' : request.path;
    for (const { method, path: template, act } of ROUTES) {
      const parameters = method === request.method ? match(template, path) : null;
      if (parameters === null) continue;
      const body = act(sandbox, request, parameters);
      return body === undefined ? { status: 204, body: null } : { status: 200, body };
    }
    const line = `${request.method} ${path}`;
    const error = `no ${line} here; nearest: ${nearestWord(line, LINES)}; known: ${LINES.join(', ')}`;
    return { status: 404, body: { error } };
  } catch (error) {
    if (error instanceof Unknown) return { status: 404, body: { error: error.message } };
    if (!(error instanceof ControlError)) throw error;
    return { status: 400, body: { error: error.message, field: error.field } };
  }
}

function match(template: string, path: string): Parameters | null {
  const wanted = template.split('/');
  const given = path.split('/');
  if (given.length !== wanted.length) return null;
  const parameters: Record<string, string> = {};
  for (const [place, segment] of wanted.entries()) {
    const value = given[place] ?? '';
    if (!segment.startsWith('{')) {
      if (segment !== value) return null;
    } else if (value !== '') parameters[segment.slice(1, -1)] = decoded(value);
    else return null;
  }
  return parameters;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new ControlError('path', `has a segment that is not percent-encoded UTF-8: ${segment}`);
  }
}
