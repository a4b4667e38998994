import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../request/caller.ts';
import { Metrics } from '../observability/metrics.ts';
import { ImportConfig } from '../config/app-config.ts';
import type { RequestFile } from '../request/request-stages.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { memoryLimit } from './admission.ts';
import { utf8Type } from './media-type.ts';
import { askForBody, cutShort, MAX_BODY_BYTES, TOO_LATE } from './server-limits.ts';
import { edge } from '../shared/edge.ts';
import { JSON_TYPE, PATCH_TYPES } from '../shared/json-types.ts';
import { Slices } from '../shared/slices.ts';

const MIB = 1024 * 1024;
/** The budget is this part of the memory, because a parsed body takes up to ten times its size until its request is done. */
const PART_OF_MEMORY = 16;
const MAX_BUDGET = 64 * MIB;
const MIN_BUDGET = 8 * MIB;
/** The part of a body that Node may read before a handler does. */
const READ_AHEAD = 64 * 1024;

/** The part of a file's length that counts. A file is read as it arrives, and its rows are kept compressed. */
const PART_OF_FILE = 4;
/** No file counts for more than this part of the budget, which is half of its caller's. Otherwise long files could never be accepted. */
const MAX_PART_OF_BUDGET = 4;

const FILE_TYPES: Readonly<Record<string, RequestFile['kind']>> = {
  'text/csv': 'csv',
  'application/x-ndjson': 'ndjson',
};
const MEDIA_TYPE = /^[a-z]{1,16}\/[\w.+-]{1,64}(?: *; *charset="?[\w-]{1,20}"?)?$/i;

interface Share {
  readonly caller: string;
  bytes: number;
  /** True once a handler has the body. Its bytes then count until the handler is done, even if the caller hangs up before. */
  isHandedOver: boolean;
}

/**
 * Reads the bodies of requests of known callers. All bodies share one budget of bytes, of which one caller may use half. A body counts from
 * the headers of its request until the request is done.
 */
@Injectable()
export class RequestBodies {
  readonly #budget = Math.max(MIN_BUDGET, Math.min(MAX_BUDGET, memoryLimit() / PART_OF_MEMORY));
  readonly #ofCaller = new Map<string, number>();
  /** The bytes of the budget that the body of each request uses. */
  readonly #shares = new WeakMap<FastifyRequest, Share>();
  #underWay = 0;

