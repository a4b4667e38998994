import { type Browser, chromium } from 'playwright-core';

/** Debian's Chromium, which `npm test` installs. Playwright gives it an empty profile in a temporary folder. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
