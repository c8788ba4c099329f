import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SANDBOX_IMAGE_FOLDER } from '../../../src/sandbox/image.ts';

interface Profile {
  readonly defaultAction: string;
  readonly defaultErrnoRet: number;
  readonly archMap: readonly {
    readonly architecture: string;
    readonly subArchitectures: readonly string[];
  }[];
  readonly syscalls: readonly {
    readonly names: readonly string[];
    readonly action: string;
    readonly comment: string;
    readonly args?: readonly { readonly index: number; readonly value: number; readonly op: string }[];
  }[];
}
const profile: Profile = JSON.parse(readFileSync(`${SANDBOX_IMAGE_FOLDER}seccomp.json`, 'utf8'));
const allowed = profile.syscalls.flatMap((group) => group.names);

const FORBIDDEN = `
socket socketpair socketcall connect accept accept4 bind listen sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg
getsockopt setsockopt shutdown
clone clone3 fork vfork execveat
ptrace process_vm_readv process_vm_writev kcmp pidfd_open pidfd_getfd pidfd_send_signal kill tkill
io_uring_setup io_uring_enter io_uring_register io_setup io_submit
memfd_create memfd_secret userfaultfd bpf perf_event_open seccomp keyctl add_key request_key
mount umount umount2 pivot_root chroot move_mount open_tree fsopen fsmount fsconfig mount_setattr setns unshare
init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff
mknod mknodat symlink symlinkat link linkat mkdir mkdirat rename renameat renameat2 unlink unlinkat rmdir
chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimensat setxattr truncate ftruncate fallocate
name_to_handle_at open_by_handle_at quotactl acct settimeofday clock_settime adjtimex sethostname setdomainname
setpriority sched_setattr sched_setaffinity sched_setscheduler mbind set_mempolicy migrate_pages move_pages
modify_ldt iopl ioperm personality shmget shmat semget msgget mq_open splice tee vmsplice sendfile copy_file_range
fanotify_init inotify_init inotify_init1 eventfd eventfd2 signalfd signalfd4 timerfd_create pipe pipe2 setrlimit
landlock_create_ruleset syslog lookup_dcookie nfsservctl vhangup
`
  .trim()
  .split(/\s+/);

test('the profile refuses with an error whatever it does not list', () => {
  expect(profile.defaultAction).toBe('SCMP_ACT_ERRNO');
  expect(profile.defaultErrnoRet).toBe(1);
  expect(new Set(profile.syscalls.map((group) => group.action))).toEqual(new Set(['SCMP_ACT_ALLOW']));
});

test.each(FORBIDDEN)('the profile does not list %s', (name) => {
  expect(allowed).not.toContain(name);
});

test('the profile knows the 64-bit calls of amd64 and arm64 only, no x32, no 32-bit ones', () => {
  expect(profile.archMap).toEqual([
    { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
    { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
  ]);
});

test('the profile lets nobody end with a code that says a signal did it, and looks at no other argument', () => {
  const looking = profile.syscalls.filter(({ args }) => args !== undefined);
  expect(looking.map(({ names, args }) => ({ names, args }))).toEqual([
    { names: ['exit', 'exit_group'], args: [{ index: 0, value: 127, op: 'SCMP_CMP_LE' }] },
  ]);
});

test('the profile says of every group why it is there, and lists a call once', () => {
  for (const group of profile.syscalls) expect(group.comment.length).toBeGreaterThan(20);
  expect(new Set(allowed).size).toBe(allowed.length);
  // The engine's own list has some 350; a longer one than this has grown without anybody looking.
  expect(allowed.length).toBeLessThan(95);
});
