import { describe, expect, test } from 'vitest';
import { parseEngineAddress } from '../../../src/sandbox/engine-address.ts';

describe('the address of the engine', () => {
  test.each([
    [null, { kind: 'unix', socketPath: '/var/run/docker.sock' }],
    ['', { kind: 'unix', socketPath: '/var/run/docker.sock' }],
    ['unix:///run/user/1000/docker.sock', { kind: 'unix', socketPath: '/run/user/1000/docker.sock' }],
    ['tcp://127.0.0.1:2375', { kind: 'tcp', host: '127.0.0.1', port: 2375 }],
    ['tcp://engine', { kind: 'tcp', host: 'engine', port: 2375 }],
    ['http://engine:80/', { kind: 'tcp', host: 'engine', port: 80 }],
  ])('%s is understood', (text, address) => {
    expect(parseEngineAddress(text)).toEqual(address);
  });

  test.each([
    'unix://relative.sock',
    'unix://',
    'ssh://host',
    'npipe:////./pipe/x',
    'tcp://',
    'tcp://h:1/path',
    'h',
  ])('%s is refused by the setting’s name', (text) => {
    expect(() => parseEngineAddress(text)).toThrow(/^DOCKER_HOST must/);
  });
});
