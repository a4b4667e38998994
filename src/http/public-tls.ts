import type { Server, ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ClientCertificates } from '../caller/client-certificates.ts';
import { ListenConfig } from '../config/app-config.ts';
import type { Certificates } from '../config/certificate-files.ts';
import { firstEnd } from '../config/followed-certificates.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { Metrics } from '../observability/metrics.ts';
import { edge } from '../shared/edge.ts';
import { clientEndOf } from './connections.ts';
import { HEADERS_MS, serverLimits } from './server-limits.ts';

/** Configures TLS on the public listener. It keeps the certificates up to date, and tells which ones clients have shown. */
@Injectable()
export class PublicTls implements OnApplicationShutdown {
  /** The certificates under which each handshake has begun, by the client's end of its connection. */
  readonly #handshakes = new Map<string, Certificates>();
  #unfollow: (() => void) | undefined;

  constructor(
    private readonly config: ListenConfig,
    private readonly clients: ClientCertificates,
    private readonly files: FollowedFiles,
    private readonly metrics: Metrics,
  ) {}

  /** Connects to a server that was made with {@link tlsOptions}. */
  connect(server: Server): void {
    server.on(
      'connection',
      edge('client certificate', (socket: Socket) => this.#begun(socket)),
    );
    server.on(
      'secureConnection',
      edge('client certificate', (socket: TLSSocket) => {
        const end = clientEndOf(socket);
        const trust = this.#handshakes.get(end);
        this.#handshakes.delete(end);
        this.clients.opened(socket, trust);
      }),
    );
    const take = (now: Certificates): void => {
      // Open connections keep the certificates with which they began.
      server.setSecureContext(now);
      this.#observe(now);
    };
    this.#unfollow = this.config.certificates?.follow(take, this.files);
  }

  onApplicationShutdown(): void {
    this.#unfollow?.();
  }

  /** OpenSSL checks the client by the authorities of this moment, even if they are replaced during the handshake. */
  #begun(socket: Socket): void {
    const trust = this.config.certificates?.current;
    if (!trust) return;
    const end = clientEndOf(socket);
    this.#handshakes.set(end, trust);
    socket.once(
      'close',
      edge('client certificate', () => this.#handshakes.delete(end)),
    );
  }

  #observe({ cert, ca }: Certificates): void {
    const gauge = 'gateway_certificate_expiry_timestamp_seconds';
    if (cert) this.metrics.set(gauge, { certificate: 'listener' }, firstEnd(cert));
    if (ca) this.metrics.set(gauge, { certificate: 'client-ca' }, firstEnd(ca));
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
