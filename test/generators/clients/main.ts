/** Runs the clients against the gateway at GATEWAY_URL and prints what each found. */
import { steps as openapiFetch } from './openapi-fetch.ts';
import { steps as heyApi } from './hey-api.ts';
import { steps as orval } from './orval.ts';

const { GATEWAY_URL: url = '', API_KEY: key = '' } = process.env;
const found: Record<string, unknown> = {};
for (const [name, steps] of Object.entries({ openapiFetch, heyApi, orval }))
  found[name] = await steps(url, key);
process.stdout.write(JSON.stringify(found));
