import * as z from 'zod'

/** The program that runs in a virtual machine, and its limits. */
export interface MachineProgram {
  readonly args: readonly string[]
  /** `NAME=value`. */
  readonly env: readonly string[]
  readonly hostName: string
  readonly uid: number
  readonly tmp: { readonly sizeBytes: number; readonly filesMax: number }
  /** Resource limits by name; each value is both the soft and the hard limit. */
  readonly limits: Readonly<Record<string, number>>
  /** The container's filter of system calls, as JSON. */
  readonly seccomp: string
  readonly readonlyPaths: readonly string[]
  readonly hasData: boolean
  readonly hasBriefing: boolean
}

const profileSchema = z.looseObject({ syscalls: z.array(z.unknown()) })

const closedFolder = ['ro', 'noexec', 'nosuid', 'nodev']
const ownFolder = ['rw', 'noexec', 'nosuid', 'nodev', 'mode=1777']

/** Paths that the container inside the machine masks, as container engines do. */
const maskedPaths = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
]

const noCapabilities = { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] }

/**
 * Returns the OCI configuration of the container inside the virtual machine. The kernel there is the agent's own, but
 * the agent's programs are isolated from that kernel all the same. Source paths are those of the machine's first
 * process (`images/machine/init.sh`). Pure.
 */
export function machineConfig(program: MachineProgram): string {
  const { sizeBytes, filesMax } = program.tmp
  const mounts = [
    mount('/proc', 'proc', ['nosuid', 'noexec', 'nodev']),
    mount('/dev', 'tmpfs', ['nosuid', 'strictatime', 'mode=755', 'size=65536k']),
    mount('/dev/pts', 'devpts', ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620']),
    mount('/dev/mqueue', 'tmpfs', [...closedFolder, 'mode=0555', 'size=4k', 'nr_inodes=1']),
    mount('/sys', 'sysfs', closedFolder),
    mount('/tmp', 'tmpfs', [...ownFolder, `size=${sizeBytes}`, `nr_inodes=${filesMax}`]),
    bind('/dev/init', '/bin/tini-static', ['ro', 'nosuid', 'nodev']),
    ...['hosts', 'hostname', 'resolv.conf'].map((name) => bind(`/etc/${name}`, `/run/${name}`, closedFolder)),
    ...(program.hasData ? [bind('/data', '/data', ['rw', 'nosuid', 'nodev'])] : []),
    ...(program.hasBriefing ? [bind('/briefing', '/briefing', closedFolder)] : []),
  ]
  return JSON.stringify({
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: program.uid, gid: program.uid },
      args: ['/dev/init', '--', ...program.args],
      env: program.env,
      cwd: program.hasData ? '/data' : '/',
      capabilities: noCapabilities,
      rlimits: Object.entries(program.limits).map(([name, value]) => ({
        type: `RLIMIT_${name.toUpperCase()}`,
        hard: value,
        soft: value,
      })),
      noNewPrivileges: true,
    },
    root: { path: '/agent', readonly: true },
    hostname: program.hostName,
    mounts,
    linux: {
      namespaces: ['pid', 'mount', 'ipc', 'uts', 'cgroup'].map((type) => ({ type })),
      cgroupsPath: '/agent/inside',
      resources: { devices: [{ allow: false, access: 'rwm' }] },
      maskedPaths,
      readonlyPaths: program.readonlyPaths,
      seccomp: profileSchema.parse(JSON.parse(program.seccomp)),
    },
  })
}

function mount(destination: string, type: string, options: readonly string[]) {
  return { destination, type, source: type, options }
}

function bind(destination: string, source: string, options: readonly string[]) {
  return { ...mount(destination, 'bind', ['bind', ...options]), source }
}
