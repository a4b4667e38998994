import { once } from 'node:events';
import { X509Certificate } from 'node:crypto';
import { connect as connectTls } from 'node:tls';
import { Agent, request } from 'undici';
import type { Identity } from './certificates.ts';

interface TlsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Record<string, unknown>;
}

interface Trust {
  /** The only authority that the client trusts, in PEM. */
  readonly ca: string;
  /** Absent: the client shows no certificate. */
  readonly identity?: Identity | undefined;
}

/** A client of TLS with connections of its own. */
export class TlsClient {
  readonly #agent: Agent;

  constructor({ ca, identity }: Trust, connections = 1) {
    this.#agent = new Agent({ connections, connect: { ca, ...identity } });
  }

  async get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<TlsAnswer> {
    const answer = await request(url, { headers, dispatcher: this.#agent });
    const body = (await answer.body.json()) as Record<string, unknown>;
    return { status: answer.statusCode, headers: answer.headers, body };
  }

  /** Begins a response that goes on: its status, and its text once it has ended. */
  async watch(url: string): Promise<{ readonly status: number; readonly text: Promise<string> }> {
    const { statusCode, body } = await request(url, { dispatcher: this.#agent });
    return { status: statusCode, text: body.text() };
  }

  stop(): Promise<void> {
    return this.#agent.close();
  }
}

/** The fingerprint of the certificate that a server shows on a new connection. */
export async function shownBy(url: string, { ca, identity }: Trust): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connectTls({ host: hostname, port: Number(port), ca, ...identity });
  await once(socket, 'secureConnect');
  const shown = socket.getPeerX509Certificate()?.fingerprint256 ?? '';
  socket.destroy();
  return shown;
}

export function fingerprintOf({ cert }: Identity): string {
  return new X509Certificate(cert).fingerprint256;
}
