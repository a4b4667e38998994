/** Codes of OpenSSL and of Node for a certificate that one side does not accept, and for a handshake that failed. */
const TLS_CODE =
  /^(CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_TLS_|ERR_SSL_|EPROTO$)/;

/** Whether a connection failed because TLS or a certificate was refused, and not because of the network. */
export function isTlsRefusal(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && TLS_CODE.test(code);
}
