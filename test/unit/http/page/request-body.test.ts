import { describe, expect, it } from 'vitest';
import { faultChecker } from '../../../../src/contract/faults.ts';
import {
  ComputeRequestSchema,
  PromptRequestSchema,
  RunRequestSchema,
} from '../../../../src/contract/request.ts';

interface Ask {
  instruction: string;
  resultType: string;
  nullable: boolean;
  resultSchema: string;
  sources: { name: string; keys: string; text: string }[];
  model: { url: string; format: string; name: string; authorization: string } | null;
  detail: boolean;
}
const { stepBody, runBody } = (await import(
  new URL('../../../../src/http/page/request-body.js', import.meta.url).href
)) as { stepBody(ask: Ask): string; runBody(ask: Ask, code: string, sha256: string): string };

const least: Ask = {
  instruction: 'count "them"',
  resultType: 'integer',
  nullable: false,
  resultSchema: '',
  sources: [{ name: '', keys: 'auto', text: '[9007199254740993, 1.10]' }],
  model: null,
  detail: false,
};
const most: Ask = {
  ...least,
  nullable: true,
  resultSchema: '{"maximum": 9007199254740993}',
  sources: [...least.sources, { name: 'rates', keys: 'data', text: '{"a\\u0000": "\u2028"}' }],
  model: { url: 'https://m.example.com/', format: 'openai', name: 'm', authorization: 'Bearer x' },
  detail: true,
};

describe('the body that the page sends', () => {
  it.each([
    ['least', least],
    ['most', most],
  ])('is one that the API takes, with %s given', (_, ask) => {
    const step = JSON.parse(stepBody(ask));
    expect(faultChecker(ComputeRequestSchema)(step)).toEqual([]);
    expect(faultChecker(PromptRequestSchema)(step)).toEqual([]);
    expect(faultChecker(RunRequestSchema)(JSON.parse(runBody(ask, 'x', 'a'.repeat(64))))).toEqual([]);
  });

  it('holds the sources as the text that was given, and names no default', () => {
    expect(JSON.parse(stepBody(least))).toEqual({
      step: 'count "them"',
      result_type: 'integer',
      sources: [{ result_json: '[9007199254740993, 1.10]' }],
      include: ['code'],
    });
  });

  it('holds all that was asked, and a result schema digit by digit', () => {
    const body = stepBody(most);
    expect(body).toContain('"result_schema":{"maximum": 9007199254740993}');
    expect(JSON.parse(body)).toMatchObject({
      nullable: true,
      sources: [{}, { name: 'rates', keys: 'data', result_json: '{"a\\u0000": "\u2028"}' }],
      model: {
        url: 'https://m.example.com/',
        format: 'openai',
        name: 'm',
        headers: { authorization: 'Bearer x' },
      },
      include: ['code', 'detail'],
    });
  });

  it('runs a function by its digest, and sends no model and no instruction with it', () => {
    const body = JSON.parse(runBody(most, 'def compute(data): ...', 'b'.repeat(64)));
    expect(body).toMatchObject({ code: 'def compute(data): ...', expect_code_sha256: 'b'.repeat(64) });
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['model']));
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['step']));
  });
});
