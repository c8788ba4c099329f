import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Look, type RunningBrowser, startBrowser, type Tab } from '../fakes/browser.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';
import type { ScriptedAnswer } from '../fakes/scripted-model.ts';

// A test here takes several steps, each of which may wait for an engine that others load.
vi.setConfig({ testTimeout: 600_000 });
const WAIT = { timeout: 120_000, interval: 100 };
const AVERAGE =
  'def compute(data):\n    rows = data["orders"]\n    return sum(r["price"] for r in rows) / len(rows)\n';
const REFUSED = 'import socket\n\ndef compute(data):\n    é = "😀"; return eval("1")\n';
const MARKUP = '<img src=x onerror="document.title=1">';
const HOSTILE = `def compute(data):
    # </code><script>document.title = 1</script>
    print('${MARKUP}')
    return {'${MARKUP}': '</pre><script>document.title = 1</script>'}
`;
const SECRET = 'SECRET-VALUE-4711';

/** What the scripted model writes, by a word of the instruction. */
const SCRIPT: Readonly<Record<string, ScriptedAnswer>> = {
  'average price': AVERAGE,
  'first id': 'def compute(data):\n    return [data["orders"][0]["id"], 2**200]\n',
  'reach out': REFUSED,
  'forget a case': 'def compute(data):\n    orders = data["orders"]\n    return {}["none"]\n',
  'hostile words': HOSTILE,
  'turn around': 'def compute(data):\n    return 1  # \u202e\n',
  'be text': 'def compute(data):\n    return "text"\n',
  'be long': 'def compute(data):\n    return "x" * 300000\n',
};

let hungUp = 0;
/** Lets the model answer an instruction with `when told`. */
let tell: () => void = () => {};
let built: BuiltService;
let browser: RunningBrowser;
let tabs: { readonly tab: Tab; readonly expected: readonly RegExp[] }[] = [];

beforeAll(async () => {
  built = await startBuiltService({
    tenant: { quotas: { compute_runs: 1000, compute_seconds: null }, allow_detail: true },
    answer: ({ user }) => {
      if (user.includes('when told')) {
        return new Promise((resolve) => {
          tell = () => resolve(AVERAGE);
        });
      }
      const word = Object.keys(SCRIPT).find((name) => user.includes(name));
      return word === undefined
        ? { handle: (response) => response.on('close', () => (hungUp += 1)) }
        : (SCRIPT[word] as ScriptedAnswer);
    },
  });
  browser = await startBrowser();
  await built.ready();
});
afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    expect(await built?.stop()).toBe(0);
  }
});

/** After every test: no tab asked another origin for anything, or complained of more than was expected. */
afterEach(async () => {
  const opened = tabs;
  tabs = [];
  for (const { tab, expected } of opened) {
    await tab.context.close();
    expect(tab.requests.filter((url) => !url.startsWith(`${built.service.api}/`))).toEqual([]);
    expect(tab.complaints.filter((what) => !expected.some((pattern) => pattern.test(what)))).toEqual([]);
  }
});

async function open(look: Look = {}, expected: readonly RegExp[] = []): Promise<Page> {
  const tab = await browser.open(`${built.service.api}/`, look);
  tabs.push({ tab, expected });
  return tab.page;
}

