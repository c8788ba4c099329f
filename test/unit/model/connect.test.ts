import type { LookupAddress } from 'node:dns';
import { describe, expect, test } from 'vitest';
import {
  AddressRefused,
  ConnectFailed,
  errorCode,
  guardedConnector,
  guardedLookup,
  type Resolver,
} from '../../../src/model/connect.ts';

type Looked = { error: Error | null; addresses: string | LookupAddress[]; family: number | undefined };

function look(resolve: Resolver, listed: boolean, all: boolean): Promise<Looked> {
  return new Promise((done) => {
    guardedLookup(resolve, listed)('model.test', { all }, (error, addresses, family) =>
      done({ error, addresses, family }),
    );
  });
}

describe('looking up a name', () => {
  test('gives the socket exactly the addresses that were judged', async () => {
    let asked = 0;
    const rebinding: Resolver = async () => {
      asked += 1;
      return asked === 1 ? ['8.8.8.8', '2606:4700:4700::1111'] : ['127.0.0.1'];
    };
    expect((await look(rebinding, false, true)).addresses).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700:4700::1111', family: 6 },
    ]);
    expect(asked).toBe(1);
    expect((await look(rebinding, false, true)).error).toBeInstanceOf(AddressRefused);
    expect(await look(async () => ['8.8.8.8'], false, false)).toEqual({
      error: null,
      addresses: '8.8.8.8',
      family: 4,
    });
  });

  test.each([
    [['127.0.0.1'], false],
    [['8.8.8.8', '10.0.0.1'], false],
    [['fe80::1%eth0'], false],
    [['8.8.8.8', 'not an address'], false],
    [['8.8.8.8', '169.254.169.254'], true],
  ])('refuses %j (listed: %s)', async (addresses, listed) => {
    const { error } = await look(async () => addresses, listed, true);
    expect(error).toBeInstanceOf(AddressRefused);
  });

  test('fails where a name has no address, or more than any honest name', async () => {
    for (const addresses of [[], Array.from({ length: 65 }, () => '8.8.8.8')]) {
      const { error } = await look(async () => addresses, false, true);
      expect(error).toMatchObject({ code: 'ENODATA' });
    }
  });

  test('passes on the resolver’s own failure', async () => {
    const failed = Object.assign(new Error('no such host'), { code: 'ENOTFOUND' });
    expect((await look(() => Promise.reject(failed), false, true)).error).toBe(failed);
  });
});

test('an IP literal is judged although no lookup happens for it', async () => {
  const connect = guardedConnector(() => Promise.reject(new Error('asked')), false);
  const error = await new Promise((done) => {
    connect({ hostname: '127.0.0.1', protocol: 'http:', port: '9' }, (...ended) => done(ended[0]));
  });
  expect(error).toBeInstanceOf(AddressRefused);
});

test('an error is known by its code, never by its text', () => {
  const refused = Object.assign(new Error('secret'), { code: 'ECONNREFUSED' });
  expect(errorCode(refused)).toBe('ECONNREFUSED');
  expect(errorCode(new AggregateError([refused], 'secret'))).toBe('ECONNREFUSED');
  expect(errorCode(new TypeError('secret'))).toBe('TypeError');
  expect(errorCode('secret')).toBe('unknown');
  expect(JSON.stringify(new ConnectFailed(refused))).not.toContain('secret');
});
