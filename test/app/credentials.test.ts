import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tenant } from '../../src/contract/tenant.ts';
import { type ScriptedModel, type ScriptedRequest, startScriptedModel } from '../fakes/scripted-model.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const OWNERS = ['operator', 'tenant', 'caller'] as const;
type Owner = (typeof OWNERS)[number];

/** What an owner configures beside its URL; `none`: it names no model at all. A caller has no signing secret. */
const CONFIGURED = ['none', 'url', 'key', 'secret', 'key and secret'] as const;
const BY_CALLER = ['none', 'url', 'key'] as const;
type Configured = (typeof CONFIGURED)[number];

const hasKey = (configured: Configured) => configured.includes('key');
const hasSecret = (configured: Configured) => configured.includes('secret');
const keyOf = (owner: Owner) => `Bearer the-key-of-the-${owner}`;
const secretOf = (owner: Owner) => `whsec_${Buffer.alloc(32, `secret of the ${owner}`).toString('base64')}`;
const slug = (configured: string) => configured.replaceAll(' ', '-');

const webhooks = {} as Record<Owner, ScriptedModel>;

function modelOf(owner: Owner, configured: Configured) {
  return {
    url: `${webhooks[owner].url}/${owner}`,
    ...(hasKey(configured) ? { authorization: keyOf(owner) } : {}),
  };
}

function tenantWith(configured: Configured): Partial<Tenant> & Pick<Tenant, 'id'> {
  const model = {
    ...modelOf('tenant', configured),
    ...(hasSecret(configured) ? { signing_secret: secretOf('tenant') } : {}),
  };
  return { id: slug(configured), allow_model_url: true, ...(configured === 'none' ? {} : { model }) };
}

/** A caller's model: a key travels as a header of the caller's own. */
function callerModel(configured: (typeof BY_CALLER)[number]) {
  const { url } = modelOf('caller', configured);
  return { url, ...(hasKey(configured) ? { headers: { Authorization: keyOf('caller') } } : {}) };
}

/** Everything of a request in which a credential could stand. */
function everythingOf({ path, rawHeaders, body }: ScriptedRequest): string {
  return `${path}\n${rawHeaders.join('\n')}\n${body.toString('utf8')}`;
}

function isSignedBy(owner: Owner, { headers, body }: ScriptedRequest): boolean {
  try {
    new Webhook(secretOf(owner)).verify(body, { ...headers });
    return true;
  } catch {
    return false;
  }
}

beforeAll(async () => {
  for (const owner of OWNERS) {
    webhooks[owner] = await startScriptedModel({ answer: () => 'def compute(data):\n    return 42\n' });
  }
});
afterAll(() => Promise.all(OWNERS.map((owner) => webhooks[owner].close())));

