import { context, diag, DiagLogLevel, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  getBooleanFromEnv,
  getNumberFromEnv,
  getStringFromEnv,
  getStringListFromEnv,
} from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  osDetector,
  processDetector,
  type ResourceDetector,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { httpUrl } from '../config/schemas.ts';
import { cleanText } from '../shared/clean-text.ts';
import { version } from '../shared/shipped-file.ts';
import type { Log } from './log.ts';
import { collectSpans } from './tracing.ts';

const MAX_WORDS = 200;
const TRACES_ENDPOINT = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
/** The form of one header, or nothing: the value has printable ASCII and blanks, and `%` only before two hex digits. */
const HEADER = /^\s*$|^ *[\w!#$%&'*+.^`|~-]+ *=(?:[ !-$&-~]|%[\da-f]{2})*$/i;
const DETECTORS: Readonly<Record<string, ResourceDetector>> = {
  env: envDetector,
  host: hostDetector,
  os: osDetector,
  process: processDetector,
  serviceinstance: serviceInstanceIdDetector,
};
const SAMPLERS: Readonly<Record<string, () => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: () => new TraceIdRatioBasedSampler(ratio()),
};

/**
 * The parts of OpenTelemetry's SDK that send spans. `main` loads this file only if OTEL_EXPORTER_OTLP_ENDPOINT is set, because loading
 * takes time. The exporters read the variables of OTLP themselves, and this file reads those of the SDK. Only spans are exported: metrics
 * are read from `/metrics`, and the log is on standard output.
 */
export function startTracing(log: Log, { headers }: TracingConfig): { stop(): Promise<void> } {
  const { env } = process;
  assertForms(headers?.reveal());
  // The headers may come from a file, so they are set here.
  if (headers) env['OTEL_EXPORTER_OTLP_HEADERS'] = headers.reveal();
  // The process' own detector is left out, because it sends the command line and the user.
  env['OTEL_NODE_RESOURCE_DETECTORS'] ??= 'env,host,serviceinstance';
  const given = env['OTEL_RESOURCE_ATTRIBUTES'] ?? '';
  const names = (attribute: string) => new RegExp(`(^|,)\\s*service\\.${attribute}\\s*=`).test(given);
  if (!names('name')) env['OTEL_SERVICE_NAME'] ??= 'licensing-gateway';
  if (!names('version'))
    env['OTEL_RESOURCE_ATTRIBUTES'] = [given, `service.version=${encodeURIComponent(version)}`]
      .filter((part) => part !== '')
      .join(',');
  const read = sayOnce(log);
  const sent = chosen(['OTEL_TRACES_EXPORTER'], ['otlp', 'none']);
  const protocol = chosen(
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'],
    ['http/protobuf', 'http/json'],
  );
  if (sent === 'none' || getBooleanFromEnv('OTEL_SDK_DISABLED')) return { stop: () => Promise.resolve() };

  const processor = new BatchSpanProcessor({
    exporter: protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter(),
    maxQueueSize: positive('OTEL_BSP_MAX_QUEUE_SIZE'),
    scheduledDelayMillis: positive('OTEL_BSP_SCHEDULE_DELAY'),
    exportTimeoutMillis: positive('OTEL_BSP_EXPORT_TIMEOUT'),
    maxExportBatchSize: positive('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
  });
  const provider = new TracerProvider({
    resource: defaultResource().merge(detectResources({ detectors: detectors() })),
    spanProcessors: [processor],
    sampler: samplerOf(getStringFromEnv('OTEL_TRACES_SAMPLER')),
    // The gateway's spans have no events.
    spanLimits: {
      attributeCountLimit:
        getNumberFromEnv('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT') ?? getNumberFromEnv('OTEL_ATTRIBUTE_COUNT_LIMIT'),
      attributeValueLengthLimit:
        getNumberFromEnv('OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT') ??
        getNumberFromEnv('OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'),
      linkCountLimit: getNumberFromEnv('OTEL_SPAN_LINK_COUNT_LIMIT'),
    },
  });
  read();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
  collectSpans();
  return { stop: () => provider.shutdown().catch(() => undefined) };
}

/** Throws if an address or headers for the collector have another form. The SDK would send the spans elsewhere, or without the headers. */
function assertForms(headers: string | undefined): void {
  const own = getStringFromEnv(TRACES_ENDPOINT);
  const wrong = own === undefined ? undefined : httpUrl({ query: true }).safeParse(own).error;
  const faults = wrong ? [`${TRACES_ENDPOINT} ${wrong.issues[0]?.message}`] : [];
  for (const [name, value] of [
    ['OTEL_EXPORTER_OTLP_HEADERS', headers],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', getStringFromEnv('OTEL_EXPORTER_OTLP_TRACES_HEADERS')],
  ] as const)
    if (value?.split(',').some((part) => !HEADER.test(part)))
      faults.push(
        `${name} must be name=value, comma separated, with every other character of a value as %XX`,
      );
  if (faults.length > 0) throw new ConfigError(faults);
}

/** Returns the value of the first of these variables that is set, or the first word if none is. */
function chosen(variables: readonly string[], words: readonly [string, ...string[]]): string {
  const [variable = ''] = variables.filter((name) => getStringFromEnv(name) !== undefined);
  const word = getStringFromEnv(variable)?.trim() ?? words[0];
  if (!words.includes(word)) throw new ConfigError([`${variable} must be one of ${words.join(', ')}`]);
  return word;
}

/** Returns undefined if the SDK has a default of its own. */
function positive(variable: string): number | undefined {
  const value = getNumberFromEnv(variable);
  if (value === undefined || value > 0) return value;
  diag.warn(`${variable} must be a number above 0: the default is used`);
  return undefined;
}

/** Returns undefined for the SDK's default, which collects what the caller collects, and every trace that begins here. */
function samplerOf(name: string | undefined): Sampler | undefined {
  if (name === undefined) return undefined;
  const own = SAMPLERS[name.replace(/^parentbased_/, '')];
  if (!own) {
    const roots = Object.keys(SAMPLERS).join(', ');
    diag.error(
      `OTEL_TRACES_SAMPLER must be one of ${roots}, each also after parentbased_: all traces are collected`,
    );
    return undefined;
  }
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root: own() }) : own();
}

