import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { Certificates } from '../config/certificate-files.ts';
import { firstEnd } from '../config/followed-certificates.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { Metrics } from '../observability/metrics.ts';

/** Follows the files of the certificates for connections to the platform. The pools use the current ones when they open a connection. */
@Injectable()
export class UpstreamCertificates implements OnModuleInit, OnApplicationShutdown {
  #unfollow: (() => void) | undefined;

  constructor(
    private readonly config: UpstreamConfig,
    private readonly files: FollowedFiles,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    this.#unfollow = this.config.certificates?.follow((now) => this.#observe(now), this.files);
  }

  onApplicationShutdown(): void {
    this.#unfollow?.();
  }

  #observe({ cert, ca }: Certificates): void {
    const gauge = 'gateway_certificate_expiry_timestamp_seconds';
    if (cert) this.metrics.set(gauge, { certificate: 'upstream-client' }, firstEnd(cert));
    if (ca) this.metrics.set(gauge, { certificate: 'upstream-ca' }, firstEnd(ca));
  }
}
