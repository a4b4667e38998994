import type { Server, ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Injectable } from '@nestjs/common';
import { ClientCertificates } from '../caller/client-certificates.ts';
import { ListenConfig } from '../config/app-config.ts';
import type { Certificates } from '../config/certificate-files.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { edge } from '../shared/edge.ts';
import { clientEndOf } from './connections.ts';
import { HEADERS_MS, serverLimits } from './server-limits.ts';

/** Configures TLS on the public listener. It keeps the certificates up to date, and tells which ones clients have shown. */
@Injectable()
export class PublicTls {
  /** The certificates under which each handshake has begun, by the client's end of its connection. */
  readonly #handshakes = new Map<string, Certificates>();

  constructor(
    private readonly config: ListenConfig,
    private readonly clients: ClientCertificates,
    private readonly files: FollowedFiles,
  ) {}

  /** Connects to a server that was made with {@link tlsOptions}. */
  connect(server: Server): void {
    const begun = edge('client certificate', (socket: Socket) => this.#begun(socket));
    const secured = edge('client certificate', (socket: TLSSocket) => {
      const end = clientEndOf(socket);
      const trust = this.#handshakes.get(end);
      this.#handshakes.delete(end);
      this.clients.opened(socket, trust);
    });
    server.on('connection', begun).on('secureConnection', secured);
    const { certificates } = this.config;
    if (!certificates) return;
    // Open connections keep the certificates with which they began.
    const take = (now: Certificates) => server.setSecureContext(now);
    this.files.certificates(certificates, { cert: 'listener', ca: 'client-ca' }, take);
  }

  /** OpenSSL checks the client by the authorities of this moment, even if they are replaced during the handshake. */
  #begun(socket: Socket): void {
    const trust = this.config.certificates?.current;
    if (!trust) return;
    const end = clientEndOf(socket);
    this.#handshakes.set(end, trust);
    const closed = edge('client certificate', () => this.#handshakes.delete(end));
    socket.once('close', closed);
  }
}

export function tlsOptions(first: Certificates): ServerOptions {
  return {
    ...serverLimits.http,
    ...first,
    handshakeTimeout: HEADERS_MS,
    requestCert: first.ca !== undefined,
    // The listener requests a certificate and does not demand one: its validity matters only if it is the credential.
    rejectUnauthorized: false,
  };
}
