import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
/** What one request gets: a response, a cut connection, or nothing at all. */
export type Act =
  | {
      readonly status: number;
      readonly body?: unknown;
      readonly text?: string;
      readonly headers?: Record<string, string>;
      /** The response never ends after its text, or its connection is cut. */
      readonly end?: 'cut' | 'never';
    }
  | 'cut'
  | 'silence';

/** Stands for gateways that cannot be started here: other versions, and load balancers in front of one. One act a request. */
export class ScriptedGateway {
  readonly requests: SeenRequest[] = [];
  acts: Act[] = [];
  // A slow machine may need longer than the usual 5 s until the next request, which would then meet a closed connection.
  readonly #server = createServer(
    { keepAliveTimeout: 0 },
    (request, response) => void this.#handle(request, response),
  );

  static async start(port = 0): Promise<ScriptedGateway> {
    const gateway = new ScriptedGateway();
    gateway.#server.listen(port, '127.0.0.1');
    await once(gateway.#server, 'listening');
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  play(...acts: Act[]): void {
    this.acts = acts;
    this.requests.length = 0;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { method = '', url = '', headers } = request;
    this.requests.push({ method, url, headers, body });
    const act = this.acts.shift() ?? 'cut';
    if (act === 'silence') return;
    if (act === 'cut') {
      request.socket.destroy();
      return;
    }
    response.writeHead(act.status, { 'content-type': 'application/json', ...act.headers });
    const text = act.text ?? JSON.stringify(act.body ?? {});
    if (act.end === undefined) response.end(text);
    else response.write(text, () => act.end === 'cut' && request.socket.end());
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** A problem as the gateway sends it. */
export function problem(
  status: number,
  code: string,
  over: object = {},
  headers: Record<string, string> = {},
): Act {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: {
      type: `/problems/${code}`,
      title: code,
      status,
      code,
      outcome: 'not_processed',
      retryable: false,
      requestId: 'of-the-gateway',
      ...over,
    },
  };
}
