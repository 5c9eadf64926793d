// A page of the console in a real browser, and a record of everything it must not do.
import type { BrowserContext, Page } from 'playwright-core';
import { until } from '../support/until.ts';

export type Visit = {
  readonly page: Page;
  /** Signs in with a token and waits for the view that the address names. */
  signIn(token: string): Promise<void>;
  /** Goes to an address behind the #, and waits until its view is there. */
  goTo(hash: string): Promise<void>;
  close(): Promise<void>;
};

/** What went wrong in any page, in a line each: errors, violations of the policy, requests to elsewhere. */
export type Complaints = string[];

export async function visit(
  context: BrowserContext,
  origin: string,
  complaints: Complaints,
  hash = '',
): Promise<Visit> {
  const page = await context.newPage();
  page.on('pageerror', ({ message }) => complaints.push(`error: ${message}`));
  page.on('console', (message) => {
    // An answer that is a refusal is logged by the browser itself.
    const isRefusal = message.text().startsWith('Failed to load resource:');
    if (['error', 'warning'].includes(message.type()) && !isRefusal)
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin) complaints.push(`request to elsewhere: ${url}`);
    if (/hub_/.test(url.href)) complaints.push('a token in an address');
    if (request.headers()['referer']?.includes('#')) complaints.push('a referrer that tells the view');
  });
  await page.goto(`${origin}/console/${hash}`);
  const arrived = async (): Promise<void> => {
    await page.locator('main h1').waitFor();
    await until(
      async () => (await page.locator('.loading, .outdated').count()) === 0,
      'the hub has answered',
    );
  };
  return {
    page,
    async signIn(token) {
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('.shell').waitFor();
      await arrived();
    },
    async goTo(hash) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      // The view that was there before is drawn no more once two frames have gone by.
      await page.evaluate(`new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))`);
      await arrived();
    },
    close: () => page.close(),
  };
}
