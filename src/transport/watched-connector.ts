import { buildConnector } from 'undici';
import type { Metrics, TlsServer } from '../observability/metrics.ts';
import { isTlsRefusal } from '../shared/tls-refusal.ts';

interface TlsSocket {
  getPeerCertificate(): { readonly valid_to?: string };
}

/** Opens connections for undici, and tells the metrics when the server's certificate ends and when TLS is refused. */
export function watchedConnector(
  server: TlsServer,
  connectTimeoutMs: number,
  metrics: Metrics,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    // Set explicitly, because an environment variable can turn Node's default off.
    rejectUnauthorized: true,
    allowH2: false,
  });
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error) {
        if (isTlsRefusal(error)) metrics.count('gateway_tls_failures_total', { server });
        return callback(error, null);
      }
      const ends = Date.parse((socket as Partial<TlsSocket>).getPeerCertificate?.().valid_to ?? '');
      if (ends)
        metrics.set('gateway_certificate_expiry_timestamp_seconds', { certificate: server }, ends / 1_000);
      callback(null, socket);
    });
}
