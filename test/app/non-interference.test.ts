import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fill, plans } from '../fakes/fillings.ts';
import { type ScriptedModel, type ScriptedRequest, startScriptedModel } from '../fakes/scripted-model.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const FORMATS = ['compute-step', 'openai', 'anthropic'] as const;
/** What belongs to the one request: its id, when it was signed, and the signature over both and the body. */
const OWN_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
const ADMITTED = 'def compute(data):\n    return 42\n';
const REFUSED = 'import socket\n\ndef compute(data):\n    return open(data)\n';
const NONE = 'I would rather not.';
/** What the model writes, attempt by attempt; the last one again from then on. */
const REPLIES = {
  admitted: [ADMITTED],
  'refused by admission': [REFUSED],
  'no function': [NONE],
  'refused, then none, then admitted': [REFUSED, NONE, ADMITTED],
};
const MAX_ATTEMPTS = 4;

let model: ScriptedModel;
let service: TestService;
let reply: readonly string[] = REPLIES.admitted;
beforeAll(async () => {
  model = await startScriptedModel({
    signingSecret: SECRET,
    answer: (request) => reply[Math.min(attemptOf(request), reply.length) - 1] ?? '',
  });
  service = await startTestService({
    allowedHosts: [model.hostPort],
    moreTenants: FORMATS.map((format) => ({
      id: format,
      model: {
        url: model.url,
        format,
        name: 'a-model',
        parameters: { max_tokens: 1000 },
        authorization: 'Bearer the-key',
        signing_secret: SECRET,
      },
    })),
  });
});
afterAll(async () => {
  await service.close();
  await model.close();
});

/** The number of the attempt, from 1, as a receiver of each format can tell it. */
function attemptOf({ json, format }: ScriptedRequest): number {
  const { attempt, messages = [] } = json as { attempt?: number; messages?: readonly unknown[] };
  return attempt ?? Math.floor((messages.length - (format === 'openai' ? 2 : 1)) / 2) + 1;
}

/** What the webhook received for these source texts, one entry a request. */
async function received(format: (typeof FORMATS)[number], sources: readonly string[]) {
  const from = model.requests.length;
  const members = sources.map((text, index) =>
    index % 2 === 0 ? `{"name":"s${index}","result":${text}}` : `{"result_json":${JSON.stringify(text)}}`,
  );
  const repair = `"repair":{"max_attempts":${MAX_ATTEMPTS}}`;
  const body = `{"step":"the average price of my orders",${repair},"sources":[${members.join(',')}]}`;
  const headers = { authorization: `Bearer ${service.keys.get(format)}` };
  const answer = await service.post('/v1/compute', body, headers);
  const dry = await service.post('/v1/compute/prompt', body, headers);
  expect(dry.status).toBe(200);
  const requests = model.requests.slice(from);
  const admitted = reply.indexOf(ADMITTED);
  expect(requests).toHaveLength(admitted === -1 ? MAX_ATTEMPTS : admitted + 1);
  expect(requests.map(attemptOf)).toEqual(requests.map((_, index) => index + 1));
  return {
    requests: requests.map(withoutItsOwn),
    // The answer's own view of the prompt, and the dry run's.
    prompt: answer.json.prompt,
    dry: { ...dry.json, id: undefined },
  };
}

/** A request without what belongs to it alone; that it was there and well-formed is checked. */
function withoutItsOwn({ method, path, rawHeaders, headers, body, json, signature }: ScriptedRequest) {
  expect(signature).toBe('valid');
  const id = headers['webhook-id'] ?? '';
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}(-[2-5])?$/);
  const step = id.slice(0, 36);
  if ('id' in json) expect(json.id).toBe(step);
  return {
    method,
    path,
    headers: rawHeaders.map((text, index) =>
      index % 2 === 1 && OWN_HEADERS.includes(rawHeaders[index - 1]?.toLowerCase() ?? '') ? '…' : text,
    ),
    body: body.toString('latin1').replaceAll(step, 'id'),
  };
}

describe('what the webhook receives', () => {
  it.each(Object.entries(REPLIES))(
    'is the same byte for byte for two fillings of one shape, where the reply is %s',
    async (_, given) => {
      reply = given;
      await fc.assert(
        fc.asyncProperty(
          fc.array(plans, { minLength: 1, maxLength: 3 }),
          fc.integer(),
          fc.integer(),
          fc.constantFrom(...FORMATS),
          async (shapes, one, other, format) => {
            const counts = { least: 1, most: 1 };
            const texts = (seed: number) => shapes.map((plan, index) => fill(plan, seed + index, counts));
            const [a, b] = [await received(format, texts(one)), await received(format, texts(other))];
            expect(b.requests).toEqual(a.requests);
            expect(b.dry).toEqual(a.dry);
            if (given.includes(ADMITTED) || given.includes(REFUSED)) expect(b.prompt).toEqual(a.prompt);
          },
        ),
        { numRuns: 12 },
      );
    },
  );

  it('is another one where the shape is another: the comparison can fail', async () => {
    reply = REPLIES.admitted;
    const a = await received('compute-step', ['{"id":1}']);
    const b = await received('compute-step', ['{"id":"1"}']);
    expect(b.requests).not.toEqual(a.requests);
    expect(b.dry).not.toEqual(a.dry);
  });

  it('has no header but those of the transport, the format, the configuration and the signature', async () => {
    const { requests } = await received('compute-step', ['[1]']);
    const names = requests[0]?.headers
      .filter((_, index) => index % 2 === 0)
      .map((name) => name.toLowerCase());
    expect(names?.sort()).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      ...OWN_HEADERS.sort(),
    ]);
  });
});
