import type { UpstreamConfig } from '../config/app-config.ts';
import type { KnownReadings } from '../config/platform-profile.ts';
import type { ApplicationPrincipal } from '../token/principal.ts';
import { TokenFailure } from '../token/token-failure.ts';
import type { TokenManager } from '../token/token.manager.ts';
import { tokenTrouble } from './cannot-ask.ts';

/**
 * Whether the token endpoint takes a request with a scope. The answer stays in use, because no other question can be asked without a
 * token. Undefined: the settings have no scope to ask with. Throws {@link CannotAsk} where the endpoint gives no token at all.
 */
export async function findTokenScope(
  tokens: TokenManager,
  { profile, scopes }: UpstreamConfig,
): Promise<KnownReadings['tokenScope']> {
  const [first, ...others] = [...new Set([scopes.order, scopes.member])].flatMap((scope) => scope ?? []);
  if (first === undefined) return undefined;
  const use = (tokenScope: 'taken' | 'refused') => profile.replace(profile.with({ tokenScope }));
  /** Not through the tokens in use: after a refusal they would not be asked for again for a while. */
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
  // If the endpoint takes another scope, the first one is not the application's.
  for (const scope of others) if (!(await failureFor(scope))) return 'taken';
  use('refused');
  if (!(await failureFor(first))) return 'refused';
  throw tokenTrouble(refused.failure, refused.application);
}

/** The platform's own code may refuse a scope; `invalid_client` without one refuses the secret, which is not tried again. */
function mayBeOfScope(error: unknown): boolean {
  if (!(error instanceof TokenFailure) || error.ofEndpoint || error.reason === 'server_error') return false;
  return error.reason !== 'invalid_client' || error.code !== undefined;
}
