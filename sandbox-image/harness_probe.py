"""What a container looks like from inside: read once, in a container that never sees anything of a request.

Facts only; the service judges them. Whoever changes one changes `src/sandbox/self-test.ts`.
"""

import _socket
import _thread
import errno
import posix
import resource

# A socket family beyond these is new to the kernel, not to the profile: it refuses the call whatever the family.
FAMILIES = range(46)
KINDS = (1, 2, 3)  # stream, datagram, raw
WRITE_PLACES = ("/", "/tmp", "/var/tmp", "/run", "/dev", "/dev/shm", "/dev/mqueue", "/etc", "/usr/lib", "/home", "/proc", "/sys")
ZONE = "/usr/share/zoneinfo/Europe/Berlin"
STEP_BYTES = 8 << 20


def read(path, most=1 << 20):
    """A file's first bytes, or None where it cannot be read."""
    try:
        fd = posix.open(path, posix.O_RDONLY)
    except OSError:
        return None
    pieces = []
    try:
        while most > 0 and (piece := posix.read(fd, min(most, 1 << 16))):
            pieces.append(piece)
            most -= len(piece)
    except OSError:
        return None
    finally:
        posix.close(fd)
    return b"".join(pieces)


def text(path):
    content = read(path)
    return None if content is None else content.decode("utf-8", "replace").strip()


def status():
    lines = (text("/proc/self/status") or "").splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return {
        "capabilities": {name: fields.get(name, "").strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
        "no_new_privileges": fields.get("NoNewPrivs", "").strip(),
        "seccomp": fields.get("Seccomp", "").strip(),
        "uids": fields.get("Uid", "").split(),
        "gids": fields.get("Gid", "").split(),
        "groups": fields.get("Groups", "").split(),
    }


def creates(place):
    try:
        posix.open(f"{place}/probe", posix.O_WRONLY | posix.O_CREAT, 0o600)
        return True
    except OSError:
        return False


def mounts():
    """Each mount's place, type and whether it can be written."""
    found = []
    for line in (text("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        found.append({"place": fields[4], "type": after.split(" ")[0], "writable": "ro" not in fields[5].split(",")})
    return found


def environment():
    """Every name; values of the two that are asked for."""
    pairs = [item.partition("=") for item in (read("/proc/self/environ") or b"").decode("utf-8", "replace").split("\0") if item]
    return {name: value if name in ("PYTHONHASHSEED", "TZ") else "" for name, _, value in pairs}


def open_families():
    """Families of which a socket is not refused with EPERM. Another refusal is the kernel's: the call got through."""
    found = set()
    for family in FAMILIES:
        for kind in KINDS:
            try:
                _socket.socket(family, kind, 0)
            except OSError as error:
                if error.errno == errno.EPERM:
                    continue
            found.add(family)
    return sorted(found)


def fork():
    if posix.fork() == 0:
        posix._exit(0)


CALLS = {
    "fork": fork,
    "spawn": lambda: posix.posix_spawn("/usr/bin/python3", ["python3", "-c", ""], {}),
    "thread": lambda: _thread.start_new_thread(int, ()),
    "memfd": lambda: posix.memfd_create("probe"),
    "namespace": lambda: posix.unshare(posix.CLONE_NEWUSER),
    "pipe": lambda: posix.pipe(),
    "kill": lambda: posix.kill(1, 0),
}


def open_calls():
    found = []
    for name, call in CALLS.items():
        try:
            call()
        except RuntimeError:
            continue  # how _thread says that the system refused
        except OSError as error:
            if error.errno == errno.EPERM:
                continue
        found.append(name)
    return found


def limits():
    kinds = {"core": resource.RLIMIT_CORE, "nofile": resource.RLIMIT_NOFILE, "fsize": resource.RLIMIT_FSIZE, "cpu": resource.RLIMIT_CPU}
    return {name: list(resource.getrlimit(kind)) for name, kind in kinds.items()}


def control_group():
    """Limits as the control group's files have them, in version 1 or 2; None where there is no such file."""
    v1, v2 = "/sys/fs/cgroup/", "/sys/fs/cgroup/"
    quota, period = text(v1 + "cpu/cpu.cfs_quota_us"), text(v1 + "cpu/cpu.cfs_period_us")
    return {
        "memory": text(v1 + "memory/memory.limit_in_bytes") or text(v2 + "memory.max"),
        "memory_and_swap": text(v1 + "memory/memory.memsw.limit_in_bytes"),
        "swap": text(v2 + "memory.swap.max"),
        "pids": text(v1 + "pids/pids.max") or text(v2 + "pids.max"),
        "cpu": f"{quota} {period}" if quota and period else text(v2 + "cpu.max"),
    }


def is_seen(path):
    """Whether a path has anything to read: a file's content, a folder's entries."""
    try:
        return bool(posix.listdir(path))
    except NotADirectoryError:
        return bool(read(path, 1))
    except OSError:
        return False


def is_writable_mount(path):
    try:
        return not posix.statvfs(path).f_flag & posix.ST_RDONLY
    except OSError:
        return False


def names(path):
    try:
        return sorted(posix.listdir(path))
    except OSError:
        return []


def facts(hidden, sealed):
    """Everything at once; `hidden` and `sealed` are paths that should show nothing and be mounted read-only."""
    interfaces = [line.partition(":")[0].strip() for line in (text("/proc/net/dev") or "").splitlines()[2:]]
    return {
        **status(),
        "pid": posix.getpid(),
        "host_name": posix.uname().nodename,
        "root_writable": is_writable_mount("/"),
        "created": [place for place in WRITE_PLACES if creates(place)],
        "mounts": mounts(),
        "devices": names("/dev"),
        "interfaces": interfaces,
        "environment": environment(),
        "open_families": open_families(),
        "open_calls": open_calls(),
        "limits": limits(),
        "control_group": control_group(),
        "seen": [path for path in hidden if is_seen(path)],
        "unsealed": [path for path in sealed if is_writable_mount(path)],
        "zone_data": (read(ZONE, 4) or b"") == b"TZif",
    }


def allocate(size):
    """Writes to so many bytes of new memory. Returns only where no limit is in force."""
    held = []
    while size > 0:
        held.append(bytearray(min(size, STEP_BYTES)))
        size -= STEP_BYTES
