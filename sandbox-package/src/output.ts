import type { Arguments } from './arguments.ts';

/** The running servers as `--json` prints them. Without a gateway there is only the sandbox. */
export interface Started {
  readonly url?: string;
  readonly apiKey?: string;
  readonly managementUrl?: string;
  readonly sandbox: {
    readonly url: string;
    readonly controlUrl: string;
    readonly appKey: string;
    readonly appSecret: string;
    readonly password: string;
    readonly seed: number;
  };
}

export function readableLines(
  { url, apiKey, managementUrl, sandbox }: Started,
  { user, state }: Arguments,
  canLogIn: boolean,
): string {
  const lines =
    url === undefined
      ? [
          ['Platform', sandbox.url],
          ['App key', sandbox.appKey],
          ['App secret', sandbox.appSecret],
        ]
      : [
          ['Gateway', url],
          ['API page', `${url}/docs`],
          ['Console', `${managementUrl}/console`],
          ['API key', apiKey],
          ['Platform', sandbox.url],
        ];
  const all = [
    ...lines,
    ['Control', `${sandbox.controlUrl}  (faults, time, state)`],
    ...(canLogIn ? [['Log in', `${user}, password ${sandbox.password}`]] : []),
    ['Seed', sandbox.seed],
  ];
  const shown = all.map(([name, value]) => `  ${String(name).padEnd(12)}${value}\n`).join('');
  // The seed has this enterprise, but a custom state may not.
  const example =
    url === undefined || state !== undefined
      ? ''
      : `\n  export LICENSING_URL=${url} LICENSING_API_KEY=${apiKey}\n  curl -s ${url}/v1/enterprises/ent-harbour/assets -H 'X-Api-Key: ${apiKey}'\n`;
  return `\n${shown}${example}\n  Ctrl-C ends ${url === undefined ? 'it' : 'both'}.\n\n`;
}
