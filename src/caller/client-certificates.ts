import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Injectable } from '@nestjs/common';
import { ListenConfig } from '../config/app-config.ts';
import { type Certificates, certificatesIn } from '../config/certificate-files.ts';
import { Log } from '../observability/log.ts';
import { CallerRegistry } from './caller.registry.ts';
import type { Caller } from '../request/caller.ts';
import { certificateNames } from './certificate-names.ts';

/** The certificate that a client has shown on its connection. */
interface Shown {
  readonly certificate: X509Certificate;
  /** The names in the form that entries of callers use. */
  readonly names: readonly string[];
  /** The end of the certificate in ms since 1970. */
  readonly endsAt: number;
  /** Why OpenSSL refused the certificate, or why the gateway refused it later. */
  fault: string | undefined;
  /** The gateway's own certificates by which that was decided, including the authorities. */
  trust: Certificates;
  /** The callers of the certificate, and the content of the registry from which they come. */
  known: ReadonlyMap<string, Caller>;
  callers: readonly Caller[];
}

const NONE: readonly Caller[] = [];
/** The longest name in the log, because an unknown client chooses the names of its certificate. */
const MAX_LOGGED = 200;

/** Finds callers by the certificate of their connection. The certificate is read once for each connection, and requests use the result. */
@Injectable()
export class ClientCertificates {
  readonly #shown = new WeakMap<Socket, Shown>();
  readonly #own: ListenConfig['certificates'];

  constructor(
    { certificates }: ListenConfig,
    private readonly registry: CallerRegistry,
    private readonly log: Log,
  ) {
    if (certificates?.current.ca) this.#own = certificates;
  }

  /**
   * Reads the certificate of a new TLS connection. OpenSSL has decided by now whether it accepts the certificate, by the authorities of
   * `trust`. By default these are the present ones.
   */
  opened(socket: TLSSocket, trust = this.#own?.current): void {
    const certificate = this.#own && socket.getPeerX509Certificate();
    if (!trust || !certificate) return;
    // Node returns null if there is no certificate, although its types exclude null.
    const fault = socket.authorized ? undefined : String(socket.authorizationError);
    this.#shown.set(socket, {
      certificate,
      names: certificateNames(certificate),
      endsAt: certificate.validToDate.getTime(),
      fault,
      trust,
      known: new Map(),
      callers: NONE,
    });
  }

  /** Returns the callers whose entries name the certificate of this connection. There may be none, one, or several with several names. */
  callersOf(socket: Socket): readonly Caller[] {
    const shown = this.#own && this.#shown.get(socket);
    if (!shown || this.#faultOf(shown) !== undefined) return NONE;
    const { byCertificate } = this.registry;
    if (shown.known !== byCertificate) {
      shown.known = byCertificate;
      shown.callers = [...new Set(shown.names.flatMap((name) => byCertificate.get(name) ?? []))];
    }
    return shown.callers;
  }

  /**
   * Logs why the certificate of this connection has not identified a caller. The caller does not learn it. Returns true if a new connection
   * may help, on which the client shows its certificate again.
   */
  tellRefused(socket: Socket, requestId: string): boolean {
    const shown = this.#own && this.#shown.get(socket);
    if (!shown) return false;
    const fault = this.#faultOf(shown);
    const reason = fault ?? (shown.callers.length > 1 ? 'SEVERAL_CALLERS' : 'NO_CALLER');
    const names = shown.names.join(', ').slice(0, MAX_LOGGED).toWellFormed();
    this.log.info(
      { event: 'certificate-refused', requestId, reason, names },
      'A client certificate is no credential',
    );
    return fault !== undefined;
  }

  #faultOf(shown: Shown): string | undefined {
    const now = this.#own?.current;
    if (now && now !== shown.trust) {
      if (!isStillTrusted(shown, now)) shown.fault ??= 'AUTHORITY_REMOVED';
      shown.trust = now;
    }
    // The certificate may have ended after the connection was opened.
    return shown.fault ?? (Date.now() < shown.endsAt ? undefined : 'CERT_HAS_EXPIRED');
  }
}

/**
 * True if the present authorities would also accept a certificate that was accepted before. Node does not tell which authority it was, and
 * which certificates lay between, so in doubt the answer is false.
 */
function isStillTrusted({ certificate, trust }: Shown, now: Certificates): boolean {
  if (trust.ca === now.ca) return true;
  const [before, after] = [trust, now].map(({ ca }) => certificatesIn(ca ?? ''));
  const kept = new Set(after?.map(({ fingerprint256 }) => fingerprint256));
  if (before?.every(({ fingerprint256 }) => kept.has(fingerprint256))) return true;
  return after?.some((each) => certificate.checkIssued(each) && certificate.verify(each.publicKey)) === true;
}
