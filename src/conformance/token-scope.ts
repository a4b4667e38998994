import type { UpstreamConfig } from '../config/app-config.ts';
import type { KnownReadings } from '../config/platform-profile.ts';
import type { ApplicationPrincipal } from '../token/principal.ts';
import { TokenFailure } from '../token/token-failure.ts';
import type { TokenManager } from '../token/token.manager.ts';
import { tokenTrouble } from './cannot-ask.ts';

/**
 * Tells whether the token endpoint accepts a request with a scope. The answer stays in use, because no other question can be asked without
 * a token. Undefined if the settings have no scope. Throws {@link CannotAsk} if the endpoint issues no token at all.
 */
export async function findTokenScope(
  tokens: TokenManager,
  { profile, scopes }: UpstreamConfig,
): Promise<KnownReadings['tokenScope']> {
  const [first, ...others] = [...new Set([scopes.order, scopes.member])].flatMap((scope) => scope ?? []);
  if (first === undefined) return undefined;
  const use = (tokenScope: 'taken' | 'refused') => profile.replace(profile.with({ tokenScope }));
  /** Requests a token without the tokens in use, because those are not requested for a while after a refusal. */
  const failureFor = async (scope: string) => {
    const application: ApplicationPrincipal = { kind: 'application', scope };
    const asked = tokens.forSession((endpoint) => endpoint.request(application));
    const failure = await asked.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure !== undefined && !mayBeOfScope(failure)) throw tokenTrouble(failure, application);
    return failure === undefined ? undefined : { failure, application };
  };
  if (profile.of('tokenScope') === 'refused' && !(await failureFor(first))) return 'refused';
  use('taken');
  const refused = await failureFor(first);
  if (!refused) return 'taken';
  // If the endpoint accepts another scope, the first one is not the application's.
  for (const scope of others) if (!(await failureFor(scope))) return 'taken';
  use('refused');
  if (!(await failureFor(first))) return 'refused';
  throw tokenTrouble(refused.failure, refused.application);
}

/**
 * True for the platform's own code, which may refuse a scope. `invalid_client` without a code refuses the secret, which is not tried again.
 */
function mayBeOfScope(error: unknown): boolean {
  if (!(error instanceof TokenFailure) || error.ofEndpoint || error.reason === 'server_error') return false;
  return error.reason !== 'invalid_client' || error.code !== undefined;
}
