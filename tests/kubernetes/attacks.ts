/** An attack that a program tries in its own pod, and the output that shows that the isolation holds. */
export interface LocalAttack {
  readonly what: string
  readonly command: string
  readonly held: RegExp
}

const python = (text: string) => `python3 - <<'END'\n${text.trim()}\nEND`

export const localAttacks: readonly LocalAttack[] = [
  {
    what: 'find a service account token',
    command:
      'ls -d /var/run/secrets /run/secrets /var/run/secrets/kubernetes.io 2>&1 | grep -v "No such file"; grep -rls "eyJhbGciOi" /run /var/run /once /briefing /data 2>/dev/null; echo over',
    held: /^over$/,
  },
  {
    what: 'write to the root file system',
    command:
      'for p in /x /etc/x /usr/bin/x /opt/flotilla/agent.cjs /briefing/x /proc/sys/kernel/hostname /sys/x; do (echo x > $p) 2>&1 | sed "s/.*: //"; done | sort | uniq -c',
    held: /^(?:\s*\d+ (?:Read-only file system|Permission denied|Directory nonexistent)\s*)+$/,
  },
  {
    what: 'run a program from /tmp, /dev/shm or /dev',
    command:
      'for d in /tmp /dev/shm /dev; do cp /bin/true $d/t 2>/dev/null && { $d/t; echo "$d $?"; rm -f $d/t; } || echo "$d no"; done 2>/dev/null; cp /bin/true /data/t; /data/t && echo control ran',
    held: /^\/tmp (?:126|no)\n\/dev\/shm (?:126|no)\n\/dev (?:126|no)\ncontrol ran$/,
  },
  {
    what: 'have a capability, gain one, or find a file that gives one',
    command:
      'grep -E "Cap|NoNewPrivs|Seccomp:" /proc/self/status | tr -s "\\t\\n" "  "; find / -xdev -perm /6000 -type f 2>/dev/null | wc -l',
    held: /^(?:Cap\w+: 0{16} ){5}NoNewPrivs: 1 Seccomp: 2 \s*0$/,
  },
  {
    what: 'open a raw, packet, vsock or kernel crypto socket',
    command: python(`
import socket
for name, args in (('raw', (2, 3, 1)), ('packet', (17, 3, 3)), ('vsock', (40, 1, 0)), ('crypto', (38, 5, 0))):
    try: socket.socket(*args); print(name, 'opened')
    except OSError as e: print(name, 'refused', e.errno)
`),
    held: /^raw refused \d+\npacket refused \d+\nvsock refused \d+\ncrypto refused \d+$/,
  },
  {
    what: 'mount, change root, make namespaces or a device',
    command: python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def told(name, failed): print(name, 'refused %d' % ctypes.get_errno() if failed else 'DONE')
told('mount', libc.mount(b'proc', b'/data', b'proc', 0, None) != 0)
told('unshare-user', libc.unshare(0x10000000) != 0)
told('unshare-net', libc.unshare(0x40000000) != 0)
told('chroot', libc.chroot(b'/data') != 0)
told('setuid', libc.setuid(0) != 0)
try: os.mknod('/data/loop', 0o660 | 0o060000, os.makedev(7, 0)); print('mknod DONE')
except OSError as e: print('mknod refused', e.errno)
`),
    held: /^(?:[\w-]+ refused \d+\n?){6}$/,
  },
  {
    what: 'change its control group or what the node runs at an end',
    command:
      'for f in $(find /sys/fs/cgroup -maxdepth 3 \\( -name release_agent -o -name cgroup.procs -o -name memory.max -o -name memory.limit_in_bytes -o -name cpu.max -o -name cpu.cfs_quota_us \\) 2>/dev/null | head -40); do (echo 1 > $f) 2>/dev/null && echo "WRITTEN $f"; done; echo over',
    held: /^over$/,
  },
  {
    what: 'see processes of the node or of other pods',
    command: 'ps -e -o comm= | sort -u | tr "\\n" " "; ls /proc | grep -c "^[0-9]"',
    held: /^(?!.*(?:kubelet|containerd|kube-|etcd|systemd|dockerd))[^]*\b\d{1,2}$/,
  },
  {
    what: "read the agent's own memory, environment or token",
    command: python(`
import os
pids = [p for p in os.listdir('/proc') if p.isdigit() and 'agent.cjs' in open('/proc/%s/cmdline' % p).read() and open('/proc/%s/comm' % p).read().startswith('node')]
def told(name, work):
    try: work(); print(name, 'DONE')
    except OSError as e: print(name, 'refused', e.errno)
for pid in pids[:1]:
    told('memory', lambda: open('/proc/%s/mem' % pid, 'rb').read(1))
    told('environment', lambda: open('/proc/%s/environ' % pid, 'rb').read(1))
    told('files', lambda: os.listdir('/proc/%s/fd' % pid))
print('agents', len(pids))
`),
    held: /^memory refused \d+\nenvironment refused \d+\nfiles refused \d+\nagents 1$/,
  },
  {
    what: 'find a socket of the node’s container runtime or kubelet',
    command:
      'find / -xdev -type s 2>/dev/null | grep -v "^/proc" | head; ls /var/lib/kubelet /run/containerd 2>&1 | grep -vc "No such file"',
    held: /^0$/,
  },
  {
    what: 'make a message queue',
    command: python(`
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print('call', 'refused' if libc.mq_open(b'/call', os.O_CREAT | os.O_RDWR, 0o600, None) < 0 else 'DONE')
try: os.open('/dev/mqueue/opened', os.O_CREAT | os.O_RDWR, 0o600); print('open DONE')
except OSError as e: print('open refused')
`),
    held: /^call refused\nopen refused$/,
  },
  {
    what: 'speak IPv6, or ask for a name of the outside or of the cluster',
    command:
      'grep -vc " lo$" /proc/net/if_inet6 2>/dev/null || echo 0; for n in example.com kubernetes.default.svc.cluster.local; do getent hosts $n >/dev/null; echo "$n $?"; done',
    held: /^0\n(?:0\n)?example\.com 2\nkubernetes\.default\.svc\.cluster\.local 2$/,
  },
]

/**
 * Differences between a pod and a local container: `/tmp` is smaller, and only the pod's memory bounds the number
 * of its files.
 */
export const exhaustionBounds: ReadonlyMap<string, RegExp> = new Map([
  ['memory through /tmp and /dev/shm', /6[67]\d{6}\s*$/],
  ['inodes of /tmp', /made \d+/],
  // The number of inodes that a volume of the test cluster has.
  ['inodes of /data', /refused after 32\d{3} 28/],
])

/** The output of a command, without the first line that the tool adds. */
export function saidBy(text: string): string {
  return text.replace(/^exit code \d+\n/, '').trim()
}

/** The output shortened to one line of the table. */
export function attackWords(text: string): string {
  return saidBy(text)
    .replaceAll(/\s*\n\s*/g, '; ')
    .replaceAll('|', '/')
    .slice(0, 240)
}
