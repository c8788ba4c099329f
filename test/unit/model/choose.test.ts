import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  type CallerModel,
  chooseTarget,
  type ModelChoice,
  type ModelConfig,
  modelConfigFaults,
} from '../../../src/model/choose.ts';

const secret = (byte: number) => `whsec_${Buffer.alloc(24, byte).toString('base64')}`;

const operator: ModelConfig = {
  url: 'https://operator.example/',
  authorization: 'Bearer operator-key',
  signingSecret: secret(1),
  headers: { 'x-team': 'operator-team' },
};
const tenant: ModelConfig = {
  url: 'https://tenant.example/',
  format: 'openai',
  name: 'tenant-model',
  authorization: 'Bearer tenant-key',
  signingSecret: secret(2),
};
const caller: CallerModel = {
  url: 'https://caller.example/',
  headers: { authorization: 'Bearer caller-key' },
};

function choose(choice: Partial<ModelChoice>) {
  const chosen = chooseTarget({ caller: null, tenant: null, operator: null, allowModelUrl: null, ...choice });
  return 'kind' in chosen ? { problem: chosen, target: null } : { problem: null, target: chosen };
}

/** Everything of ours that must not be in a target whose URL it does not belong to. */
const MARKS = { operator: ['operator', secret(1)], tenant: ['tenant', secret(2)], caller: ['caller'] };

describe('one model is taken as a whole, with the credentials beside its URL and no others', () => {
  const bare = (config: ModelConfig): ModelConfig => ({ url: config.url });
  const cases: [string, Partial<ModelChoice>, keyof typeof MARKS][] = [];
  for (const o of [null, operator, bare(operator)]) {
    for (const t of [null, { ...tenant, name: 'm' }, bare(tenant)]) {
      for (const c of [null, caller, { url: caller.url }]) {
        if (o === null && t === null && c === null) continue;
        const owner = c !== null ? 'caller' : t !== null ? 'tenant' : 'operator';
        const told = (config: object | null) => (config === null ? '-' : Object.keys(config).join('+'));
        cases.push([
          `operator ${told(o)}, tenant ${told(t)}, caller ${told(c)}`,
          { operator: o, tenant: t, caller: c, allowModelUrl: true },
          owner,
        ]);
      }
    }
  }

  test.each(cases)('%s', (_name, choice, owner) => {
    const { target } = choose(choice);
    expect(target?.url.hostname).toBe(`${owner}.example`);
    const given = choice[owner] as ModelConfig;
    expect(target?.headers.authorization).toBe(given.authorization ?? given.headers?.authorization);
    expect(target?.signingSecret).toBe(given.signingSecret ?? null);
    const shown = inspect(target, { depth: null });
    for (const other of ['operator', 'tenant', 'caller'] as const) {
      if (other !== owner) for (const mark of MARKS[other]) expect(shown).not.toContain(mark);
    }
  });

  test('a caller’s model does not inherit format, name or headers', () => {
    const { target } = choose({ caller: { url: caller.url }, tenant, operator, allowModelUrl: true });
    expect(target).toMatchObject({ format: 'compute-step', name: null, headers: {}, parameters: {} });
  });

  test('the configured URL named by a caller brings no credentials', () => {
    const { target } = choose({ caller: { url: operator.url }, operator, allowModelUrl: true });
    expect(target).toMatchObject({ headers: {}, signingSecret: null });
  });

  test('authorization and secret in a caller’s model are nothing', () => {
    const smuggled = { ...caller, headers: {}, authorization: 'Bearer x', signingSecret: secret(3) };
    const { target } = choose({ caller: smuggled });
    expect(target).toMatchObject({ headers: {}, signingSecret: null });
  });
});

describe('a caller may name a model', () => {
  test.each([
    [null, null, null, true],
    [null, null, true, true],
    [null, null, false, false],
    [null, operator, null, false],
    [tenant, null, null, false],
    [tenant, operator, true, true],
    [tenant, operator, false, false],
  ])('tenant %#', (t, o, allowModelUrl, allowed) => {
    const { problem, target } = choose({ caller, tenant: t, operator: o, allowModelUrl });
    expect(target !== null).toBe(allowed);
    if (!allowed) expect(problem?.code).toBe('model_url_refused');
  });
});

test('no model anywhere is a request without one', () => {
  expect(choose({}).problem).toMatchObject({
    code: 'invalid_request',
    detail: 'model: give one; no default model is configured.',
  });
});

