import { spawn, spawnSync } from 'node:child_process';
import type Docker from 'dockerode';

/** The same work everywhere: the average price over N records of eight fields. */
export const PYTHON = [
  'import json,sys',
  'd=json.loads(sys.stdin.buffer.read())',
  'p=[o["price"] for o in d["orders"]]',
  'sys.stdout.write(json.dumps(sum(p)/len(p)))',
].join('\n');

const HARDENED = {
  NetworkMode: 'none',
  ReadonlyRootfs: true,
  CapDrop: ['ALL'],
  SecurityOpt: ['no-new-privileges'],
  Memory: 256 * 1024 * 1024,
  MemorySwap: 256 * 1024 * 1024,
  PidsLimit: 64,
  LogConfig: { Type: 'none', Config: {} },
};

export function records(count: number): string {
  const orders = Array.from({ length: count }, (_, index) => ({
    id: index,
    customer_id: 1000 + (index % 97),
    price: 10 + (index % 500) / 4,
    qty: 1 + (index % 5),
    status: ['paid', 'open', 'cancelled'][index % 3],
    country: ['FR', 'DE', 'ES', 'IT'][index % 4],
    placed: `2026-0${1 + (index % 9)}-1${index % 10}`,
    note: `order number ${index} of the customer`,
  }));
  return JSON.stringify(orders);
}

/** A fresh hardened container by dockerode: create, attach, start, write, read the answer; removal is `remove`. */
export async function freshContainer(
  docker: Docker,
  image: string,
  data: string,
): Promise<{ answer: string; remove(): Promise<void> }> {
  const container = await docker.createContainer({
    Image: image,
    Entrypoint: ['/usr/bin/python3.13', '-I', '-S', '-c', PYTHON],
    Cmd: [],
    User: '65534:65534',
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Labels: { 'compute-step-bench': '1' },
    HostConfig: HARDENED,
  });
  const stream = await container.attach({
    stream: true,
    hijack: true,
    stdin: true,
    stdout: true,
    stderr: true,
  });
  await container.start();
  const answer = new Promise<string>((resolve) => {
    stream.once('data', (chunk: Buffer) => resolve(chunk.subarray(8).toString()));
  });
  stream.end(data);
  return {
    answer: await answer,
    remove: async () => {
      await container.remove({ force: true });
    },
  };
}

/** `docker run --rm` from the command line, to its end. */
export function dockerRun(image: string, data: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      'docker',
      [
        'run',
        '--rm',
        '-i',
        '--network',
        'none',
        '--read-only',
        '--user',
        '65534:65534',
        '--cap-drop',
        'ALL',
        '--security-opt',
        'no-new-privileges',
        '--memory',
        '256m',
        '--memory-swap',
        '256m',
        '--pids-limit',
        '64',
        '--log-driver',
        'none',
        '--entrypoint',
        '/usr/bin/python3.13',
        image,
        '-I',
        '-S',
        '-c',
        PYTHON,
      ],
      { stdio: ['pipe', 'ignore', 'inherit'] },
    );
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`docker run ended with ${code}`)),
    );
    child.stdin.end(data);
  });
}

/** Bare python3 of this machine: parse and compute in one warm process, `count` times; milliseconds each. */
export function barePython(data: string, count: number): number[] {
  const code = `
import json,sys,time
b=sys.stdin.buffer.read()
for _ in range(${count}):
    t=time.perf_counter()
    d=json.loads(b); p=[o["price"] for o in d["orders"]]; json.dumps(sum(p)/len(p))
    print((time.perf_counter()-t)*1000)
    del d,p
`;
  const { stdout, status } = spawnSync('python3', ['-I', '-c', code], {
    input: data,
    encoding: 'utf8',
    maxBuffer: 1e6,
  });
  if (status !== 0) {
    throw new Error('python3 is needed for the comparison');
  }
  return stdout.trim().split('\n').map(Number);
}
