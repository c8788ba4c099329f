import Docker from 'dockerode';
import { describe, expect, test } from 'vitest';
import { honestCases, killingProfile, runHonestly } from '../fakes/sandbox-corpus.ts';
import { IMAGE, runPython } from './harness-container.ts';

/** Containers of the corpora at a time. */
const AT_ONCE = 4;
/** Some 250 containers; half a minute on a quiet machine. */
const CORPUS_MAX_MS = 600_000;

/** Each ends in a call that the profile does not list. What Python cannot call without ctypes is in the unit test. */
const FORBIDDEN: readonly (readonly [string, string])[] = [
  ['a TCP socket', '_socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0)'],
  ['an IPv6 socket', '_socket.socket(_socket.AF_INET6, _socket.SOCK_DGRAM, 0)'],
  ['a Unix socket', '_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)'],
  ['a netlink socket', '_socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW, 0)'],
  ['a vsock socket', '_socket.socket(_socket.AF_VSOCK, _socket.SOCK_STREAM, 0)'],
  ['a packet socket', '_socket.socket(_socket.AF_PACKET, _socket.SOCK_RAW, 0)'],
  ['a socket pair', '_socket.socketpair()'],
  ['fork', 'posix.fork()'],
  ['a new program in a new process', 'posix.posix_spawn("/usr/bin/python3", ["x"], {})'],
  ['a file in memory', 'posix.memfd_create("x")'],
  ['a namespace', 'posix.unshare(posix.CLONE_NEWUSER)'],
  ['an eventfd', 'posix.eventfd(0)'],
  ['a pipe', 'posix.pipe()'],
  ['a signal to itself from outside', 'posix.kill(1, 0)'],
  ['a scheduler change', 'posix.nice(1)'],
  ['a process file descriptor', 'posix.pidfd_open(1)'],
  ['a symbolic link', 'posix.symlink("a", "/dev/shm/b")'],
  ['a folder', 'posix.mkdir("/dev/x")'],
  ['a changed mode', 'posix.chmod("/dev/null", 0o777)'],
  ['a removed file', 'posix.unlink("/usr/lib/harness.pyc")'],
  ['a mask of new files', 'posix.umask(0)'],
  ['a session', 'posix.setsid()'],
];

describe('inside the image under the seccomp profile', () => {
  test('no call outside the list gets through', async () => {
    const python = `
import posix, _socket, json
def attempt(call):
    try:
        call()
        return "done"
    except OSError as error:
        return error.errno
print(json.dumps([${FORBIDDEN.map(([, call]) => `attempt(lambda: ${call})`)}]))
`;
    const got = (await runPython(python)) as unknown[];
    expect(FORBIDDEN.map(([name], index) => [name, got[index]])).toEqual(
      FORBIDDEN.map(([name]) => [name, 1]),
    );
  });

  test('no thread starts', async () => {
    const python = `
import _thread
try:
    _thread.start_new_thread(print, ())
    print('"started"')
except RuntimeError:
    print('"refused"')
`;
    expect(await runPython(python)).toBe('refused');
  });

  test('the process has no right, no writable place, no device, and an environment of two settings', async () => {
    const python = `
import posix, json
def text(path):
    fd = posix.open(path, posix.O_RDONLY)
    parts = []
    while part := posix.read(fd, 1 << 16): parts.append(part)
    return b"".join(parts).decode()
def writable(path):
    try:
        posix.open(path, posix.O_WRONLY | posix.O_CREAT)
        return True
    except OSError:
        return False
status = dict(line.split(":\\t", 1) for line in text("/proc/self/status").splitlines() if ":\\t" in line)
print(json.dumps({
    "caps": [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")],
    "nnp": status["NoNewPrivs"], "seccomp": status["Seccomp"], "uid": status["Uid"].split(), "gid": status["Gid"].split(),
    "groups": [g for g in status["Groups"].split() if g != "65534"], "threads": status["Threads"],
    "writable": [p for p in ("/x", "/tmp/x", "/dev/x", "/dev/shm/x", "/usr/lib/x", "/etc/x", "/var/x") if writable(p)],
    "net": [line.split(":")[0].strip() for line in text("/proc/net/dev").splitlines()[2:]],
    "env": sorted(item.split("=")[0] for item in text("/proc/self/environ").split("\\0") if item),
}))
`;
    expect(await runPython(python)).toEqual({
      caps: [0, 0, 0, 0, 0],
      nnp: '1',
      seccomp: '2',
      uid: Array(4).fill('65534'),
      gid: Array(4).fill('65534'),
      groups: [],
      threads: '1',
      writable: [],
      net: ['lo'],
      // HOME, HOSTNAME and PATH are the engine's and cannot be left out.
      env: ['HOME', 'HOSTNAME', 'PATH', 'PYTHONHASHSEED', 'TZ'],
    });
  });

  test('a profile that kills at the first call off the list does kill', async () => {
    await expect(runPython('import posix\nposix.umask(0)', killingProfile())).rejects.toThrow('exit 159');
  });

  // test/bench/corpus-rounds.ts does this twenty times over.
  test(
    'every function of the corpora runs under such a profile',
    async () => {
      const cases = honestCases();
      expect(await runHonestly(cases, killingProfile(), AT_ONCE)).toEqual([]);
      expect(cases.length).toBeGreaterThan(200);
    },
    CORPUS_MAX_MS,
  );
});

describe('the image', () => {
  const docker = new Docker();

  test('is small, runs as nobody and has no setting but the fixed ones', async () => {
    const { Size, Config } = await docker.getImage(IMAGE).inspect();
    expect(Size).toBeLessThan(26e6);
    expect(Config.User).toBe('65534:65534');
    const env = Config.Env.filter((item: string) => !item.startsWith('PATH='));
    expect(env.sort()).toEqual(['PYTHONHASHSEED=0', 'TZ=UTC']);
  });

  test('holds one program and no source', async () => {
    const python = `
import posix, json
def walk(folder):
    for entry in posix.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            if entry.path not in ("/proc", "/sys", "/dev"): yield from walk(entry.path)
        elif not entry.is_symlink(): yield entry.path, entry.stat().st_mode
# What the engine puts into every container.
engine = {"/.dockerenv", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}
files = [file for file in walk("/") if file[0] not in engine]
run = [p for p, mode in files if mode & 0o111 and ".so" not in p and "ld-linux" not in p]
print(json.dumps({
    "programs": run,
    "source": [p for p, _ in files if p.endswith((".py", ".c", ".h", ".sh"))],
    "raised": [p for p, mode in files if mode & 0o6000],
    "dangerous": [p for p, _ in files if any(w in p for w in ("ctypes", "subprocess", "/pip", "ensurepip", "_ssl", "mmap"))],
}))
`;
    expect(await runPython(python)).toEqual({
      programs: [expect.stringMatching(/^\/usr\/bin\/python3\.13$/)],
      source: [],
      raised: [],
      dangerous: [],
    });
  });
});
