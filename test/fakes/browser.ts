import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

/** Where Debian has it; `test/chromium.sh` sees to it. */
const EXECUTABLE = '/usr/bin/chromium';
/** It must run as root and start nothing of its own accord: no updates, no sync, no look-ups. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];
/** For each thing waited for; a loaded machine is slow to draw, and slower to run a container. */
const TIMEOUT_MS = 120_000;

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  readonly calm?: boolean;
}

/** One tab, and what went wrong in it or left it. */
export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every URL it asked for. */
  readonly requests: readonly string[];
  /** Errors and warnings of the console, thrown errors, and violations of the page's policy. */
  readonly complaints: readonly string[];
}

/** A browser of its own folder, which `close` removes. */
export interface RunningBrowser {
  /** A new tab in a context of its own: no storage, cache or cookie is shared. */
  open(url: string, look?: Look): Promise<Tab>;
  close(): Promise<void>;
}

/** Starts Debian's Chromium, headless, with a profile of its own. */
export async function startBrowser(): Promise<RunningBrowser> {
  const folder = mkdtempSync(join(tmpdir(), 'compute-step-browser-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  const launched = chromium.launch({
    executablePath: EXECUTABLE,
    args: ARGUMENTS,
    headless: true,
    timeout: TIMEOUT_MS,
    env: { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder },
  });
  const browser = await launched.catch((error: unknown) => {
    remove();
    throw error;
  });
  return {
    open: async (url, { width = 1280, height = 900, scheme = 'light', calm = false } = {}) => {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: scheme,
        reducedMotion: calm ? 'reduce' : 'no-preference',
        locale: 'en',
      });
      context.setDefaultTimeout(TIMEOUT_MS);
      const page = await context.newPage();
      const requests: string[] = [];
      const complaints: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) {
          complaints.push(message.text());
        }
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      await page.exposeFunction('complain', (what: string) => complaints.push(what));
      await page.addInitScript(() => {
        const told = globalThis as unknown as {
          complain: (what: string) => void;
          addEventListener: (type: string, told: (event: { violatedDirective: string }) => void) => void;
        };
        told.addEventListener('securitypolicyviolation', (event) =>
          told.complain(`policy: ${event.violatedDirective}`),
        );
      });
      await page.goto(url);
      return { page, context, requests, complaints };
    },
    close: async () => {
      await browser.close();
      remove();
    },
  };
}
