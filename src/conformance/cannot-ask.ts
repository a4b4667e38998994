import type { Principal } from '../token/principal.ts';
import { TokenFailure } from '../token/token-failure.ts';

/** The platform cannot be asked. The message is one sentence that says what to do. */
export class CannotAsk extends Error {
  override readonly name = 'CannotAsk';
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME/;

/** Returns the {@link CannotAsk} for a token that the endpoint does not issue. Any other error is returned unchanged. */
export function tokenTrouble(error: unknown, principal: Principal): unknown {
  if (!(error instanceof TokenFailure)) return error;
  return new CannotAsk(
    error.kind === 'rejected'
      ? refused(error, principal)
      : notReached('UPSTREAM_TOKEN_URL', error.reason, error.cause),
  );
}

function refused({ reason }: TokenFailure, principal: Principal): string {
  if (principal.kind === 'user')
    return `The token endpoint refuses the user \`${principal.alias}\` of UPSTREAM_USERS_FILE (${reason}): check its name and password.`;
  if (reason === 'invalid_scope')
    return `The application has no scope ${principal.scope}: ask the platform's operator for it, or name another one in UPSTREAM_ORDER_SCOPE or UPSTREAM_MEMBER_SCOPE.`;
  return `The token endpoint refuses the application (${reason}): check UPSTREAM_APP_KEY and UPSTREAM_APP_SECRET, and try UPSTREAM_TOKEN_AUTH=body.`;
}

export function notReached(
  variable: 'UPSTREAM_BASE_URL' | 'UPSTREAM_TOKEN_URL',
  reason: string,
  cause: unknown,
): string {
  const codes = codesOf(cause);
  const code = codes[0] ?? reason;
  if (codes.some((each) => CERTIFICATE.test(each)))
    return `${variable} shows a certificate that this machine does not trust (${code}): name its authority in UPSTREAM_TLS_CA_FILE.`;
  if (/timeout|timed|waited_too_long/i.test(code))
    return `${variable} does not answer in time (${code}): check the address and the network.`;
  if (variable === 'UPSTREAM_TOKEN_URL' && codes.length === 0)
    return `${variable} does not answer like a token endpoint (${code}): check the URL.`;
  return `${variable} cannot be reached (${code}): check the address, the port and the network.`;
}

/** Returns the codes of the causes, the innermost first. */
function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const { code } = error as NodeJS.ErrnoException;
  const own =
    typeof code === 'string' && /^[A-Z_0-9]{3,40}$/.test(code) && !code.startsWith('OAUTH') ? [code] : [];
  return [...codesOf(error.cause), ...own];
}
