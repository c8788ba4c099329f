import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type Config,
  loadConfig,
  loadSandboxdConfig,
  SANDBOXD_SETTINGS,
  SETTINGS,
  settingsTable,
} from '../../src/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'compute-step-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function load(env: Record<string, string>): Config {
  const config = loadConfig({ TENANTS_FILE: 't.json', ...env });
  if ('kind' in config) {
    throw new Error(config.faults.join('\n'));
  }
  return config;
}

function faults(env: Record<string, string>): string {
  const config = loadConfig({ TENANTS_FILE: 't.json', ...env });
  return 'kind' in config ? config.faults.join('\n') : '';
}

describe('settings', () => {
  it('have the documented defaults, and are frozen', () => {
    const config = load({});
    expect(config).toMatchObject({
      HOST: '127.0.0.1',
      PORT: 8080,
      METRICS_PORT: 9464,
      LEDGER_URL: 'sqlite:./data/ledger.db',
      BODY_MAX_BYTES: 33_554_432,
      BODY_INFLIGHT_MAX_BYTES: 268_435_456,
      JSON_MAX_DEPTH: 64,
      PROMPT_MAX_BYTES: 65_536,
      RESULT_MAX_BYTES: 4_194_304,
      SANDBOX_POOL_SIZE: 4,
      SANDBOX_QUEUE_LIMIT: 64,
      SANDBOX_WALL_SECONDS: 10,
      SANDBOX_MEMORY_MB: 256,
      MODEL_ALLOWED_HOSTS: [],
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('take an empty variable as not set, as Compose sets unset ones to nothing', () => {
    expect(load({ PORT: '', MODEL_WEBHOOK_URL: '' })).toMatchObject({ PORT: 8080, MODEL_WEBHOOK_URL: null });
  });

  it('take bytes with a unit, and lists', () => {
    expect(load({ BODY_MAX_BYTES: '64 MiB', RESULT_MAX_BYTES: '512KiB' })).toMatchObject({
      BODY_MAX_BYTES: 67_108_864,
      RESULT_MAX_BYTES: 524_288,
    });
    expect(load({ MODEL_ALLOWED_HOSTS: 'Models.internal:8000, [::1]:80' }).MODEL_ALLOWED_HOSTS).toEqual([
      'models.internal:8000',
      '[::1]:80',
    ]);
  });

  it('take headers for traces as OpenTelemetry writes them', () => {
    expect(load({}).OTEL_EXPORTER_OTLP_HEADERS).toEqual({});
    expect(
      load({ OTEL_EXPORTER_OTLP_HEADERS: ' Authorization=Basic%20YQ==, x-scope = a%2Cb ,' }),
    ).toMatchObject({ OTEL_EXPORTER_OTLP_HEADERS: { authorization: 'Basic YQ==', 'x-scope': 'a,b' } });
  });

  it.each([
    ['PORT', '80a'],
    ['PORT', '-1'],
    ['PORT', '65536'],
    ['HOST', 'a b'],
    ['METRICS_TENANT_LABEL', 'some'],
    ['BODY_MAX_BYTES', '32 GB'],
    ['JSON_MAX_DEPTH', '100000'],
    ['SANDBOX_CPUS', '0'],
    ['SANDBOX_WALL_SECONDS', '1e3'],
    ['SANDBOX_RUNTIME', 'run sc'],
    ['DOCKER_HOST', '/var/run/docker.sock'],
    ['DOCKER_HOST', 'unix://docker.sock'],
    ['LEDGER_URL', 'postgres://x'],
    ['LOG_LEVEL', 'loud'],
    ['SANDBOXD_SOCKET', 'sandboxd.sock'],
    // The kernel would cut it, and listen somewhere else.
    ['SANDBOXD_SOCKET', `/${'s'.repeat(107)}`],
    ['MODEL_WEBHOOK_URL', 'models.example.com'],
    ['MODEL_WEBHOOK_URL', 'https://user:pass@models.example.com'],
    ['MODEL_WEBHOOK_FORMAT', 'gemini'],
    ['MODEL_ALLOWED_HOSTS', 'models.internal'],
    ['MODEL_SIGNING_SECRET', 'short'],
    ['MODEL_AUTHORIZATION', 'a\nb'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4317'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:pass@collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector:4318?key=x'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a b=c'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b%0d%0ac: d'],
  ])('refuse %s=%j by name', (name, value) => {
    expect(faults({ [name]: value })).toMatch(new RegExp(`^${name} must`));
  });

  it('report every fault at once, and no value of a secret', () => {
    const all = faults({ PORT: 'x', HOST: ' ', MODEL_SIGNING_SECRET: 'hunter2', TENANTS_FILE: '' });
    expect(
      all
        .split('\n')
        .map((line) => line.split(' ', 1)[0])
        .sort(),
    ).toEqual(['HOST', 'MODEL_SIGNING_SECRET', 'PORT', 'TENANTS_FILE']);
    expect(all).not.toContain('hunter2');
    // It says what the file holds: the command alone makes none.
    expect(all).toContain('{"tenants": […]} with entries as `compute-step key create` prints them');
  });

  it('read secrets from files, once', () => {
    const file = join(folder, 'secret');
    writeFileSync(file, 'Bearer abc\n');
    expect(load({ MODEL_AUTHORIZATION_FILE: file }).MODEL_AUTHORIZATION).toBe('Bearer abc');
    expect(faults({ MODEL_AUTHORIZATION_FILE: join(folder, 'none') })).toContain('MODEL_AUTHORIZATION_FILE');
    expect(faults({ MODEL_AUTHORIZATION_FILE: file, MODEL_AUTHORIZATION: 'x' })).toContain('both set');
    // Only secrets: another setting's _FILE is not a thing.
    expect(load({ PORT_FILE: file }).PORT).toBe(8080);
  });

  it('take an absolute path for the socket of the sandbox daemon, or none', () => {
    expect(load({}).SANDBOXD_SOCKET).toBeNull();
    expect(load({ SANDBOXD_SOCKET: '/run/compute-step/sandboxd.sock' })).toMatchObject({
      SANDBOXD_SOCKET: '/run/compute-step/sandboxd.sock',
    });
  });

  it('of the sandbox daemon are its own: a socket, no tenants, and no fault of what it does not read', () => {
    const config = loadSandboxdConfig({
      SANDBOXD_SOCKET: '/run/s',
      PORT: 'x',
      LEDGER_URL: 'y',
      SANDBOX_CPUS: '2',
    });
    expect(config).toMatchObject({ SANDBOXD_SOCKET: '/run/s', SANDBOX_CPUS: 2, RESULT_MAX_BYTES: 4_194_304 });
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.keys(config).sort()).toEqual([...SANDBOXD_SETTINGS].sort());
    expect(loadSandboxdConfig({ SANDBOX_CPUS: 'x' })).toMatchObject({
      faults: [
        expect.stringMatching(/^SANDBOX_CPUS must/),
        expect.stringMatching(/^SANDBOXD_SOCKET is required/),
      ],
    });
  });

  it('are all in the table, with a help text', () => {
    const table = settingsTable();
    for (const [name, { help }] of Object.entries(SETTINGS)) {
      expect(table).toMatch(new RegExp(`^${name} +\\S`, 'm'));
      expect(help.length).toBeGreaterThan(10);
    }
  });
});
