import { describe, expect, test } from 'vitest';
import { readHeaders } from '../../../src/model/headers.ts';

const read = (headers: Record<string, string>) => readHeaders(headers, 'model.headers');

test('ordinary headers pass with lower-case names', () => {
  expect(
    read({ Authorization: 'Bearer k', 'X-Api-Key': 'k\té', 'user-agent': 'mine', cookie: 'a=b' }),
  ).toEqual({
    headers: { authorization: 'Bearer k', 'x-api-key': 'k\té', 'user-agent': 'mine', cookie: 'a=b' },
  });
});

test('a content type that says what is sent anyway is dropped, another one refused', () => {
  expect(read({ 'Content-Type': 'application/json' })).toEqual({ headers: {} });
  expect(read({ 'content-type': 'application/json; charset=UTF-8' })).toEqual({ headers: {} });
  expect(read({ 'content-type': 'text/plain' })).toHaveProperty('fault');
});

describe('headers of the transport and of the service are refused by name', () => {
  test.each([
    'Accept-Encoding',
    'Baggage',
    'Connection',
    'Content-Encoding',
    'Content-Length',
    'Expect',
    'Host',
    'HTTP2-Settings',
    'Keep-Alive',
    'Proxy-Authorization',
    'Proxy-Connection',
    'TE',
    'Traceparent',
    'Tracestate',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Webhook-Id',
    'Webhook-Signature',
    'Webhook-Timestamp',
  ])('%s', (name) => {
    expect(read({ [name]: 'canary' })).toEqual({
      fault: `model.headers.${name.toLowerCase()}: remove it; the service sets this header itself`,
    });
  });
});

describe('a value that would break the message is refused and not repeated', () => {
  test.each(['canary\r\nx: y', 'canary\n', 'canary\r', 'canary\0', 'canary\x7f', 'canary\u20ac'])(
    '%j',
    (value) => {
      const fault = JSON.stringify(read({ 'x-key': value }));
      expect(fault).toContain('model.headers.x-key');
      expect(fault).not.toContain('canary');
    },
  );
});

test.each(['', 'a b', 'x\r\ny', 'canary: x', 'é', 'a'.repeat(65)])(
  'a name that is none is refused and not repeated: %j',
  (name) => {
    const fault = JSON.stringify(read({ [name]: 'v' }));
    expect(fault).toBe('{"fault":"model.headers: a name is not a header name of at most 64 characters"}');
  },
);

test('number, size and repetition are bounded', () => {
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`x-${index}`, 'v']));
  expect(read(many)).toHaveProperty('fault', 'model.headers: at most 32 headers');
  expect(read({ 'x-a': 'v'.repeat(8_192) })).toHaveProperty('fault');
  expect(read({ 'x-a': 'v'.repeat(8_000) })).toHaveProperty('headers');
  expect(read({ 'x-a': 'v'.repeat(8_000), 'x-b': 'v'.repeat(8_000), 'x-c': 'v'.repeat(500) })).toHaveProperty(
    'fault',
  );
  expect(read({ 'X-A': '1', 'x-a': '2' })).toHaveProperty('fault');
});
