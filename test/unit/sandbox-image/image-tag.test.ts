import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  modulesJson,
  SANDBOX_IMAGE_FOLDER,
  sandboxImageFiles,
  sandboxImageTag,
} from '../../../src/sandbox/image.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'image-tag-'));
  cpSync(SANDBOX_IMAGE_FOLDER, folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the tag is our own name and sixteen hex digits', () => {
  expect(sandboxImageTag(['math'])).toMatch(/^compute-step-sandbox:[0-9a-f]{16}$/);
});

test('the tag is the same for the same files and modules, in whatever order and wherever they lie', () => {
  expect(sandboxImageTag(['re', 'math', 're'], folder)).toBe(sandboxImageTag(['math', 're']));
});

test('another module is another tag', () => {
  expect(sandboxImageTag(['math', 're'])).not.toBe(sandboxImageTag(['math']));
  expect(sandboxImageTag(['a', 'b'])).not.toBe(sandboxImageTag(['ab']));
});

test('another byte in any file of the image is another tag', () => {
  const files = sandboxImageFiles(folder);
  expect(files).toEqual(expect.arrayContaining(['Dockerfile', 'closure.py', 'harness.py']));
  const before = sandboxImageTag(['math'], folder);
  const tags = files.map((name) => {
    cpSync(SANDBOX_IMAGE_FOLDER, folder, { recursive: true });
    writeFileSync(join(folder, name), ' ', { flag: 'a' });
    return sandboxImageTag(['math'], folder);
  });
  expect(new Set([before, ...tags]).size).toBe(files.length + 1);
});

test('a file that is not of the image leaves the tag', () => {
  writeFileSync(join(folder, 'engine.sh'), 'echo');
  writeFileSync(join(folder, 'harness_grants.py'), 'GRANTS = {}');
  expect(sandboxImageTag(['math'], folder)).toBe(sandboxImageTag(['math']));
});

test('the module names are handed to the build sorted and each once', () => {
  expect(modulesJson(['re', 'collections.abc', 're'])).toBe('["collections.abc","re"]');
});
