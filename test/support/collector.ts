import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keep } from './canary.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2: of a server; 3: of a client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Spans of other traces. */
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2: failed. */
  readonly status: number;
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly boolValue?: boolean;
}
interface Attribute {
  readonly key: string;
  readonly value: Value;
}
interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'attributes' | 'status'> & {
        readonly attributes: readonly Attribute[];
        readonly status: { readonly code?: number };
      })[];
    }[];
  }[];
}

/** A collector of spans by OTLP over HTTP. It reads JSON, and keeps Protobuf as it came. What it gets is looked through for canaries. */
export class Collector {
  readonly spans: CollectedSpan[] = [];
  /** The bodies in Protobuf, in which texts can be found. */
  protobuf = '';
  readonly headers: Readonly<Record<string, unknown>>[] = [];
  resource: Readonly<Record<string, unknown>> = {};
  /** The status of its answers. */
  status = 200;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        keep('spans', body);
        this.headers.push({ ...request.headers, url: request.url });
        const { 'content-type': type } = request.headers;
        const isJson = type === 'application/json';
        if (this.status === 200 && isJson) this.#take(JSON.parse(body) as Export);
        else if (this.status === 200) this.protobuf += body;
        response.writeHead(this.status, { 'content-type': type }).end(isJson ? '{}' : '');
      });
    });
  }

  static async start(): Promise<Collector> {
    const collector = new Collector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What a gateway needs to export every span soon. */
  get environment(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
  }

  ofTrace(traceId: string): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #take({ resourceSpans }: Export): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resource = valuesOf(resource.attributes);
      for (const { spans } of scopeSpans)
        for (const { attributes, status, ...span } of spans)
          this.spans.push({ ...span, attributes: valuesOf(attributes), status: status.code ?? 0 });
    }
  }
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, boolValue } }) => [
      key,
      stringValue ?? (intValue === undefined ? boolValue : Number(intValue)),
    ]),
  );
}
