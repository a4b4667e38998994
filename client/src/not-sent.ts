import { isObject } from './is-object.ts';

/**
 * No address, or no connection. A code such as `EHOSTUNREACH` is not here, because it also ends a connection over which the request was sent;
 * only the system call proves which of the two it was.
 */
const NO_CONNECTION =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused)$/;
/** The server's certificate is refused, or the handshake failed: the server does not use TLS, or no version of it that both know. */
const NO_TLS =
  /^(ERR_TLS_CERT_ALTNAME_INVALID|CERT_HAS_EXPIRED|(DEPTH_ZERO_)?SELF_SIGNED_CERT(_IN_CHAIN)?|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT_LOCALLY)|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL|TLSV1_ALERT_PROTOCOL_VERSION))$/;

/**
 * True if a failed `fetch` proves that no byte of the request left this process. Node reports that in the cause's code and system call, Bun
 * in the error's code, Deno in its text. If the error does not tell, the request may have been sent.
 */
export function provesNotSent(error: unknown): boolean {
  if (!isObject(error)) return false;
  const { code, syscall, message, cause, errors } = error as {
    code?: unknown;
    message?: unknown;
    cause?: unknown;
    syscall?: unknown;
    errors?: readonly unknown[];
  };
  // There is one error for each address that was tried.
  if (errors !== undefined && errors.length > 0) return errors.every(provesNotSent);
  if (typeof code === 'string' && (NO_CONNECTION.test(code) || NO_TLS.test(code))) return true;
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true;
  if (cause !== undefined) return provesNotSent(cause);
  // `bad port`: the Fetch standard forbids requests to this port.
  return /^bad port$|client error \(Connect\)|tcp connect error|dns error/.test(String(message));
}

/** Returns the code of the failure, such as `ECONNREFUSED`, if there is one. */
export function codeOf(error: unknown): string | undefined {
  if (!isObject(error)) return undefined;
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: readonly unknown[] };
  return typeof code === 'string' ? code : codeOf(cause ?? errors?.[0]);
}
