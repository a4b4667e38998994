import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface TokenRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

type Answer = (response: ServerResponse, request: TokenRequest, count: number) => unknown;

/** Issues numbered tokens that live for an hour. */
export const issueTokens: Answer = (response, _, count) =>
  json(response, { access_token: `access_token_${count}`, expires_in: 3600 });

/** A real HTTP server in place of the token endpoint. It issues `access_token_1`, `access_token_2`, … until the test changes it. */
export class TokenServer {
  readonly requests: TokenRequest[] = [];
  answer: Answer = issueTokens;
  readonly #server = createServer({ keepAliveTimeout: 0 }, (incoming, response) => {
    void text(incoming).then(async (body) => {
      const request = {
        method: incoming.method ?? '',
        target: incoming.url ?? '',
        headers: incoming.headers,
        form: new URLSearchParams(body),
      };
      this.requests.push(request);
      await this.answer(response, request, this.requests.length);
    });
  });

  static async start(): Promise<TokenServer> {
    const server = new TokenServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/oauth/token`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

export function json(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: OutgoingHttpHeaders = {},
): void {
  raw(response, typeof body === 'string' ? body : JSON.stringify(body), status, {
    'content-type': 'application/json',
    ...headers,
  });
}

export function raw(
  response: ServerResponse,
  body: string | Buffer,
  status: number,
  headers: OutgoingHttpHeaders,
): void {
  response.writeHead(status, headers);
  response.end(body);
}
