/** The request of the client's `startGateway()` in addition to the command's options: a line of JSON on standard input. */
import { parseJson } from '../../sandbox/json.ts';
import { Refusal } from './refusal.ts';

const FIELDS = ['caller', 'users', 'environment', 'state'] as const satisfies readonly (keyof Asked)[];

export interface Asked {
  /** An entry of the callers file without its keys. */
  readonly caller?: object;
  /** The login names by their alias. */
  readonly users?: Readonly<Record<string, string>>;
  /** Variables of the gateway. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly state?: unknown;
}

/** Reads the request. `ended` is called when the input ends, as it does when the requesting process is gone. */
export async function readAsked(ended: () => void): Promise<Asked> {
  const line = await new Promise<string>((resolve, reject) => {
    let text = '';
    process.stdin.setEncoding('utf8');
    process.stdin.on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('\n')) resolve(text);
    });
    process.stdin.once('end', () => {
      if (text.includes('\n')) ended();
      else reject(refusal());
    });
  });
  const asked = parsed(line);
  for (const name of Object.keys(asked))
    if (!(FIELDS as readonly string[]).includes(name))
      throw new Refusal(`--stdin: /${name} is unknown. The fields are ${FIELDS.join(', ')}.`);
  return asked;
}

function parsed(line: string): Asked {
  try {
    const value = parseJson(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The text is refused below.
  }
  throw refusal();
}

function refusal(): Refusal {
  return new Refusal('--stdin needs a line of JSON on standard input, an object.');
}