function ratio(): number {
  const given = getNumberFromEnv('OTEL_TRACES_SAMPLER_ARG');
  if (given !== undefined && given >= 0 && given <= 1) return given;
  diag.error('OTEL_TRACES_SAMPLER_ARG must be from 0 to 1: all traces are collected');
  return 1;
}

function detectors(): ResourceDetector[] {
  const names = getStringListFromEnv('OTEL_NODE_RESOURCE_DETECTORS') ?? [];
  if (names.includes('none')) return [];
  if (names.includes('all')) return Object.values(DETECTORS);
  return names.flatMap((name) => {
    const found = DETECTORS[name];
    if (!found)
      diag.warn(
        `OTEL_NODE_RESOURCE_DETECTORS has an unknown word; known are ${Object.keys(DETECTORS).join(', ')}`,
      );
    return found ?? [];
  });
}

/**
 * Logs the reports of the SDK, each text once, because a collector that is away fails every few seconds. Until the returned function is
 * called, the SDK reads the environment and its reports quote values, so only the names of variables are logged.
 */
function sayOnce(log: Log): () => void {
  const said = new Set<string>();
  let isReading = true;
  const say = (message: string) => {
    // The reports of this file begin with the name of the variable, and quote no value.
    const text = cleanText(isReading && !message.startsWith('OTEL_') ? withoutValues(message) : message)
      .slice(0, MAX_WORDS)
      .toWellFormed();
    if (said.has(text) || said.size >= 20) return;
    said.add(text);
    log.warn({ event: 'tracing', said: text }, 'Spans may be lost');
  };
  const quiet = () => undefined;
  diag.setLogger(
    { error: say, warn: say, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  return () => (isReading = false);
}

function withoutValues(message: string): string {
  const [name = 'A variable of OpenTelemetry'] = /OTEL_[A-Z_]+/.exec(message) ?? [];
  return `${name} has a value that OpenTelemetry cannot use: the default is used`;
}
