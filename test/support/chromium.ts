// A real browser: Debian's chromium without a window. It is installed if it is missing and the machine permits it.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';

const PACKAGE = 'chromium-headless-shell';
const CHROMIUM = `/usr/bin/${PACKAGE}`;
const FLAGS = `--headless --no-sandbox --disable-gpu --disable-quic --no-first-run
  --disable-background-networking --disable-component-update --disable-sync --process-per-site`.split(/\s+/);

/** The time limit of the installation. */
export const INSTALLATION_MS = 300_000;

/**
 * Finds or installs the browser. Resolves with the reason if it is missing, which CI does not permit.
 * @throws Error if it is missing under CI and cannot be installed
 */
export async function findChromium(): Promise<string | undefined> {
  if (existsSync(CHROMIUM)) return undefined;
  try {
    if (process.getuid?.() !== 0) throw new Error(`${CHROMIUM} is missing, and only root can install it`);
    const run = promisify(execFile);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    await run('apt-get', ['update', '-qq'], { env });
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', PACKAGE], { env });
    return undefined;
  } catch (error) {
    if (process.env['CI'] === 'true') throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

export type Browser = { readonly context: BrowserContext; close(): Promise<void> };

/** Starts a browser with a new profile. */
export async function openBrowser(options: BrowserContextOptions = {}): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'hub-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    ...options,
    executablePath: CHROMIUM,
    args: FLAGS,
  });
  context.setDefaultTimeout(20_000);
  return {
    context,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
