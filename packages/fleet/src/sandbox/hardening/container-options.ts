import { join } from 'node:path'
import type Dockerode from 'dockerode'
import type { SandboxSpec } from '../sandbox-spec.ts'
import { homeTag, sandboxHardening, sandboxName, spelledName } from '../sandbox-spec.ts'

/** Label keys on everything this product creates in an engine. */
export const labelKeys = {
  home: 'flotilla.home',
  role: 'flotilla.role',
  agent: 'flotilla.agent',
  kind: 'flotilla.kind',
  /** Label that stores the regular processor share (quota over period) of a container created with a start share. */
  ownShare: 'flotilla.cpu',
  /** Label of containers in which a virtual machine runs; the launcher reports how the machine ended. */
  machine: 'flotilla.machine',
} as const

/** What every agent container needs in addition to its spec. */
export interface ContainerGround {
  readonly homeId: string
  readonly image: string
  readonly network: { readonly name: string; readonly gateway: string }
  /** Value of the engine's `seccomp=` option. */
  readonly seccomp: string
  readonly ulimits: NonNullable<Dockerode.HostConfig['Ulimits']>
  readonly sysctls: Readonly<Record<string, string>>
  readonly logOptions: Dockerode.HostConfig['LogConfig']
  /** Whether the engine accepts a maximum number of files of a tmpfs. */
  readonly limitsTmpfsFiles: boolean
}

/**
 * Maximum number of files and folders in /tmp. An empty file counts nothing toward the size of /tmp but takes a
 * kilobyte of the container's memory, which stays in use after the kernel killed the program that created it.
 */
export const tmpFilesMax = 32_768

/**
 * Host threads that gVisor's kernel needs for one process of the agent, with a reserve: 8.5 were measured on the
 * ptrace platform. gVisor itself applies the limit of processes inside.
 */
const hostThreadsPerProcess = 16
/** What an agent's container needs to run with gVisor's kernel instead of the shared one. */
export interface GvisorGround {
  /** The runtime's name in the engine. */
  readonly runtime: string
  /** A Node that agents may read: gVisor does not run a program that its user may execute but not read. */
  readonly nodePath: string
  /** Value of the engine's `seccomp=` option. */
  readonly seccomp: string
}

/** Memory that gVisor's kernel needs in addition to the agent's limit. */
const gvisorOwnBytes = 96 * 1024 * 1024

/** Returns the hardening that all agents and the probe share; with `gvisor`, adapted to gVisor's kernel. Pure. */
export function hardenedHost(
  ground: ContainerGround,
  size: WallSize,
  gvisor: GvisorGround | null = null,
): Dockerode.HostConfig {
  const host = containerHost(ground, size)
  if (gvisor === null) return host
  const memory = size.memoryLimitBytes + gvisorOwnBytes
  return {
    ...host,
    SecurityOpt: ['no-new-privileges', `seccomp=${gvisor.seccomp}`],
    Runtime: gvisor.runtime,
    // Node is readable here: gVisor lets a program read only the memory of processes that it started itself.
    Mounts: [{ Type: 'bind', Source: gvisor.nodePath, Target: '/usr/local/bin/node', ReadOnly: true }],
    PidsLimit: size.pidsLimit * hostThreadsPerProcess,
    Memory: memory,
    MemorySwap: memory,
    // gVisor counts the processes of this sandbox alone; other agents with the same user id do not count.
    Ulimits: [...ground.ulimits, { Name: 'nproc', Soft: size.pidsLimit, Hard: size.pidsLimit }],
  }
}

/**
 * Added to the out-of-memory score of all processes of a container, in ‰ of all memory. Limits of agents together may be
 * larger than the memory of the machine: then the kernel ends builds first, then agents, and the mesh and the engine
 * last. The agent's own programs get more (`program-priority.ts`), and no process of a container can lower its score.
 */
export const killedFirst = { agent: 300, build: 800 } as const

function containerHost(ground: ContainerGround, size: WallSize): Dockerode.HostConfig {
  const filesAtMost = (files: number) => (ground.limitsTmpfsFiles ? `,nr_inodes=${files}` : '')
  return {
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges', `seccomp=${ground.seccomp}`],
    ReadonlyRootfs: true,
    PidsLimit: size.pidsLimit,
    Memory: size.memoryLimitBytes,
    MemorySwap: size.memoryLimitBytes,
    OomScoreAdj: killedFirst.agent,
    CpuPeriod: size.cpu.periodUs,
    CpuQuota: size.cpu.quotaUs,
    Tmpfs: {
      '/tmp': `rw,noexec,nosuid,nodev,mode=1777,size=${size.tmpSizeBytes}${filesAtMost(tmpFilesMax)}`,
      // Engines mount a message queue file system here. The kernel limits queues by user id across all
      // containers, and the seccomp filter cannot tell queue files from other files. This read-only tmpfs
      // replaces it.
      '/dev/mqueue': `ro,noexec,nosuid,nodev,mode=0555,size=4k${filesAtMost(1)}`,
    },
    Init: true,
    IpcMode: 'none',
    ReadonlyPaths: [...readonlyPaths],
    Privileged: false,
    PublishAllPorts: false,
    NetworkMode: ground.network.name,
    // The gateway refuses port 53 at once, so lookups fail quickly and never reach a resolver of the host.
    Dns: [ground.network.gateway],
    DnsSearch: ['.'],
    DnsOptions: ['timeout:1', 'attempts:1'],
    RestartPolicy: { Name: 'no' },
    LogConfig: ground.logOptions,
    Ulimits: [...ground.ulimits],
    Sysctls: { ...ground.sysctls },
  }
}

