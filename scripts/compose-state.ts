/**
 * `KEY=<API key> npm run compose-state` prepares a gateway in front of the sandbox for the examples of the API page, as the demo does at
 * its start. It is for docker-compose.yml, after `database-init`. It may be repeated.
 */
import { prepareDemo } from './demo-state.ts';

const {
  KEY: key,
  GATEWAY_URL = 'http://127.0.0.1:3000',
  SANDBOX_URL = 'http://127.0.0.1:4000',
} = process.env;
if (!key) {
  console.error('usage: KEY=<the API key that `npm run compose-secrets` printed> npm run compose-state');
  process.exit(2);
}
try {
  await prepareDemo({ gatewayUrl: GATEWAY_URL, key, sandboxUrl: SANDBOX_URL });
  console.log('The examples of the API page work now: order SO-2000 is placed, and chen@harbour can log in.');
} catch (error) {
  console.error(
    (error as Error).cause ? `No server: ${String((error as Error).cause)}` : (error as Error).message,
  );
  process.exit(1);
}