describe.each(CONFIGURED)('where the operator configures %s', (operator) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({
      operatorModel:
        operator === 'none'
          ? null
          : {
              ...modelOf('operator', operator),
              ...(hasSecret(operator) ? { signingSecret: secretOf('operator') } : {}),
            },
      moreTenants: [
        ...CONFIGURED.map(tenantWith),
        { ...tenantWith('key and secret'), id: 'own-url-only', allow_model_url: false },
        { id: 'operators-url-only', allow_model_url: false },
      ],
      allowedHosts: OWNERS.map((owner) => webhooks[owner].hostPort),
    });
  });
  afterAll(() => service.close());

  async function ask(tenant: string, caller: (typeof BY_CALLER)[number]) {
    const before = OWNERS.map((owner) => webhooks[owner].requests.length);
    const answer = await service.post(
      '/v1/compute',
      {
        step: 'x',
        sources: [{ result: 1 }],
        ...(caller === 'none' ? {} : { model: callerModel(caller) }),
      },
      { authorization: `Bearer ${service.keys.get(tenant)}` },
    );
    const received = OWNERS.map((owner, index) => ({
      owner,
      requests: webhooks[owner].requests.slice(before[index]),
    }));
    return { answer, received };
  }

  const rows = CONFIGURED.flatMap((tenant) => BY_CALLER.map((caller) => ({ tenant, caller })));
  it.each(rows)('and the tenant $tenant, the caller $caller', async ({ tenant, caller }) => {
    const { answer, received } = await ask(slug(tenant), caller);
    const asked: Owner | null =
      caller !== 'none' ? 'caller' : tenant !== 'none' ? 'tenant' : operator !== 'none' ? 'operator' : null;
    expect(answer.json.state ?? answer.json.code).toBe(asked === null ? 'invalid_request' : 'succeeded');
    const configured: Record<Owner, Configured> = { operator, tenant, caller };
    for (const { owner, requests } of received) {
      expect(requests.length, owner).toBe(owner === asked ? 1 : 0);
      for (const request of requests) {
        expect(request.path).toBe(`/write/${owner}`);
        const own = configured[owner];
        expect(request.headers.authorization).toBe(hasKey(own) ? keyOf(owner) : undefined);
        expect('webhook-signature' in request.headers).toBe(hasSecret(own));
        expect(OWNERS.filter((each) => isSignedBy(each, request))).toEqual(hasSecret(own) ? [owner] : []);
        for (const other of OWNERS.filter((each) => each !== owner)) {
          expect(everythingOf(request)).not.toContain(keyOf(other).slice('Bearer '.length));
        }
        for (const each of OWNERS) expect(everythingOf(request)).not.toContain(secretOf(each).slice(6));
        // Nor does the key of the API itself travel on.
        expect(everythingOf(request)).not.toContain(service.keys.get(slug(tenant)));
      }
    }
    for (const owner of OWNERS) {
      expect(answer.text).not.toContain(keyOf(owner).slice('Bearer '.length));
      expect(answer.text).not.toContain(secretOf(owner).slice(6));
    }
  });

  it.each(['own-url-only', 'operators-url-only'])(
    'a caller’s URL is refused for a tenant that may not name one (%s), and nobody is asked',
    async (tenant) => {
      const { answer, received } = await ask(tenant, 'key');
      expect(answer.status).toBe(403);
      expect(answer.json.code).toBe('model_url_refused');
      expect(answer.text).not.toContain('the-key-of');
      expect(received.flatMap(({ requests }) => requests)).toEqual([]);
    },
  );
});

describe('members by which a caller might ask for another’s credentials', () => {
  it.each([
    ['authorization', { authorization: 'Bearer x' }],
    ['signing_secret', { signing_secret: secretOf('caller') }],
    ['signingSecret', { signingSecret: secretOf('caller') }],
    ['url alone left out', { url: undefined }],
  ])('%s in model is refused, and nobody is asked', async (_, more) => {
    const service = await startTestService({
      operatorModel: { ...modelOf('operator', 'key'), signingSecret: secretOf('operator') },
      tenant: { allow_model_url: true },
      allowedHosts: OWNERS.map((owner) => webhooks[owner].hostPort),
    });
    const before = OWNERS.map((owner) => webhooks[owner].requests.length);
    const model = { ...callerModel('url'), ...more };
    const answer = await service.post('/v1/compute', { step: 'x', sources: [{ result: 1 }], model });
    expect(answer.status).toBe(400);
    expect(answer.json.detail).toContain('model');
    expect(OWNERS.map((owner) => webhooks[owner].requests.length)).toEqual(before);
    await service.close();
  });

  it('the same origin under another path is another URL: the operator’s key stays away from it', async () => {
    const service = await startTestService({
      operatorModel: {
        ...modelOf('operator', 'key'),
        signingSecret: secretOf('operator'),
      },
      tenant: { allow_model_url: true },
      allowedHosts: [webhooks.operator.hostPort],
    });
    await service.post('/v1/compute', {
      step: 'x',
      sources: [{ result: 1 }],
      model: { url: `${webhooks.operator.url}/of-the-caller` },
    });
    const request = webhooks.operator.requests.at(-1);
    expect(request?.path).toBe('/write/of-the-caller');
    expect(request?.headers.authorization).toBeUndefined();
    expect(request?.signature).toBe('absent');
    await service.close();
  });
});