/** The page with the key and the example in it, and another instruction. */
async function openFilled(
  instruction: string,
  resultType = 'any',
  look: Look = {},
  expected: readonly RegExp[] = [],
): Promise<Page> {
  const page = await open(look, expected);
  await page.getByLabel('API key').fill(built.key);
  await page.getByRole('button', { name: 'Fill in an example' }).click();
  await page.getByLabel('Instruction').fill(instruction);
  await page.getByLabel('Result type').selectOption(resultType);
  return page;
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
/** Waits for what a panel says its content is; where it does not come, the error tells what the page says instead. */
async function badge(page: Page, words: string): Promise<void> {
  try {
    await page.locator('.badge', { hasText: words }).first().waitFor();
  } catch (cause) {
    const said = await page.locator('#status, #answer').allTextContents();
    throw new Error(`no "${words}" but: ${said.join(' | ')}`, { cause });
  }
}
const focused = (page: Page) => page.evaluate('document.activeElement.id');
const used = async (): Promise<number> => (await built.get('/v1/usage')).json.compute_runs.used;

describe('the page, on the built service', () => {
  it('takes a step from the prompt to the result and its count', async () => {
    const page = await openFilled('the average price of my orders', 'number');
    const asked = built.model.requests.length;
    const before = await used();

    await press(page, 'Show prompt');
    const schema = page.getByRole('group', { name: 'Schema of the sources' });
    await schema.waitFor();
    expect(await schema.textContent()).toContain('"price": {"type":"number"}');
    expect(await page.getByRole('group', { name: 'User part' }).textContent()).toContain('the average price');
    expect(await page.locator('#prompt').textContent()).not.toMatch(/9007199254740993|35\.5|shipped/);
    expect(built.model.requests.length).toBe(asked);
    await expect.poll(() => focused(page), WAIT).toBe('prompt-title');

    await press(page, 'Draft');
    await badge(page, 'Draft admitted');
    expect(await page.getByRole('group', { name: 'Function text' }).textContent()).toContain(
      'sum(r["price"]',
    );
    await expect.poll(() => focused(page), WAIT).toBe('function-title');
    expect(await used()).toBe(before);

    await press(page, 'Run this function');
    await badge(page, 'Succeeded');
    expect(await page.getByLabel('Result', { exact: true }).textContent()).toMatch(/^34\.53333/);
    expect(built.model.requests.length).toBe(asked + 1);
    await expect.poll(() => focused(page), WAIT).toBe('answer-title');

    await page.getByLabel('Result type').selectOption('decimal');
    await press(page, 'Compute');
    await page.getByText('Result decimal').waitFor();
    await page.getByText('Counted: 1 run, 1 s.').waitFor();
    expect(await used()).toBe(before + 2);
    const runs = page.getByRole('meter', { name: 'Runs this month' });
    await expect.poll(() => runs.getAttribute('aria-valuenow'), WAIT).toBe(String(before + 2));
    expect(await runs.getAttribute('aria-valuetext')).toContain(`${before + 2} of 1,000 used`);
    expect(await page.locator('#quotas').textContent()).toContain('no limit');

    for (const phase of ['prompt', 'model', 'admission', 'queue', 'sandbox', 'other']) {
      await page.getByRole('rowheader', { name: phase, exact: true }).waitFor();
    }
    expect(await page.locator('.bar .phase-sandbox').boundingBox()).toMatchObject({ height: 14 });
  });

  it('shows digits as they came, whatever a double would make of them', async () => {
    const page = await openFilled('the first id');
    await press(page, 'Compute');
    await badge(page, 'Succeeded');
    const result = await page.getByLabel('Result', { exact: true }).textContent();
    expect(result?.replace(/\s/g, '')).toBe(`[9007199254740993,${2n ** 200n}]`);
  });

  it('marks a refusal in the function, checks an edited one, and runs only what it showed as admitted', async () => {
    const page = await openFilled('reach out');
    const before = await used();
    await press(page, 'Draft');
    await badge(page, 'Draft not admitted');
    await badge(page, 'Refused');
    expect(await page.locator('mark').allTextContents()).toEqual(['socket']);
    const remark = page.locator('.line.remarked + .remark');
    expect(await remark.textContent()).toMatch(/^import: socket line 1, column 7 \w/);
    await page
      .getByRole('listitem')
      .filter({ hasText: 'refused: import: socket, line 1.' })
      .first()
      .waitFor();

    await press(page, 'Check');
    await badge(page, 'Refused in 2 places');
    expect(await page.locator('mark').allTextContents()).toEqual(['socket', 'eval']);

    await press(page, 'Run this function');
    await badge(page, 'Refused in 2 places');
    await page.getByText('The function is not admitted.').waitFor();

    await press(page, 'Edit');
    const editor = page.getByLabel('Python, with one def compute(data)');
    await editor.fill('def compute(data):\n    return len(data["orders"])\n');
    await badge(page, 'Not checked');
    expect(await used()).toBe(before);
    await press(page, 'Run this function');
    await badge(page, 'Succeeded');
    expect(await page.getByLabel('Result', { exact: true }).textContent()).toBe('3');
    expect(await page.locator('.digest').textContent()).toMatch(/^SHA-256 [0-9a-f]{64}$/);
    expect(await used()).toBe(before + 1);

    await press(page, 'Edit');
    await editor.fill('def compute(data):\n    return len(data["orders"]) + 1\n');
    await press(page, 'Run this function');
    await expect.poll(() => page.getByLabel('Result', { exact: true }).textContent(), WAIT).toBe('4');
  });

  it('gives the verdict on a function to no other one, which was typed meanwhile', async () => {
    const page = await openFilled('any');
    const editor = page.getByLabel('Python, with one def compute(data)');
    await editor.fill('def compute(data):\n    return 1\n');
    const before = await used();
    const held: (() => void)[] = [];
    await page.route('**/v1/compute/admit?all=true', (route) => void held.push(() => route.continue()));
    for (const name of ['Check', 'Run this function']) {
      await press(page, name);
      await expect.poll(() => held.length, WAIT).toBe(1);
      await editor.fill(`def compute(data):\n    return eval("${name}")\n`);
      held.pop()?.();
      await page.getByText('The function was edited meanwhile. Check it again.').waitFor();
      expect(await page.locator('#verdict').textContent()).toBe('Not checked');
      expect(await editor.inputValue()).toContain(name);
    }
    expect(await used()).toBe(before);
  });

  it('says what went wrong in a run, where, and what the code means', async () => {
    const page = await openFilled('forget a case');
    await press(page, 'Compute');
    await badge(page, 'Failed');
    await page.getByText('The function raised an exception.', { exact: true }).waitFor();
    expect(await page.locator('#answer').textContent()).toContain('KeyError in line 3.');
    expect(await page.locator('.line.remarked + .remark').textContent()).toMatch(
      /^KeyError line 3 was raised/,
    );
    await page.locator('#answer').getByRole('link', { name: 'exception' }).click();
    const meaning = page.locator('#failure-exception + dd');
    await meaning.waitFor();
    expect(await meaning.textContent()).toContain('Counts: yes.');

    await page.getByLabel('Instruction').fill('be text');
    await page.getByLabel('Result type').selectOption('number');
    await press(page, 'Compute');
    await page.locator('#answer').getByRole('link', { name: 'result_type_mismatch' }).waitFor();
    expect(await page.locator('#answer').textContent()).toContain('Wanted number. Got string.');
  });

  it('shows a problem as the service says it, and marks what is missing before it asks', async () => {
    const page = await open({}, [/status of 40[01]/]);
    await press(page, 'Compute');
    await page.getByText('Give the API key first.').waitFor();
    expect(await focused(page)).toBe('key');
    await page.getByLabel('API key').fill('schlüssel');
    await press(page, 'Show quotas');
    await page.getByText('A key has no spaces or accents.').waitFor();
    await page.getByLabel('API key').fill('wrong');
    await press(page, 'Compute');
    await page.getByText('Say what to compute.').waitFor();
    expect(await focused(page)).toBe('instruction');
    expect(await page.getByLabel('Instruction').getAttribute('aria-invalid')).toBe('true');

    await press(page, 'Fill in an example');
    await press(page, 'Compute');
    const answer = page.locator('#answer');
    await answer.getByText('The API key is missing or unknown').waitFor();
    await answer.getByRole('link', { name: 'unauthorized' }).click();
    await page.getByText('HTTP 401. The API key is missing or unknown.').waitFor();

    await page.getByLabel('API key').fill(built.key);
    await page.getByLabel('JSON', { exact: true }).fill('[1, NaN]');
    await press(page, 'Show prompt');
    await answer.getByText('The request is not valid').waitFor();

    await page.getByText('Result schema, model and detail').click();
    await page.getByLabel(/^Result schema/).fill('{"type": "number"}, "sources": []');
    await press(page, 'Show prompt');
    await page.getByText('This must be one JSON object.').waitFor();
    expect(await focused(page)).toBe('result-schema');
  });

  it('says so when something else than the service answers, and gives the key to no redirect', async () => {
    const page = await openFilled('the first id', 'any', {}, [/Failed to load resource|Failed to fetch/]);
    const answer = page.locator('#answer');
    await page.route('**/v1/compute/prompt', (route) => route.fulfill({ status: 502, body: '<h1>Bad</h1>' }));
    await press(page, 'Show prompt');
    await answer.getByText('HTTP 502').waitFor();
    expect(await answer.textContent()).toContain('Something before the service answered in its place.');

    await page.route('**/v1/compute/draft', (route) =>
      route.fulfill({ status: 307, headers: { location: '/v1/compute/prompt' } }),
    );
    await press(page, 'Draft');
    await answer.getByText('The service could not be reached').waitFor();

    // The end of a step that waited for a sandbox in vain: its model was paid, so its function is in the problem.
    const problem = { title: 'The service is at its limit', code: 'overloaded', retryable: true };
    const more = { retry_after_seconds: 7, code_sha256: 'a'.repeat(64), function: { code: AVERAGE } };
    await page.route('**/v1/compute', (route) =>
      route.fulfill({ status: 503, body: JSON.stringify({ ...problem, ...more }) }),
    );
    await press(page, 'Compute');
    await answer.getByText('Try again after 7 s.').waitFor();
    await badge(page, 'Admitted');
    expect(await page.getByRole('group', { name: 'Function text' }).textContent()).toContain('r["price"]');
  });

  it('tells what goes on, and takes nobody to the answer who has gone elsewhere meanwhile', async () => {
    const page = await openFilled('when told');
    const asked = built.model.requests.length;
    await press(page, 'Compute');
    await expect.poll(() => built.model.requests.length, WAIT).toBe(asked + 1);
    await page.getByText('Asking the model…').waitFor();
    await page.getByLabel('Name', { exact: true }).focus();
    tell();
    await badge(page, 'Succeeded');
    await page.getByText('The step succeeded.').waitFor();
    expect(await page.evaluate('document.activeElement.className')).toBe('name');
  });

  it('does not put the example over what was typed, unless it may', async () => {
    const page = await openFilled('mine');
    page.once('dialog', (dialog) => dialog.dismiss());
    await press(page, 'Fill in an example');
    expect(await page.getByLabel('Instruction').inputValue()).toBe('mine');
    page.once('dialog', (dialog) => dialog.accept());
    await press(page, 'Fill in an example');
    expect(await page.getByLabel('Instruction').inputValue()).toBe('the average price of my orders');
  });

  it('shows a part of a very long result, and copies all of it', async () => {
    const page = await openFilled('be long');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await press(page, 'Compute');
    await badge(page, 'Succeeded');
    await page.getByText('The first 100000 of 300002 characters.').waitFor();
    expect((await page.getByLabel('Result', { exact: true }).textContent())?.length).toBe(100_000);
    await press(page, 'Copy result');
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`"${'x'.repeat(300_000)}"`);
  });

  it('marks no line of a function in a code fence, as lines are counted without it', async () => {
    const page = await openFilled('any');
    await page
      .getByLabel('Python, with one def compute(data)')
      .fill('```python\nimport socket\ndef compute(data):\n    return 1\n```\n');
    await press(page, 'Check');
    await badge(page, 'Refused');
    await page.getByText('Line 1 without the code fence.').waitFor();
    expect(await page.locator('mark').count()).toBe(0);
  });

  it('ends a call when it is cancelled, and makes one at a time', async () => {
    const page = await openFilled('something that never comes');
    for (const cancel of [() => press(page, 'Cancel'), () => page.keyboard.press('Escape')]) {
      const asked = built.model.requests.length;
      const ended = hungUp;
      await press(page, 'Compute');
      await expect.poll(() => built.model.requests.length, WAIT).toBe(asked + 1);
      await press(page, 'Draft');
      await page.getByText('Still waiting for the answer.').waitFor();
      await cancel();
      await page.getByText('Cancelled.', { exact: true }).waitFor();
      await expect.poll(() => hungUp, WAIT).toBe(ended + 1);
      expect(built.model.requests.length).toBe(asked + 1);
      await page.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden' });
    }
    await page.getByLabel('Instruction').fill('the first id');
    await press(page, 'Compute');
    await badge(page, 'Succeeded');
  });

  it('shows markup in names, functions, results and printed text as the text it is', async () => {
    const page = await openFilled('hostile words');
    const title = await page.title();
    const elements = () => page.evaluate('document.querySelectorAll("img, script").length');
    const before = await elements();
    await page
      .getByLabel('JSON', { exact: true })
      .fill(JSON.stringify({ [MARKUP]: { [`</pre>${MARKUP}`]: MARKUP } }));
    await page.getByLabel('Keys').selectOption('fields');
    await page.getByText('Result schema, model and detail').click();
    await page.getByLabel('Show exception text and printed output').check();
    await page.getByLabel('Instruction').fill(`hostile words ${MARKUP}`);
    await press(page, 'Compute');
    await badge(page, 'Succeeded');
    expect(await page.getByLabel('Result', { exact: true }).textContent()).toContain('</pre><script>');
    expect(await page.locator('#answer').textContent()).toContain(MARKUP);
    expect(await page.locator('#prompt').textContent()).toContain(MARKUP);
    const shown = page.getByRole('group', { name: 'Function text' });
    expect(await shown.textContent()).toContain('</code><script>');
    expect(await elements()).toBe(before);
    expect(await page.title()).toBe(title);

    await page.getByLabel('Instruction').fill('turn around');
    await press(page, 'Draft');
    await badge(page, 'Refused');
    expect(await shown.locator('mark .unseen-character').allTextContents()).toEqual(['U+202E']);
  });

  it('takes several sources, from files too, and sends their bytes as they are', async () => {
    const page = await openFilled('something that never comes');
    await press(page, 'Add a source');
    const second = page.getByRole('group', { name: 'Source 2' });
    const json = (text: string | Buffer) => ({
      name: 'big data.json',
      mimeType: 'application/json',
      buffer: Buffer.from(text),
    });
    await second.getByLabel('Choose a file').setInputFiles(json(Buffer.from([0x22, 0xff, 0x22])));
    await second.getByText('could not be read as UTF-8').waitFor();
    await second.getByLabel('Choose a file').setInputFiles({ ...json('1'), name: 'source_1.json' });
    await expect.poll(() => second.getByLabel('JSON', { exact: true }).inputValue(), WAIT).toBe('1');
    expect(await second.getByLabel('Name').inputValue()).toBe('');
    await second
      .getByLabel('Choose a file')
      .setInputFiles(json(`["é${' '.repeat(300_000)}", 9007199254740993]`));
    await second.getByText('big data.json, 0.3 MB').waitFor();
    expect(await second.getByLabel('Name').inputValue()).toBe('big_data');
    await page
      .getByLabel('Python, with one def compute(data)')
      .fill(
        'def compute(data):\n    return [len(data["big_data"][0]), data["big_data"][1], len(data["orders"])]\n',
      );
    await press(page, 'Run this function');
    await badge(page, 'Succeeded');
    expect(await page.getByLabel('Result', { exact: true }).textContent()).toMatch(
      /^\[300001, ?9007199254740993, ?3\]$/,
    );

    await second.getByRole('button', { name: 'Leave the file out' }).click();
    expect(await second.getByLabel('JSON', { exact: true }).inputValue()).toBe('1');
    await second.getByRole('button', { name: 'Remove source 2' }).click();
    expect(await page.getByRole('group', { name: /^Source \d/ }).count()).toBe(1);

    const folder = mkdtempSync(join(tmpdir(), 'compute-step-page-'));
    try {
      const huge = join(folder, 'huge.json');
      writeFileSync(huge, '');
      truncateSync(huge, 129 * 1024 * 1024);
      await page.getByLabel('Choose a file').setInputFiles(huge);
      await page.getByText('The file is larger than 128 MiB').waitFor();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('has at most as many sources as a step may have', async () => {
    const page = await open();
    await page.evaluate('for (let n = 1; n < 65; n += 1) document.getElementById("add-source").click()');
    await page.getByText('A step takes at most 64 sources.').waitFor();
    expect(await page.getByRole('group', { name: /^Source \d/ }).count()).toBe(64);
  });

  it('keeps the key and the data in memory alone', async () => {
    const page = await openFilled('the first id');
    await page.getByLabel('Instruction').fill(`the first id ${SECRET}`);
    await press(page, 'Compute');
    await badge(page, 'Succeeded');
    await page.locator('#quotas').getByText('acme').waitFor();
    const kept = JSON.stringify([
      await page.evaluate(
        '[location.href, document.cookie, {...localStorage}, {...sessionStorage}, history.length, history.state]',
      ),
      await page.evaluate('indexedDB.databases()'),
      await page.evaluate('caches.keys()'),
      await page.context().storageState(),
    ]);
    expect(kept).toContain(built.service.api);
    expect(kept).not.toContain(built.key);
    expect(kept).not.toContain(SECRET);
    expect(await page.evaluate('document.documentElement.outerHTML')).not.toContain(built.key);
    expect(await page.getByLabel('API key').getAttribute('type')).toBe('password');
    expect(await page.getByLabel('API key').getAttribute('autocomplete')).toBe('off');
    expect(tabs[0]?.tab.requests.join(' ')).not.toContain(built.key);
    await page.reload();
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    expect(await page.getByLabel('Instruction').inputValue()).toBe('');
  });

  it('lets no script make markup of text, and loads nothing from elsewhere', async () => {
    const page = await open({}, [/policy: /, /Content Security Policy|requires 'Trusted/]);
    const tried = await page.evaluate(`(async () => {
      const refused = async (act) => { try { await act(); return false; } catch { return true; } };
      const node = document.createElement('div');
      return [
        await refused(() => { node.innerHTML = '<b>x</b>'; }),
        await refused(() => { document.createElement('script').src = '/page/page.js'; }),
        await refused(() => fetch('http://127.0.0.1:1/')),
      ];
    })()`);
    expect(tried).toEqual([true, true, true]);
    const violated = () => tabs[0]?.tab.complaints.filter((what) => what.startsWith('policy: '));
    await expect
      .poll(violated, WAIT)
      .toEqual(expect.arrayContaining(['policy: require-trusted-types-for', 'policy: connect-src']));
  });
});

describe('the page by keyboard alone', () => {
  it('goes from the key to the result, and shows where the focus is at every stop', async () => {
    const page = await open();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the question');
    expect((await page.locator('.skip').boundingBox())?.y).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('key');
    await page.keyboard.type(built.key);
    await page.keyboard.press('Enter');
    await page.getByRole('meter', { name: 'Runs this month' }).waitFor();

    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('example');
    await page.keyboard.press('Enter');
    expect(await focused(page)).toBe('instruction');

    const asked = built.model.requests.length;
    await page.getByLabel('Name', { exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The prompt was made.', { exact: true }).waitFor();
    expect(built.model.requests.length).toBe(asked);

    await page.getByLabel('Instruction').focus();
    await page.keyboard.press('Control+Enter');
    await badge(page, 'Succeeded');
    await expect.poll(() => focused(page), WAIT).toBe('answer-title');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toMatch(
      /^(Result|Copy result)$/,
    );
  });

  it('stops at everything that can be used, in the order of the page, and lets the focus out again', async () => {
    const page = await openFilled('the first id');
    await press(page, 'Compute');
    await badge(page, 'Succeeded');
    await page.getByText('Result schema, model and detail').click();
    await page.evaluate('document.activeElement.blur(); window.scrollTo(0, 0)');
    const stop = `(() => {
      const at = document.activeElement;
      if (at === document.body) return null;
      const { outlineStyle, outlineWidth } = getComputedStyle(at.matches('.file') ? at.nextElementSibling : at);
      const all = [...document.querySelectorAll('*')];
      return { order: all.indexOf(at), what: at.id || at.className || at.textContent, seen: outlineStyle !== 'none' && outlineWidth !== '0px' };
    })()`;
    const stops: { order: number; what: string; seen: boolean }[] = [];
    await page.locator('body').press('Tab');
    for (let count = 0; count < 80; count += 1) {
      const at = (await page.evaluate(stop)) as { order: number; what: string; seen: boolean } | null;
      if (at === null || (stops.length > 0 && at.order === stops[0]?.order)) {
        break;
      }
      stops.push(at);
      await page.keyboard.press('Tab');
    }
    expect(stops.length).toBeGreaterThan(25);
    expect(stops.length).toBeLessThan(80);
    expect(stops.filter(({ seen }) => !seen)).toEqual([]);
    const orders = stops.map(({ order }) => order);
    const start = orders.indexOf(Math.min(...orders));
    const turned = [...orders.slice(start), ...orders.slice(0, start)];
    expect(turned).toEqual([...turned].sort((left, right) => left - right));
  });
});

describe.each([
  [360, 800],
  [1280, 900],
])('the page at %i × %i', (width, height) => {
  it.each(['light', 'dark'] as const)('fits, and can be read, in the %s scheme', async (scheme) => {
    const page = await openFilled('reach out', 'any', { width, height, scheme });
    await press(page, 'Draft');
    await badge(page, 'Refused');
    await page.getByLabel('Instruction').fill('the first id');
    await press(page, 'Compute');
    await badge(page, 'Succeeded');
    await page.locator('#quotas').getByText('acme').waitFor();
    await page.getByText('Result schema, model and detail').click();
    await page.getByText('What the codes mean').click();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    expect(await page.evaluate(FAINT)).toEqual([]);
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(background).toBe(scheme === 'dark' ? 'rgb(16, 21, 27)' : 'rgb(244, 246, 248)');

    await page.getByLabel('Instruction').fill('reach out');
    await press(page, 'Draft');
    await badge(page, 'Refused');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    expect(await page.evaluate(FAINT)).toEqual([]);
    const titleY = async () => (await page.locator('#function-title').boundingBox())?.y ?? -1;
    await expect.poll(titleY, WAIT).toBeGreaterThanOrEqual(0);
    await expect.poll(titleY, WAIT).toBeLessThan(height);
  });
});

describe('the page for a reader who wants no motion', () => {
  it('turns nothing', async () => {
    const turning = 'getComputedStyle(document.querySelector(".spinner")).animationName';
    expect(await (await open({ calm: true })).evaluate(turning)).toBe('none');
    expect(await (await open()).evaluate(turning)).toBe('turn');
  });
});

describe('the built service without the page', () => {
  it('answers 404 at /', async () => {
    const off = await startBuiltService({ env: { UI: 'off', SANDBOX_POOL_SIZE: '0' } });
    try {
      expect((await off.get('/')).status).toBe(404);
      expect((await off.get('/page/page.js')).status).toBe(404);
      expect((await built.get('/')).status).toBe(200);
    } finally {
      await off.stop();
    }
  });
});

/** Texts that are seen with a contrast under WCAG's AA: 4.5, or 3 where they are large. */
const FAINT = `(() => {
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (at) => {
    for (let node = at; node !== null; node = node.parentElement) {
      const color = channels(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const at = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() === '' || at.checkVisibility() === false || at.closest('template, noscript')) continue;
    const style = getComputedStyle(at);
    const [a, b] = [light(channels(style.color)), light(behind(at))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (ratio < (large ? 3 : 4.5)) faint.push(at.textContent.slice(0, 40) + ': ' + ratio.toFixed(2));
  }
  return seen > 80 ? faint : ['only ' + seen + ' texts seen'];
})()`;
