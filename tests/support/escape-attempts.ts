import type { SandboxState } from '../../packages/fleet/src/sandbox/sandbox-runtime.ts'
import { subjectHands } from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'

/** Attempts to escape from a sandbox through the kernel, by name, as Python code. Each prints its outcome. */
const attempts: Readonly<Record<string, string>> = {
  'trace the first process': 'call(101, 16, 1, 0, 0)',
  'trace the agent': 'call(101, 16, agent, 0, 0)',
  'read memory of the agent': "open(f'/proc/{agent}/mem','rb').read(1)",
  'read environment of the agent': "open(f'/proc/{agent}/environ','rb').read(1)",
  'read environment of the first process': "open('/proc/1/environ','rb').read(1)",
  'make an io_uring': 'call(425, 8, ctypes.create_string_buffer(256))',
  'handle page faults': 'call(323, 0)',
  'keep keys in the kernel': "call(248, b'user', b'k', b'v', 1, -3)",
  'load a BPF program': 'call(321, 5, ctypes.create_string_buffer(128), 128)',
  'count events of the machine': 'call(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)',
  'make a user namespace': 'call(272, 0x10000000)',
  'make a mount namespace': 'call(272, 0x00020000)',
  'join the namespace of the first process': "call(308, os.open('/proc/1/ns/mnt', 0), 0)",
  'mount a file system': "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)",
  'mount the new way': "call(430, b'tmpfs', 0)",
  'change the root': "call(161, b'/data')",
  'make a device': "call(133, b'/data/disk', 0o60600, 0x800)",
  'load a kernel module': "call(175, b'', 0, b'')",
  'load another kernel': 'call(246, 0, 0, 0, 0)',
  'open a file by its handle': 'call(304, -100, ctypes.create_string_buffer(64), 0)',
  'read the kernel log': 'call(103, 3, ctypes.create_string_buffer(64), 64)',
  'set the clock': 'call(164, ctypes.create_string_buffer(16), 0)',
  'name the machine': "call(170, b'x', 1)",
  'restart the machine': 'call(169, 0xfee1dead, 672274793, 0x1234567)',
  'reach ports of the processor': 'call(172, 3)',
  'send raw packets': 'socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)',
  'read packets of the network': 'socket.socket(17, socket.SOCK_RAW, 3)',
  'speak to a hypervisor': 'socket.socket(40, socket.SOCK_STREAM, 0).connect((2, 22))',
  'become root': 'os.setuid(0)',
  'write a program that makes root': "open('/data/p','w').close(); os.chown('/data/p', 0, 0)",
  'set what runs at a crash': "open('/proc/sys/kernel/core_pattern','w').write('|/data/p')",
  'press a magic key': "open('/proc/sysrq-trigger','w').write('c')",
  'read memory of the machine': "open('/dev/mem','rb').read(1)",
  // A masked /proc/kcore can be read and is empty.
  'read memory of the kernel': "open('/proc/kcore','rb').read(1) or os.stat('/proc/nothing')",
  'open a disk of the machine': "open('/dev/sda','rb').read(1)",
  'open a virtual machine': "open('/dev/kvm','rb').read(1)",
  'set limits of its control group': "open('/sys/fs/cgroup/memory/memory.limit_in_bytes','w').write('-1')",
  'let its control group call a program': "open('/sys/fs/cgroup/memory/release_agent','w').write('/data/p')",
  'speak to the container engine': "socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')",
  'write into the root file system': "open('/usr/bin/x','w')",
  'write into the briefing': "open('/briefing/x','w')",
}

/** Error names that count as a refusal; any other outcome means that the attempt succeeded. */
const refusals = new Set(
  'EPERM EACCES ENOSYS EROFS ENOENT ENODEV ENXIO ECONNREFUSED EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT EINVAL EOPNOTSUPP'.split(
    ' ',
  ),
)

export interface EscapeOutcome {
  readonly attempt: string
  /** Name of an errno, or `done`. */
  readonly outcome: string
  readonly held: boolean
}

const program = `
import ctypes, errno, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
# The agent is the Node that a shell of this program's was started by.
agent = os.getppid()
while not open(f'/proc/{agent}/comm').read().startswith(('node', 'MainThread')):
    agent = int(open(f'/proc/{agent}/stat').read().rsplit(')', 1)[1].split()[1])
def call(number, *values):
    ctypes.set_errno(0)
    if libc.syscall(number, *values) == -1: raise OSError(ctypes.get_errno(), 'refused')
def outcome(action):
    child, parent = os.pipe()
    if os.fork() == 0:
        try:
            exec(action)
            said = 'done'
        except OSError as error:
            said = errno.errorcode.get(error.errno, str(error.errno))
        except BaseException as error:
            said = type(error).__name__
        os.write(parent, said.encode())
        os._exit(0)
    os.close(parent)
    said = os.read(child, 100).decode()
    os.close(child)
    os.wait()
    return said or 'killed'
print(json.dumps({name: outcome(action) for name, action in json.loads(open('/data/attempts').read()).items()}))
`

/** Makes all attempts, one after the other, inside a sandbox that runs the subject. */
export async function tryEscapes(state: SandboxState): Promise<readonly EscapeOutcome[]> {
  await subjectHands.writeFile(state, 'attempts', JSON.stringify(attempts))
  await subjectHands.writeFile(state, 'escape.py', program)
  const { text } = await subjectHands.run(state, 'python3 /data/escape.py')
  const outcomes = JSON.parse(text.trim().split('\n').at(-1) ?? '') as Record<string, string>
  return Object.entries(outcomes).map(([attempt, outcome]) => ({
    attempt,
    outcome,
    // A process that was killed for its attempt did not succeed either.
    held: refusals.has(outcome) || outcome === 'killed',
  }))
}
