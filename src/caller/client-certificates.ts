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
  /** As entries of callers write them. */
  readonly names: readonly string[];
  /** In ms since 1970. */
  readonly endsAt: number;
  /** Why OpenSSL, or the gateway later, does not accept it. */
  fault: string | undefined;
  /** The gateway's own certificates at that time; they have the authorities. */
  trust: Certificates;
  /** Its callers, and the registry's content of which they are. */
  known: ReadonlyMap<string, Caller>;
  callers: readonly Caller[];
}

const NONE: readonly Caller[] = [];
/** A stranger chooses the names of its certificate. */
const MAX_LOGGED = 200;

/** Callers by the certificate of their connection. It is read once for each connection; requests look up what was found. */
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

  /** A TLS connection is open. Whether its client has shown a certificate that OpenSSL accepts is known by now. */
  opened(socket: TLSSocket): void {
    const certificate = this.#own && socket.getPeerX509Certificate();
    if (!this.#own || !certificate) return;
    // Node says null where there is none, against its types.
    const fault = socket.authorized ? undefined : String(socket.authorizationError);
    this.#shown.set(socket, {
      certificate,
      names: certificateNames(certificate),
      endsAt: certificate.validToDate.getTime(),
      fault,
      trust: this.#own.current,
      known: new Map(),
      callers: NONE,
    });
  }

  /** The callers whose entries name the certificate of this connection: none, one, or several by several names. */
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
   * Tells the log why the certificate of this connection has not identified a caller; the caller is not told. Returns whether another
   * connection may help, where the client shows its certificate anew.
   */
  tellRefused(socket: Socket, requestId: string): boolean {
    const shown = this.#own && this.#shown.get(socket);
    if (!shown) return false;
    const fault = this.#faultOf(shown);
    const reason = fault ?? (shown.callers.length > 1 ? 'SEVERAL_CALLERS' : 'NO_CALLER');
    const names = shown.names.join(', ').slice(0, MAX_LOGGED);
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
    // The connection may be older than the end of the certificate.
    return shown.fault ?? (Date.now() < shown.endsAt ? undefined : 'CERT_HAS_EXPIRED');
  }
}

/**
 * Whether a certificate that was accepted would be accepted by the authorities of now, too. Node does not tell which authority it was, and
 * which certificates lay between, so in doubt the answer is no.
 */
function isStillTrusted({ certificate, trust }: Shown, now: Certificates): boolean {
  if (trust.ca === now.ca) return true;
  const [before, after] = [trust, now].map(({ ca }) => certificatesIn(ca ?? ''));
  const kept = new Set(after?.map(({ fingerprint256 }) => fingerprint256));
  if (before?.every(({ fingerprint256 }) => kept.has(fingerprint256))) return true;
  return after?.some((each) => certificate.checkIssued(each) && certificate.verify(each.publicKey)) === true;
}
