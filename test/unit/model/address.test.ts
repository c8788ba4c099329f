import { describe, expect, test } from 'vitest';
import { addressFault, hostPort, readAllowedHosts, urlFault } from '../../../src/model/address.ts';

const none = readAllowedHosts([]);

describe('a URL may lead to public unicast addresses only', () => {
  test.each([
    ['https://8.8.8.8/', null],
    ['https://1.1.1.1:8443/', null],
    ['https://[2606:4700:4700::1111]/', null],
    ['https://[::ffff:8.8.8.8]/', null],
    ['https://models.example.com/', null],
    ['https://0x7f.1/', 'not_public'],
    ['https://2130706433/', 'not_public'],
    ['https://017700000001/', 'not_public'],
    ['https://127.1/', 'not_public'],
    ['https://①②⑦.⓪.⓪.①/', 'not_public'],
    ['https://127.0.0.1/', 'not_public'],
    ['https://[::1]/', 'not_public'],
    ['https://[::]/', 'not_public'],
    ['https://0.0.0.0/', 'not_public'],
    ['https://10.1.2.3/', 'not_public'],
    ['https://172.16.0.1/', 'not_public'],
    ['https://192.168.1.1/', 'not_public'],
    ['https://[::ffff:10.0.0.1]/', 'not_public'],
    ['https://[::ffff:a9fe:a9fe]/', 'cloud_metadata'],
    ['https://[::10.0.0.1]/', 'not_public'],
    ['https://[2002:7f00:1::1]/', 'not_public'],
    ['https://[64:ff9b::7f00:1]/', 'not_public'],
    ['https://[64:ff9b:1::a00:1]/', 'not_public'],
    ['https://[2001::1]/', 'not_public'],
    ['https://100.64.0.1/', 'not_public'],
    ['https://100.100.100.200/', 'cloud_metadata'],
    ['https://169.254.1.1/', 'not_public'],
    ['https://169.254.169.254/latest/meta-data', 'cloud_metadata'],
    ['https://168.63.129.16/', 'cloud_metadata'],
    ['https://192.0.0.192/', 'cloud_metadata'],
    ['https://[fd00:ec2::254]/', 'cloud_metadata'],
    ['https://[fd12:3456::1]/', 'not_public'],
    ['https://[fe80::1]/', 'not_public'],
    ['https://[fec0::1]/', 'not_public'],
    ['https://[4000::1]/', 'not_public'],
    ['https://224.0.0.1/', 'not_public'],
    ['https://[ff02::1]/', 'not_public'],
    ['https://198.18.0.1/', 'not_public'],
    ['https://203.0.113.7/', 'not_public'],
    ['https://[2001:db8::1]/', 'not_public'],
    ['https://240.0.0.1/', 'not_public'],
    ['https://255.255.255.255/', 'not_public'],
    ['http://8.8.8.8/', 'plain_http'],
    ['http://models.example.com/', 'plain_http'],
    ['ftp://8.8.8.8/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['https://user@models.example.com/', 'credentials'],
    ['https://models.example.com:x@8.8.8.8/', 'credentials'],
  ])('%s: %s', (url, fault) => {
    expect(urlFault(new URL(url), none)).toBe(fault);
  });
});

describe('what a name resolved to', () => {
  test.each([
    ['8.8.4.4', null],
    ['fe80::1%eth0', 'not_public'],
    ['127.0.0.1', 'not_public'],
    ['0x7f.1', 'not_an_address'],
    ['localhost', 'not_an_address'],
    ['', 'not_an_address'],
  ])('%s: %s', (address, fault) => {
    expect(addressFault(address, false)).toBe(fault);
  });

  test.each([
    ['127.0.0.1', null],
    ['10.0.0.1', null],
    ['::1', null],
    ['fd12::1', null],
    ['100.64.0.1', null],
    ['8.8.8.8', null],
    ['169.254.1.1', 'not_public'],
    ['0.0.0.0', 'not_public'],
    ['224.0.0.1', 'not_public'],
    ['169.254.169.254', 'cloud_metadata'],
    ['::ffff:169.254.169.254', 'cloud_metadata'],
    ['fd00:ec2::254', 'cloud_metadata'],
    ['100.100.100.200', 'cloud_metadata'],
  ])('of a listed host, %s: %s', (address, fault) => {
    expect(addressFault(address, true)).toBe(fault);
  });
});

describe('the allowlist', () => {
  test('matches host and port exactly, the default port included', () => {
    const allowed = readAllowedHosts(['Models.Internal:8080', '127.0.0.1:80', '[::1]:11434', 'gpu:443']);
    expect(urlFault(new URL('http://models.internal:8080/v1'), allowed)).toBeNull();
    expect(urlFault(new URL('http://127.0.0.1/'), allowed)).toBeNull();
    expect(urlFault(new URL('http://[0::1]:11434/'), allowed)).toBeNull();
    expect(urlFault(new URL('https://gpu/'), allowed)).toBeNull();
    expect(urlFault(new URL('http://gpu/'), allowed)).toBe('plain_http');
    expect(urlFault(new URL('http://models.internal:8081/'), allowed)).toBe('plain_http');
    expect(urlFault(new URL('http://x.models.internal:8080/'), allowed)).toBe('plain_http');
    expect(urlFault(new URL('https://127.0.0.1:8080/'), allowed)).toBe('not_public');
  });

  test('does not excuse credentials or metadata addresses', () => {
    const allowed = readAllowedHosts(['gpu:443', '169.254.169.254:80']);
    expect(urlFault(new URL('https://a:b@gpu/'), allowed)).toBe('credentials');
    expect(urlFault(new URL('http://169.254.169.254/'), allowed)).toBe('cloud_metadata');
  });

  test.each([
    'models.internal',
    '*:80',
    'http://gpu:80',
    'gpu:0',
    'gpu:70000',
    'a@gpu:80',
    'gpu:80/v1',
    '',
    '::1:80',
  ])('refuses the entry "%s" by its position', (entry) => {
    expect(() => readAllowedHosts(['fine:80', entry])).toThrow(/entry 2: write host:port/);
  });

  test('names every faulty entry', () => {
    expect(() => readAllowedHosts(['a', 'b:1', 'c'])).toThrow(/entry 1, entry 3/);
  });

  test('knows the port of a URL that does not say it', () => {
    expect(hostPort(new URL('https://a.example/'))).toBe('a.example:443');
    expect(hostPort(new URL('http://a.example/'))).toBe('a.example:80');
    expect(hostPort(new URL('http://[::1]:99/'))).toBe('[::1]:99');
  });
});
