import { createHash } from 'node:crypto';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BUILT_IN_PACK_DIR, loadPack, PackFault, packDigest } from '../../../src/prompt/pack.ts';

const SYSTEM = 'Modules:\n{{modules}}\n';
const USER = '{{instruction}} {{ result }}{{result_schema}}\n{{schema}}\n';
const MANIFEST = { name: 'mine', version: '1.0.0', language: 'python', modules: { math: ['sqrt', 'pi'] } };

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pack-'));
  await write('pack.json', JSON.stringify(MANIFEST));
  await write('system.md', SYSTEM);
  await write('user.md', USER);
});

afterEach(() => rm(dir, { recursive: true }));

const write = (name: string, content: string | Buffer) => writeFile(join(dir, name), content);

async function faults(): Promise<readonly string[]> {
  const fault = await loadPack(dir).then(
    () => null,
    (error: unknown) => error,
  );
  expect(fault).toBeInstanceOf(PackFault);
  return (fault as PackFault).faults;
}

describe('a good pack', () => {
  test('is what its files say', async () => {
    expect(await loadPack(dir)).toMatchObject({
      ...MANIFEST,
      system: SYSTEM.trimEnd(),
      user: USER.trimEnd(),
    });
  });

  test('is known by a digest over names, lengths and bytes in order of the names', async () => {
    const expected = createHash('sha256');
    for (const [name, content] of [
      ['pack.json', JSON.stringify(MANIFEST)],
      ['system.md', SYSTEM],
      ['user.md', USER],
    ] as const) {
      expected.update(`${name}\0${Buffer.byteLength(content)}\0${content}`);
    }
    const { digest } = await loadPack(dir);
    expect(digest).toBe(`sha256:${expected.digest('hex')}`);
  });

  test('has another digest when any byte of any file changes or moves', async () => {
    const digests = new Set([(await loadPack(dir)).digest]);
    await write('system.md', `${SYSTEM} `);
    digests.add((await loadPack(dir)).digest);
    await write('system.md', SYSTEM);
    await write('user.md', USER.replaceAll('\n', '\r\n'));
    digests.add((await loadPack(dir)).digest);
    await write('user.md', USER);
    await write('pack.json', JSON.stringify({ ...MANIFEST, version: '1.0.1' }));
    digests.add((await loadPack(dir)).digest);
    expect(digests.size).toBe(4);
    const framed = (a: string, b: string) =>
      packDigest([
        { name: 'a', bytes: Buffer.from(a) },
        { name: 'b', bytes: Buffer.from(b) },
      ]);
    expect(framed('xy', 'z')).not.toBe(framed('x', 'yz'));
    expect(
      packDigest([
        { name: 'b', bytes: Buffer.from('2') },
        { name: 'a', bytes: Buffer.from('1') },
      ]),
    ).toBe(framed('1', '2'));
  });

  test('does not depend on other files in the folder', async () => {
    const { digest } = await loadPack(dir);
    await write('notes.txt', 'x');
    expect((await loadPack(dir)).digest).toBe(digest);
  });

  test('may be written with CRLF', async () => {
    await write('user.md', USER.replaceAll('\n', '\r\n'));
    expect((await loadPack(dir)).user).toBe(USER.trimEnd());
  });

  test('may hold braces that are no placeholder', async () => {
    await write('system.md', `{"a":{"b":{}}} ${SYSTEM}`);
    expect((await loadPack(dir)).system).toContain('{"a":{"b":{}}}');
  });
});

describe('a faulty pack is refused with file, field and fix', () => {
  test.each<[string, unknown, string]>([
    ['name', { ...MANIFEST, name: 'My Pack' }, 'pack.json: name: give lower-case letters, digits, hyphens'],
    ['version', { ...MANIFEST, version: 1 }, 'pack.json: version: give a string such as "1.0.0"'],
    ['language', { ...MANIFEST, language: 'ruby' }, 'pack.json: language: must be "python"'],
    ['no modules', { ...MANIFEST, modules: {} }, 'pack.json: modules: name at least one module'],
    ['modules of another type', { ...MANIFEST, modules: ['math'] }, 'pack.json: modules: give an object'],
    ['a module name', { ...MANIFEST, modules: { 'os-path': ['x'] } }, 'modules["os-path"]: is not the name'],
    ['no names', { ...MANIFEST, modules: { math: [] } }, 'modules["math"]: give a list of 1 to 2000 names'],
    ['names of another type', { ...MANIFEST, modules: { math: '*' } }, 'modules["math"]: give a list'],
    ['a private name', { ...MANIFEST, modules: { random: ['_os'] } }, 'modules["random"][0]: give a public'],
    ['a star', { ...MANIFEST, modules: { math: ['*'] } }, 'modules["math"][0]: give a public'],
    [
      'a repeated name',
      { ...MANIFEST, modules: { math: ['pi', 'pi'] } },
      'modules["math"][1]: pi is given twice',
    ],
    ['an unknown field', { ...MANIFEST, extra: 1 }, 'pack.json: "extra": remove it'],
    ['a list', [], 'pack.json: must be an object'],
  ])('%s', async (_name, manifest, fault) => {
    await write('pack.json', JSON.stringify(manifest));
    const found = await faults();
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(fault);
  });

  test.each([
    ['an unknown placeholder', 'system.md', `${SYSTEM}{{data}}`, 'system.md: {{data}} is unknown'],
    ['a missing placeholder', 'system.md', 'no modules', '{{modules}} stands in neither'],
    ['an opening brace pair alone', 'user.md', `${USER}{{ x`, 'user.md: {{ opens no placeholder'],
    ['an empty file', 'user.md', '\n', 'user.md: is empty'],
    ['bytes that are not UTF-8', 'user.md', Buffer.from([0xff]), 'user.md: is not UTF-8'],
    ['a large file', 'user.md', USER + ' '.repeat(256 * 1024), 'user.md: is larger than'],
    ['a manifest that is not JSON', 'pack.json', '{', 'pack.json: is not JSON'],
  ])('%s', async (_name, file, content, fault) => {
    await write(file, content);
    const found = await faults();
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(fault);
  });

  test('a missing folder names all its files', async () => {
    await rm(join(dir, 'pack.json'));
    await rm(join(dir, 'system.md'));
    expect(await faults()).toEqual([
      'pack.json: cannot be read (ENOENT); a pack holds pack.json, system.md, user.md',
      'system.md: cannot be read (ENOENT); a pack holds pack.json, system.md, user.md',
    ]);
  });

  test('every fault is named at once', async () => {
    await write('pack.json', JSON.stringify({ ...MANIFEST, name: '', language: '', modules: { '1': [''] } }));
    await write('user.md', `${USER}{{a}}{{b}}`);
    expect(await faults()).toHaveLength(6);
  });
});

describe('the built-in pack', () => {
  test('loads, and names the modules a function may use', async () => {
    const pack = await loadPack(BUILT_IN_PACK_DIR);
    expect(pack.name).toBe('python-stdlib');
    expect(Object.keys(pack.modules)).toEqual(
      expect.arrayContaining(['math', 'datetime', 'collections.abc']),
    );
  });

  test('is found from the built files as well', async () => {
    await cp(BUILT_IN_PACK_DIR, join(dir, 'src/prompt/packs/python-stdlib'), { recursive: true });
    const built = pathToFileURL(join(dir, 'dist/prompt/pack.js'));
    const found = new URL('../../src/prompt/packs/python-stdlib/', built);
    expect((await loadPack(found.pathname)).name).toBe('python-stdlib');
  });
});
