import type Dockerode from 'dockerode'
import type { SandboxSpec } from '../sandbox-spec.ts'
import { homeTag, sandboxHardening, sandboxName, spelledName } from '../sandbox-spec.ts'

/** Label keys on everything this product creates in an engine. */
export const labelKeys = {
  home: 'flotilla.home',
  role: 'flotilla.role',
  agent: 'flotilla.agent',
  kind: 'flotilla.kind',
  /** Label with the own processor share (quota over period) of a container that was created with its start share. */
  ownShare: 'flotilla.cpu',
  /** Label of containers in which a machine runs; the launcher reports how the machine ended. */
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
}

/**
 * Maximum number of files and folders in /tmp. An empty file counts nothing toward the size of /tmp but takes a
 * kilobyte of the container's memory, which stays in use after the kernel killed the program that created it.
 */
export const tmpFilesMax = 32_768

/**
 * Host threads that gVisor's kernel needs for one process of the agent, with reserve: measured were 8.5 where it uses
 * ptrace. The limit of processes itself applies inside.
 */
const hostThreadsPerProcess = 16
/** What replaces the shared kernel for agents under gVisor. */
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

/** The hardening alone, the same for every agent and the probe; with gVisor, behind its kernel. Pure. */
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
    // gVisor's kernel lets a program read only the memory of processes that it started itself.
    Mounts: [{ Type: 'bind', Source: gvisor.nodePath, Target: '/usr/local/bin/node', ReadOnly: true }],
    PidsLimit: size.pidsLimit * hostThreadsPerProcess,
    Memory: memory,
    MemorySwap: memory,
    // gVisor's own kernel counts the processes, so other agents with the same user id do not count.
    Ulimits: [...ground.ulimits, { Name: 'nproc', Soft: size.pidsLimit, Hard: size.pidsLimit }],
  }
}

function containerHost(ground: ContainerGround, size: WallSize): Dockerode.HostConfig {
  return {
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges', `seccomp=${ground.seccomp}`],
    ReadonlyRootfs: true,
    PidsLimit: size.pidsLimit,
    Memory: size.memoryLimitBytes,
    MemorySwap: size.memoryLimitBytes,
    CpuPeriod: size.cpu.periodUs,
    CpuQuota: size.cpu.quotaUs,
    Tmpfs: {
      '/tmp': `rw,noexec,nosuid,nodev,mode=1777,size=${size.tmpSizeBytes},nr_inodes=${tmpFilesMax}`,
      // Engines mount a message queue file system here. The kernel limits queues by user id across all
      // containers, and the seccomp filter cannot tell queue files from other files. This read-only tmpfs
      // replaces it.
      '/dev/mqueue': 'ro,noexec,nosuid,nodev,mode=0555,size=4k,nr_inodes=1',
    },
    Init: true,
    IpcMode: 'none',
    ReadonlyPaths: [...readonlyPaths],
    Privileged: false,
    PublishAllPorts: false,
    NetworkMode: ground.network.name,
    // The gateway refuses port 53 at once: lookups fail quickly, and no resolver of the host is used.
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
 * Read-only paths of the engine, which this list replaces, and the files in which the first process of a
 * container describes itself. Its program belongs to the engine and is readable, so other programs of its
 * user could otherwise choose which process the kernel kills first.
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

/** All options of an agent's container. Pure. */
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
    Image: ground.image,
    Cmd: [...agentCommand(spec.memoryLimitBytes)],
    Env: Object.entries({ ...spec.environment, ...fixedEnvironment }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    User: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
    WorkingDir: '/data',
    // The engine's name server also resolves host names; a shared one would reveal the addresses of all agents.
    Hostname: sandboxName(ground.homeId, spec.agentId),
    Labels: labels,
    // The mesh checks the health itself; an engine's check would use the agent's CPU quota.
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
      ],
    },
  }
}

/** The largest file that a process may write, in /data or in /tmp: one file may fill either. Pure. */
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
 * Command line of every Node process in a container. Without the flag, any program of the same user could
 * open the inspector, and so the memory, with a signal. The command line takes precedence over the
 * environment.
 */
export const guardedNode = ['node', '--disable-sigusr1'] as const

/** Half of the memory for the JavaScript heap; the rest is for the runtime itself and for the agent's programs. */
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
 * The C library keeps freed memory in an arena for each thread, which a tenth of a core has no use for, and below a
 * limit that grows: one arena and a fixed limit leave an operator 10 of its 128 MB.
 */
export const fixedEnvironment = {
  HOME: '/data',
  NODE_COMPILE_CACHE: '/opt/flotilla/compile-cache',
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '131072',
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
