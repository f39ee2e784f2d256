import { programNicenessVariable } from '@flotilla/protocol/program-niceness'
import type Dockerode from 'dockerode'
import {
  fixedEnvironment,
  hardenedHost,
  readonlyPaths,
  tmpFilesMax,
  type ContainerGround,
  type WallSize,
} from '../hardening/container-options.ts'
import { programsPath } from '../packages/programs-path.ts'
import { sandboxHardening } from '../sandbox-spec.ts'
import { machineConfig } from './machine-config.ts'

/** What a virtual machine needs in addition to a container. */
export interface MachineGround {
  /** The image with QEMU and a kernel. */
  readonly image: string
  /** Path on the host of the read-only disk with the agents' root file system. */
  readonly rootDisk: string
  /** The KVM device; null for software emulation. */
  readonly kvm: { readonly device: string; readonly group: number } | null
  /** `host:port` of each listener of the mesh; agents can reach nothing else. */
  readonly meshAddresses: readonly string[]
}

/** The task of a machine. */
export interface MachineWork {
  /** `read` prints an archive of the disk and ends; the machine changes nothing on the disk and has no network. */
  readonly mode: 'run' | 'read'
  readonly args: readonly string[]
  /** Variables as `NAME=value`, in addition to the environment of every agent. */
  readonly environment: Readonly<Record<string, string>>
  readonly hostName: string
  /** Resource limits by name; each value is both the soft and the hard limit. */
  readonly limits: Readonly<Record<string, number>>
  readonly disk: MachineDisk | null
  readonly briefingDirectory: string | null
  /** An archive that the machine unpacks below `/data`; null for none. */
  readonly files: Buffer | null
}

export interface MachineDisk {
  readonly path: string
  readonly fileBytes: number
  /** New size of the disk's file system in blocks of 4 KB; 0 keeps the current size. */
  readonly blocks: number
}

/** The image, the environment and the walls of the container in which a virtual machine runs. */
export interface MachineContainer {
  readonly image: string
  readonly command: readonly string[]
  readonly env: readonly string[]
  readonly host: Dockerode.HostConfig
}

const mb = 1024 * 1024
/** Memory for the machine's kernel, first process and tmpfs, in addition to the agent's limit. */
const kernelBytes = 112 * mb
/** Memory for QEMU in addition to the machine's memory: QEMU's own code and the code that it translates. */
const emulatorBytes = 192 * mb
/** Limit for QEMU: its threads, and one process for each connection to the mesh. */
const emulatorProcesses = 256
/** The size of the /run folder of a virtual machine's container, in bytes. */
const runSizeBytes = 48 * mb

const launcher = ['/machine/launch.sh']

/**
 * Returns the container around QEMU, with every wall and only what QEMU needs; the agent's walls are inside. Pure.
 */
export function machineContainer(
  { ground, machine, size }: { ground: ContainerGround; machine: MachineGround; size: WallSize },
  work: MachineWork,
): MachineContainer {
  const walls = hardenedHost(ground, size)
  const memory = size.memoryLimitBytes + kernelBytes + emulatorBytes
  const { kvm } = machine
  const largestFile = Math.max(runSizeBytes, work.disk?.fileBytes ?? 0)
  return {
    image: machine.image,
    command: launcher,
    env: Object.entries({
      MACHINE_MODE: work.mode,
      MACHINE_CONFIG: configOf(ground, size, work),
      MACHINE_FILES: work.files?.toString('base64') ?? '',
      MACHINE_SETTINGS: settingsOf(size, work),
      MACHINE_MEMORY_MB: Math.ceil((size.memoryLimitBytes + kernelBytes) / mb),
      MACHINE_DOORS: machine.meshAddresses.join(' '),
      MACHINE_PORT: sandboxHardening.agentPort,
      MACHINE_ACCELERATION: kvm === null ? 'tcg' : 'kvm',
    }).map(([name, value]) => `${name}=${value}`),
    host: {
      ...walls,
      ...(work.mode === 'read' ? { NetworkMode: 'none', Dns: [], DnsOptions: [], DnsSearch: [] } : {}),
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: emulatorProcesses,
      // Limits the size of files: an attacker in control of QEMU could otherwise fill the host's disk.
      Ulimits: [...(walls.Ulimits ?? []), { Name: 'fsize', Soft: largestFile, Hard: largestFile }],
      Tmpfs: {
        '/run': `rw,noexec,nosuid,nodev,mode=0700,uid=${sandboxHardening.uid},size=${runSizeBytes},nr_inodes=1024`,
        '/dev/mqueue': walls.Tmpfs?.['/dev/mqueue'] ?? '',
      },
      ...(kvm === null
        ? {}
        : {
            Devices: [{ PathOnHost: kvm.device, PathInContainer: '/dev/kvm', CgroupPermissions: 'rw' }],
            GroupAdd: [String(kvm.group)],
          }),
      Mounts: [
        bind(machine.rootDisk, '/machine/root.ext4', true),
        ...(work.disk ? [bind(work.disk.path, '/machine/disk', work.mode === 'read')] : []),
        ...(work.briefingDirectory ? [bind(work.briefingDirectory, '/machine/briefing', true)] : []),
      ],
    },
  }
}

function configOf(ground: ContainerGround, size: WallSize, work: MachineWork): string {
  return machineConfig({
    args: work.args,
    env: Object.entries({ PATH: programsPath, ...leastWeight, ...work.environment, ...fixedEnvironment }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    hostName: work.hostName,
    uid: sandboxHardening.uid,
    tmp: { sizeBytes: size.tmpSizeBytes, filesMax: tmpFilesMax },
    limits: work.limits,
    seccomp: ground.seccomp,
    readonlyPaths,
    hasData: work.disk !== null,
    hasBriefing: work.briefingDirectory !== null,
  })
}

/** Gives programs the lowest priority: with software emulation, a hundred of them would prevent the heartbeat. */
const leastWeight = { [programNicenessVariable]: '19' }

/** Returns the machine's settings. A shell reads them, so the values are only numbers and digests. */
function settingsOf(size: WallSize, work: MachineWork): string {
  return Object.entries({
    AGENT_MEMORY: size.memoryLimitBytes,
    AGENT_PROCESSES: size.pidsLimit,
    DISK_BLOCKS: work.disk?.blocks ?? 0,
    BRIEFING: work.briefingDirectory === null ? 0 : 1,
    HOST_NAME: work.hostName,
  })
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')
}

function bind(source: string, target: string, readOnly: boolean) {
  return { Type: 'bind' as const, Source: source, Target: target, ReadOnly: readOnly }
}
