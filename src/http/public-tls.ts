import type { Server, ServerOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ClientCertificates } from '../caller/client-certificates.ts';
import { ListenConfig } from '../config/app-config.ts';
import type { Certificates } from '../config/certificate-files.ts';
import { firstEnd } from '../config/followed-certificates.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { Metrics } from '../observability/metrics.ts';
import { edge } from '../shared/edge.ts';
import { HEADERS_MS, serverLimits } from './server-limits.ts';

/** Configures TLS on the public listener. It keeps the certificates up to date, and tells which ones clients have shown. */
@Injectable()
export class PublicTls implements OnApplicationShutdown {
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
      'secureConnection',
      edge('client certificate', (socket: TLSSocket) => this.clients.opened(socket)),
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