describe('a faulty model is refused with field and fix', () => {
  test.each<[CallerModel, string, RegExp]>([
    [{ url: 'models.example.com' }, 'invalid_request', /^model\.url: give an absolute URL/],
    [{ url: `https://a.example/${'a'.repeat(2_048)}` }, 'invalid_request', /^model\.url: /],
    [{ url: 'ftp://a.example/' }, 'model_url_refused', /^model\.url: must be https/],
    [{ url: 'file:///etc/passwd' }, 'model_url_refused', /^model\.url: must be https/],
    [{ url: 'https://canary:canary@a.example/' }, 'model_url_refused', /user name or a password/],
    [{ url: 'https://a.example/', format: 'openai' }, 'invalid_request', /^model\.name: /],
    [{ url: 'https://a.example/', format: 'anthropic', name: '' }, 'invalid_request', /^model\.name: /],
    [
      { url: 'https://a.example/', format: 'openai', name: 'm', parameters: { stream: true } },
      'invalid_request',
      /^model\.parameters\.stream: remove it/,
    ],
    [
      { url: 'https://a.example/', format: 'openai', name: 'm', parameters: { messages: [] } },
      'invalid_request',
      /^model\.parameters\.messages: remove it/,
    ],
    [
      { url: 'https://a.example/', format: 'anthropic', name: 'm', parameters: { system: '' } },
      'invalid_request',
      /^model\.parameters\.system: remove it/,
    ],
    [
      { url: 'https://a.example/', format: 'canary' as 'openai' },
      'invalid_request',
      /^model\.format: must be one of compute-step, openai, anthropic/,
    ],
    [
      { url: 'https://a.example/', parameters: { x: 'a'.repeat(33_000) } },
      'invalid_request',
      /^model\.parameters: at most/,
    ],
    [
      { url: 'https://a.example/', headers: { host: 'canary' } },
      'invalid_request',
      /^model\.headers\.host: remove it/,
    ],
    [
      { url: 'https://a.example/', headers: { 'x-key': 'canary\r\nhost: b' } },
      'invalid_request',
      /^model\.headers\.x-key: /,
    ],
  ])('%j', (model, code, detail) => {
    const { problem } = choose({ caller: model });
    expect(problem?.code).toBe(code);
    expect(problem?.detail).toMatch(detail);
    expect(inspect(problem, { depth: null })).not.toContain('canary');
  });

  test('all faults at once', () => {
    const { problem } = choose({ caller: { url: 'x', format: 'openai', headers: { te: 'x' } } });
    expect(problem?.detail).toMatch(/model\.url.*; model\.name.*; model\.headers\.te/);
  });

  test('stream: false is what happens anyway', () => {
    const model = {
      url: 'https://a.example/',
      format: 'openai',
      name: 'm',
      parameters: { stream: false },
    } as const;
    expect(choose({ caller: model }).target?.parameters).toEqual({ stream: false });
  });

  test('a fragment is not sent', () => {
    expect(choose({ caller: { url: 'https://a.example/x?y=1#z' } }).target?.url.href).toBe(
      'https://a.example/x?y=1',
    );
  });
});

describe('a configured authorization', () => {
  const header = (format: 'compute-step' | 'openai' | 'anthropic', authorization: string) =>
    choose({ operator: { url: 'https://a.example/', format, name: 'm', authorization } }).target?.headers;

  test('with a scheme is sent as it stands', () => {
    for (const format of ['compute-step', 'openai', 'anthropic'] as const) {
      expect(header(format, 'Bearer k')).toEqual({ authorization: 'Bearer k' });
    }
  });

  test('that is a bare key goes where the format has its keys', () => {
    expect(header('anthropic', 'sk-key')).toEqual({ 'x-api-key': 'sk-key' });
    expect(header('compute-step', 'k')).toEqual({ authorization: 'k' });
  });
});

describe('a configured model is checked at start', () => {
  test('a good one has no faults', () => {
    expect(modelConfigFaults(operator, 'model')).toEqual([]);
    expect(modelConfigFaults(tenant, 'model')).toEqual([]);
  });

  test('every fault is named under its field, without secrets', () => {
    const faults = modelConfigFaults(
      {
        url: 'nowhere',
        format: 'openai',
        authorization: 'Bearer canary\n',
        signingSecret: 'whsec_canary!',
        headers: { host: 'a' },
      },
      'tenants[0].model',
    );
    expect(faults.map((fault) => fault.split(':')[0])).toEqual([
      'tenants[0].model.url',
      'tenants[0].model.name',
      'tenants[0].model.headers.host',
      'tenants[0].model.signing_secret',
    ]);
    expect(faults.join()).not.toContain('canary');
    expect(modelConfigFaults({ url: 'https://a.example/', authorization: 'a\r\nb: c' }, 'm')).toHaveLength(1);
    expect(modelConfigFaults({ url: 'https://a.example/', authorization: ' ' }, 'm')).toHaveLength(1);
    const twice = {
      url: 'https://a.example/',
      authorization: 'Bearer a',
      headers: { Authorization: 'Bearer b' },
    };
    expect(modelConfigFaults(twice, 'm')).toEqual([
      'm.headers.authorization: remove it; authorization sets it',
    ]);
  });
});
