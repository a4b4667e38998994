import { diag, DiagLogLevel } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import type { TracingConfig } from '../config/app-config.ts';
import { cleanText } from '../shared/clean-text.ts';
import { version } from '../shared/shipped-file.ts';
import type { Log } from './log.ts';
import { collectSpans } from './tracing.ts';

const MAX_WORDS = 200;

/**
 * OpenTelemetry's SDK. `main` loads this file only where OTEL_EXPORTER_OTLP_ENDPOINT is set: loading takes a second. The SDK reads the
 * other OTEL_ variables itself. Only spans are exported: metrics are read from `/metrics`, and the log is on standard output.
 */
export function startTracing(log: Log, { headers }: TracingConfig): { stop(): Promise<void> } {
  const { env } = process;
  // They may come from a file.
  if (headers) env['OTEL_EXPORTER_OTLP_HEADERS'] = headers.reveal();
  env['OTEL_LOGS_EXPORTER'] ??= 'none';
  // Not the process' own detector: it sends the command line and the user.
  env['OTEL_NODE_RESOURCE_DETECTORS'] ??= 'env,host,serviceinstance';
  const given = env['OTEL_RESOURCE_ATTRIBUTES'] ?? '';
  const names = (attribute: string) => new RegExp(`(^|,)\\s*service\\.${attribute}\\s*=`).test(given);
  if (!names('name')) env['OTEL_SERVICE_NAME'] ??= 'licensing-gateway';
  if (!names('version'))
    env['OTEL_RESOURCE_ATTRIBUTES'] = [given, `service.version=${encodeURIComponent(version)}`]
      .filter((part) => part !== '')
      .join(',');
  const sdk = new NodeSDK({ metricReaders: [], textMapPropagator: null });
  sayOnce(log);
  sdk.start();
  collectSpans();
  return { stop: () => sdk.shutdown().catch(() => undefined) };
}

/** What the SDK reports, each text once: a collector that is away fails every few seconds. */
function sayOnce(log: Log): void {
  const said = new Set<string>();
  const say = (message: string) => {
    const text = cleanText(message, (same) => same).slice(0, MAX_WORDS);
    if (said.has(text) || said.size >= 20) return;
    said.add(text);
    log.warn({ event: 'tracing', said: text }, 'Spans may be lost');
  };
  const quiet = () => undefined;
  diag.setLogger(
    { error: say, warn: say, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
