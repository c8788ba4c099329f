import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startModelCommand } from '../../../src/commands/start-model.ts';
import type { ScriptedModel } from '../../../src/model/scripted.ts';
import { asking, FUNCTION, target } from '../model/asking.ts';

const folder = mkdtempSync(join(tmpdir(), 'compute-step-model-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const script = file('answers.json', JSON.stringify([{ when: 'user part', replies: [FUNCTION] }]));

async function started(...args: readonly string[]): Promise<ScriptedModel> {
  const model = await startModelCommand(args);
  if ('faults' in model) throw new Error(model.faults.join('; '));
  return model;
}

const faults = async (...args: readonly string[]) => {
  const model = await startModelCommand(args);
  return 'faults' in model ? model.faults.join('; ') : '';
};

describe('compute-step model', () => {
  it('serves its script on a free port of the loopback', async () => {
    const model = await started('--script', script, '--port', '0');
    expect(model.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/write$/);
    expect((await asking(target(model.url))).source).toBe(FUNCTION);
    await model.close();
  });

  it('refuses what is not signed with its secret', async () => {
    const secretFile = file('secret', `${SECRET}\n`);
    const model = await started('--script', script, '--signing-secret-file', secretFile);
    expect((await asking(target(model.url))).problem).toMatchObject({ extra: { webhook_status: 401 } });
    expect((await asking(target(model.url, { signingSecret: SECRET }))).source).toBe(FUNCTION);
    await model.close();
  });

  it('records what it was sent, without the credentials', async () => {
    const record = file('record.jsonl', 'left over\n');
    const model = await started('--script', script, '--record', record);
    await asking(target(model.url, { headers: { authorization: 'Bearer sesame', 'x-api-key': 'sesame' } }));
    await asking(target(model.url, { format: 'openai', name: 'm' }));
    await model.close();
    const text = readFileSync(record, 'utf8');
    expect(text).not.toContain('sesame');
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      {
        index: 0,
        format: 'compute-step',
        attempt: 1,
        signature: 'absent',
        headers: { authorization: '…', 'x-api-key': '…', 'content-type': 'application/json' },
        body: { user: 'user part' },
      },
      { index: 1, format: 'openai', body: { model: 'm' } },
    ]);
  });

  it('makes a record that others cannot read', async () => {
    const record = join(folder, 'new.jsonl');
    await (await started('--script', script, '--record', record)).close();
    expect(statSync(record).mode & 0o777).toBe(0o600);
  });

  it('names every fault of its arguments, and no secret', async () => {
    expect(await faults()).toContain('--script must name');
    const all = await faults(
      '--script',
      file('bad.json', '[{"replies": []}]'),
      '--port',
      '70000',
      '--signing-secret-file',
      file('bad-secret', 'hunter2'),
    );
    for (const word of ['--script: [0].replies', '--port', '--signing-secret-file']) {
      expect(all).toContain(word);
    }
    expect(all).not.toContain('hunter2');
    expect(await faults('--script', join(folder, 'none'))).toContain('cannot be read (ENOENT)');
    expect(await faults('--script', script, '--nonsense')).toContain('--nonsense');
    expect(await faults('--script', script, '--record', join(folder, 'no', 'such'))).toContain('--record');
    const model = await started('--script', script);
    const port = new URL(model.url).port;
    expect(await faults('--script', script, '--port', port)).toContain('EADDRINUSE');
    await model.close();
  });
});