/**
 * The engine's default read-only paths, which this list replaces, and `/proc/1`. A container's first process runs a
 * readable program of the engine, so other programs of the agent's user could otherwise write to `/proc/1` and
 * choose which process the kernel kills first when memory runs out.
 */
export const readonlyPaths = [
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
  '/proc/1',
] as const

export type WallSize = Pick<SandboxSpec, 'memoryLimitBytes' | 'cpu' | 'pidsLimit' | 'tmpSizeBytes'>

/** Returns all options of an agent's container. Pure. */
export function containerOptions(
  ground: ContainerGround,
  spec: SandboxSpec,
  {
    limitedVolume = false,
    gvisor = null,
  }: { readonly limitedVolume?: boolean; readonly gvisor?: GvisorGround | null } = {},
): Dockerode.ContainerCreateOptions {
  const labels = agentLabels(ground.homeId, spec)
  const host = hardenedHost(ground, spec, gvisor)
  const largestFile = largestFileBytes(spec)
  return {
    name: sandboxName(ground.homeId, spec.agentId),
    Image: spec.image ?? ground.image,
    Cmd: [...agentCommand(spec.memoryLimitBytes)],
    Env: Object.entries({ ...spec.environment, ...fixedEnvironment }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    User: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
    WorkingDir: '/data',
    // The engine's name server resolves host names too, so a host name that others can guess reveals the address.
    Hostname: sandboxName(ground.homeId, spec.agentId),
    Labels: labels,
    // The mesh checks the agent's health itself; a health check of the engine would use the agent's CPU quota.
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      ...host,
      Ulimits: [...(host.Ulimits ?? []), { Name: 'fsize', Soft: largestFile, Hard: largestFile }],
      Mounts: [
        ...(host.Mounts ?? []),
        {
          Type: 'volume',
          Source: volumeName(ground.homeId, spec.agentId),
          Target: '/data',
          VolumeOptions: {
            // A volume of a fixed size already belongs to the agent's user, so nothing is copied into it.
            NoCopy: limitedVolume,
            Labels: volumeLabels(ground.homeId, spec.agentId),
            DriverConfig: { Name: 'local', Options: {} },
          },
        },
        { Type: 'bind', Source: spec.briefingDirectory, Target: '/briefing', ReadOnly: true },
        ...systemBundleMounts(spec),
      ],
    },
  }
}

/** Where programs of the image look for certificate authorities: most of them, and OpenSSL itself. */
const systemBundles = ['/etc/ssl/certs/ca-certificates.crt', '/usr/lib/ssl/cert.pem'] as const

/**
 * Mounts the list of certificate authorities that the environment names, if it is one of the bootstrap files, over the
 * list of the image, for programs that read no variable.
 */
function systemBundleMounts({ environment, briefingDirectory }: SandboxSpec) {
  const named = environment['SSL_CERT_FILE'] ?? ''
  if (!named.startsWith('/briefing/')) return []
  const Source = join(briefingDirectory, named.slice('/briefing/'.length))
  return systemBundles.map((Target) => ({ Type: 'bind' as const, Source, Target, ReadOnly: true }))
}

/** Returns the size of the largest file that a process may write: one file may fill /data or /tmp. Pure. */
export function largestFileBytes(spec: SandboxSpec): number {
  return Math.max(spec.dataLimitBytes, spec.tmpSizeBytes)
}

export function volumeName(homeId: string, agentId: string): string {
  return `${spelledName(homeId, agentId)}-data`
}

export function volumeLabels(homeId: string, agentId: string): Record<string, string> {
  return { [labelKeys.home]: homeTag(homeId), [labelKeys.role]: 'data', [labelKeys.agent]: agentId }
}

/**
 * Command line of every Node process in a container. Without the flag, any program of the same user could open the
 * inspector with a signal and read the memory. No variable of the environment can override the flag. The path is that of
 * all images, so that no other program named `node` runs in its place.
 */
export const guardedNode = ['/usr/local/bin/node', '--disable-sigusr1'] as const

/** Gives the JavaScript heap half of the memory; the other half is for Node itself and for the agent's programs. */
export function agentCommand(memoryLimitBytes: number): readonly string[] {
  const heapMb = Math.floor(memoryLimitBytes / 2 / (1024 * 1024))
  return [
    ...guardedNode,
    '--max-semi-space-size=1',
    `--max-old-space-size=${heapMb}`,
    '/opt/flotilla/agent.cjs',
  ]
}

/**
 * Environment of every agent. By default the C library keeps freed memory, in one arena per thread and up to a
 * growing limit. One arena and a fixed limit save an operator 10 of its 128 MB. Caches of package managers are below
 * `/data`, so that they survive a restart; Go runs programs from its folder for temporary files, and none runs from /tmp.
 */
export const fixedEnvironment = {
  HOME: '/data',
  NODE_COMPILE_CACHE: '/opt/flotilla/compile-cache',
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '131072',
  npm_config_cache: '/data/.npm',
  PIP_CACHE_DIR: '/data/.cache/pip',
  UV_CACHE_DIR: '/data/.cache/uv',
  CARGO_HOME: '/data/.cargo',
  GOPATH: '/data/go',
  GOTMPDIR: '/data',
} as const

export function agentLabels(homeId: string, spec: SandboxSpec): Record<string, string> {
  return {
    ...spec.labels,
    [labelKeys.home]: homeTag(homeId),
    [labelKeys.role]: 'agent',
    [labelKeys.agent]: spec.agentId,
    [labelKeys.kind]: spec.kind,
  }
}