  constructor(
    private readonly metrics: Metrics,
    private readonly imports: ImportConfig,
  ) {
    metrics.follow('gateway_request_body_bytes', () => [[{}, this.#underWay]]);
  }

  /**
   * Reserves bytes for the body of a request, if it has one, when its headers have arrived. Returns the problem if the body is too long or
   * the budget is used up.
   */
  admit(request: FastifyRequest, { name }: Caller): ProblemException | undefined {
    const isFile = takesFile(request);
    const { maxBytes } = this.imports;
    const length = Number(request.headers['content-length'] ?? (isFile ? maxBytes : READ_AHEAD));
    if (length > (isFile ? maxBytes : MAX_BODY_BYTES)) return new ProblemException('payload-too-large');
    const share = { caller: name, bytes: 0, isHandedOver: false };
    const ofFile = Math.ceil(Math.min(length / PART_OF_FILE, this.#budget / MAX_PART_OF_BUDGET));
    if (!this.#grow(share, isFile ? ofFile : length)) return this.#tooMany();
    this.#shares.set(request, share);
    return undefined;
  }

  /** Reads the body for which {@link admit} has reserved bytes. It does not call `done` if the caller hangs up early. */
  read(
    request: FastifyRequest,
    payload: Readable,
    done: (problem: Error | null, body?: Buffer) => void,
  ): void {
    const share = this.#shares.get(request);
    // There is no share if the caller hung up.
    if (!share) return;
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (problem: Error | null): void => {
      payload.off('data', more).off('end', atEnd).off('error', atError);
      if (problem) return done(problem);
      share.isHandedOver = true;
      done(null, Buffer.concat(chunks, length));
    };
    const failed = (): void => end(new ProblemException('internal-error'));
    const atEnd = edge('body', () => end(null), failed);
    const atError = edge('body', (cause: Error) => end(new ProblemException('validation-failed', { cause })));
    const more = edge(
      'body',
      (chunk: Buffer) => {
        length += chunk.length;
        if (length > MAX_BODY_BYTES) return end(new ProblemException('payload-too-large'));
        if (length > share.bytes && !this.#grow(share, length - share.bytes)) return end(this.#tooMany());
        chunks.push(chunk);
      },
      failed,
    );
    payload.on('data', more).on('end', atEnd).on('error', atError);
    askForBody(request.raw);
  }

  /** Reads up to the first byte of a body, or to its end without one. A body that breaks off counts as one with bytes. */
  firstByte(request: FastifyRequest, payload: Readable, done: (isThere: boolean) => void): void {
    const end = (isThere: boolean): void => {
      payload.off('data', atFirst).off('end', atEnd).off('error', atFirst);
      done(isThere);
    };
    const atFirst = edge('body', () => end(true));
    const atEnd = edge('body', () => end(false));
    payload.on('data', atFirst).on('end', atEnd).on('error', atFirst);
    askForBody(request.raw);
  }

  file(request: FastifyRequest, payload: Readable, kind: RequestFile['kind']): RequestFile {
    const share = this.#shares.get(request);
    if (share) share.isHandedOver = true;
    const length = request.headers['content-length'];
    const digest = createHash('sha256');
    return {
      kind,
      length: length === undefined ? undefined : Number(length),
      digest,
      chunks: () => arriving(request.raw, payload, digest, this.imports.maxBytes),
    };
  }

  /** Releases the body once the response is ready. */
  done(request: FastifyRequest): void {
    const share = this.#shares.get(request);
    if (!share) return;
    this.#shares.delete(request);
    this.#underWay -= share.bytes;
    const left = (this.#ofCaller.get(share.caller) ?? 0) - share.bytes;
    if (left > 0) this.#ofCaller.set(share.caller, left);
    else this.#ofCaller.delete(share.caller);
  }

  /** Releases a body that no handler has, after the connection was closed. */
  closed(request: FastifyRequest): void {
    if (this.#shares.get(request)?.isHandedOver === false) this.done(request);
  }

  #grow(share: Share, bytes: number): boolean {
    const ofCaller = (this.#ofCaller.get(share.caller) ?? 0) + bytes;
    if (ofCaller > this.#budget / 2 || this.#underWay + bytes > this.#budget) return false;
    share.bytes += bytes;
    this.#underWay += bytes;
    this.#ofCaller.set(share.caller, ofCaller);
    return true;
  }

  #tooMany(): ProblemException {
    this.metrics.count('gateway_requests_refused_total', { reason: 'bodies' });
    return new ProblemException('overloaded', { retryAfter: 1 });
  }
}

/**
 * Yields the bytes of a file, up to the limit. A file that breaks off is a fault of its request, which did nothing. It does not destroy the
 * stream, because the response uses the same connection. The rest of a request that was refused may still arrive, and must not run.
 */
async function* arriving(
  raw: IncomingMessage,
  payload: Readable,
  digest: Hash,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  askForBody(raw);
  const slices = new Slices();
  let bytes = 0;
  try {
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) break;
      digest.update(chunk);
      yield chunk;
      await slices.rest();
    }
  } catch (cause) {
    throw new ProblemException('validation-failed', { cause });
  }
  if (bytes > maxBytes)
    throw new ProblemException('payload-too-large', {
      detail: `The file may have at most ${maxBytes} bytes.`,
    });
  if (cutShort.has(raw)) throw new ProblemException('validation-failed', { detail: TOO_LATE });
}

/** Returns the type of a body that the route accepts. Undefined for any other type. */
export function bodyTypeOf(request: FastifyRequest): RequestFile['kind'] | 'json' | undefined {
  const type = isCoded(request) ? undefined : utf8Type(request.headers['content-type'] ?? '');
  if (type === undefined) return undefined;
  if (takesFile(request)) return FILE_TYPES[type];
  return jsonTypesOf(request).includes(type) ? 'json' : undefined;
}

/** Describes the fault in the type of a body. The value is repeated only if it has the form of a type. */
export function unsupportedType(request: FastifyRequest): RequestFault {
  if (isCoded(request))
    return {
      parameter: 'Content-Encoding',
      detail: 'must be left out: the body is sent without compression',
    };
  const { 'content-type': type } = request.headers;
  const types = takesFile(request) ? Object.keys(FILE_TYPES) : jsonTypesOf(request);
  const takes = types.map((each) => `\`${each}\``).join(' or ');
  const form = MEDIA_TYPE.test(type ?? '') ? `is \`${type}\`` : 'is another one';
  return {
    parameter: 'Content-Type',
    detail: `must be ${takes} in UTF-8, and ${type === undefined ? 'is missing' : form}`,
  };
}

function jsonTypesOf({ routeOptions }: FastifyRequest): readonly string[] {
  return routeOptions.config?.takesPatch === true ? PATCH_TYPES : [JSON_TYPE];
}

function isCoded({ headers }: FastifyRequest): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';
}

function takesFile({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config?.takesFile === true;
}
