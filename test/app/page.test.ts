import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILURE_CODES } from '../../src/contract/failure.ts';
import { PROBLEMS } from '../../src/contract/problem.ts';
import { MAX_SOURCES } from '../../src/contract/request.ts';
import { RESULT_TYPES } from '../../src/contract/result-type.ts';
import { KEY_POLICIES } from '../../src/contract/source.ts';
import { PAGE_FILES } from '../../src/http/routes/page.get.ts';
import { MODEL_FORMATS } from '../../src/model/port.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const FOLDER = fileURLToPath(new URL('../../src/http/page/', import.meta.url));
const text = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const SCRIPTS = Object.keys(PAGE_FILES).filter((name) => name.endsWith('.js'));

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const get = (url: string, headers: Record<string, string> = {}) => service.app.inject({ url, headers });

describe('the page', () => {
  it('is served without a key, as HTML that may load and call its own origin only', async () => {
    const { statusCode, headers, body } = await get('/');
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-cache',
    });
    expect(String(headers['content-security-policy']).split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(body).toBe(text('index.html'));
  });

  it.each(Object.entries(PAGE_FILES))('has %s, as %s, with the same policy', async (name, type) => {
    const { statusCode, headers, body } = await get(`/page/${name}`);
    expect(statusCode).toBe(200);
    expect(headers['content-type']).toBe(type);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(body).toBe(text(name));
  });

  it('serves every file of its folder, and nothing else', async () => {
    expect(readdirSync(FOLDER).sort()).toEqual(Object.keys(PAGE_FILES).sort());
    for (const path of [
      '/page/none.js',
      '/page/..%2Froutes%2Fpage.get.ts',
      '/page/%2e%2e%2fdeps.ts',
      '/page/',
    ]) {
      const answer = await get(path);
      expect(answer.statusCode, path).toBe(404);
      expect(answer.json().code).toBe('not_found');
    }
  });

  it('is sent again only when it changed', async () => {
    const { headers, body } = await get('/page/style.css');
    const etag = String(headers.etag);
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await get('/page/style.css', { 'if-none-match': held });
      expect(answer.statusCode, held).toBe(304);
      expect(answer.body).toBe('');
      expect(answer.headers.etag).toBe(etag);
    }
    const other = await get('/page/style.css', { 'if-none-match': '"other"' });
    expect(other.statusCode).toBe(200);
    expect(other.body).toBe(body);
    expect((await get('/page/page.js')).headers.etag).not.toBe(etag);
  });

  it('knows every code by the tables of the service', async () => {
    const codes = (await get('/page/codes.json')).json();
    const names = (rows: { code: string }[]) => rows.map(({ code }) => code);
    expect(names(codes.failures)).toEqual(FAILURE_CODES);
    expect(names(codes.problems)).toEqual(Object.keys(PROBLEMS));
    expect(codes.failures[1]).toEqual({
      code: 'exception',
      meaning: 'The function raised an exception. Counts: yes.',
    });
    expect(codes.problems[0].meaning).toBe('HTTP 400. The request is not valid.');
  });

  it('offers what the API takes', () => {
    const page = text('index.html');
    const options = (start: string) => {
      const select = page.slice(page.indexOf(start), page.indexOf('</select>', page.indexOf(start)));
      return [...select.matchAll(/<option(?: value="(\w+)")?>([\w-]*)/g)].map(
        ([, value, words]) => value ?? words,
      );
    };
    expect(options('id="result-type"').sort()).toEqual([...RESULT_TYPES].sort());
    expect(options('id="model-format"')).toEqual([...MODEL_FORMATS]);
    expect(options('class="keys"')).toEqual([...KEY_POLICIES]);
    expect(text('sources.js')).toContain(`const MAX_SOURCES = ${MAX_SOURCES};`);
  });

  it('neither stores anything, nor makes markup or code of text, nor names another host', () => {
    const refused =
      /localStorage|sessionStorage|indexedDB|\.cookie|caches\.|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|history\.|location\.|window\.open|WebSocket|sendBeacon|https?:\/\//;
    expect(SCRIPTS.length).toBeGreaterThan(10);
    for (const name of SCRIPTS) {
      expect(text(name), name).not.toMatch(refused);
    }
    expect(text('style.css')).not.toMatch(/url\(|@import|https?:/);
    expect(text('index.html')).not.toMatch(/ style=| on\w+=|<script(?! type="module" src="\/page\/)|https?:/);
  });
});

describe('without the page (UI=off)', () => {
  it('answers 404 for it and for its files, and the API as ever', async () => {
    const off = await startTestService({ ui: 'off' });
    try {
      for (const url of ['/', '/page/page.js', '/page/codes.json']) {
        const answer = await off.app.inject({ url });
        expect(answer.statusCode, url).toBe(404);
        expect(answer.json().code).toBe('not_found');
      }
      expect((await off.app.inject({ url: '/healthz' })).statusCode).toBe(200);
    } finally {
      await off.close();
    }
  });
});
