import { guardedNode, labelKeys, type ContainerGround } from '../hardening/container-options.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { findKvm } from '../engine/find-kvm.ts'
import type { ImageOptions } from '../image/ensure-image.ts'
import { ensureMachineImage } from '../image/machine-image.ts'
import { runOnce } from '../engine/run-once.ts'
import { reasonOf } from '../sandbox-error.ts'
import type { DataBound, RungTrial } from '../sandbox-runtime.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { homeTag, sandboxHardening } from '../sandbox-spec.ts'
import { processLimits } from './machine-options.ts'
import { machineContainer, type MachineGround } from './machine-plan.ts'
import { ensureRootDisk, openDiskFolder } from './root-disk.ts'

/** Time limit of a trial, milliseconds: emulation needs seven processor seconds, so minutes on a busy host. */
const trialMs = 300_000
/** How much of the output of a failed trial of a virtual machine is quoted, in characters. */
const outputMaxChars = 300

export interface MachineOptions extends Omit<
  ImageOptions,
  'engine' | 'progress' | 'signal' | 'recipeDirectory'
> {
  /** The folder `images/machine` with the recipe of the machines' image. */
  readonly machineRecipeDirectory: string
  /** Ports of all that agents may reach on the host. */
  readonly meshPorts: readonly number[]
}

/** What virtual machines are tested with. */
export interface MachineBase {
  readonly engine: Engine
  readonly ground: ContainerGround
  readonly bound: DataBound
}

/** The result of a trial; `machine` is null if virtual machines cannot run on this host. */
export interface MachineTrial {
  readonly machine: MachineGround | null
  readonly trial: RungTrial
}

/** Creates what virtual machines need if that is missing, and starts one. Rejects if something cannot be created. */
export async function tryMachine(
  options: MachineOptions,
  on: MachineBase & { readonly progress: (step: string) => void },
): Promise<MachineTrial> {
  const { engine, ground, bound, progress } = on
  if (engine.facts.flavour === 'podman') return none(...onPodman)
  if (engine.architecture !== 'x64') return none(...onArm)
  if (bound.kind === 'meter')
    return none(`a virtual machine needs a data disk of a fixed size, and ${bound.why}`, diskRepair)
  // Quick checks run before the checks that take minutes.
  await openDiskFolder(options.cacheDirectory)
  const recipeDirectory = options.machineRecipeDirectory
  const { id: image } = await ensureMachineImage({ ...options, recipeDirectory, engine, progress })
  const rootDisk = await ensureRootDisk(engine, {
    ...options,
    image: ground.image,
    machineImage: image,
    homeId: ground.homeId,
    progress,
  })
  const meshAddresses = options.meshPorts.map((port) => `${ground.network.gateway}:${port}`)
  const kvm = await findKvm()
  let failed = ''
  for (const by of kvm === null ? [null] : [kvm, null]) {
    const machine: MachineGround = { image, rootDisk, kvm: by, meshAddresses }
    const emulator = by === null ? 'QEMU in software' : 'QEMU with KVM'
    const failure = await runOn(engine, ground, machine)
    if (failure === null) {
      const detail =
        by === null ? `${emulator}, many times slower than with hardware virtualization` : emulator
      return { machine, trial: { available: true, detail, repair: '' } }
    }
    failed = `${failed}${failed === '' ? '' : '; '}${emulator}: ${failure}`
  }
  return none(
    failed,
    'Check the load and the free memory of this machine: the virtual machine of an agent needs half a gigabyte.',
  )
}

const onPodman = [
  'virtual machines are supported only with Docker, and this engine is Podman',
  'Install docker.io, or set FLOTILLA_ENGINE_SOCKET=/var/run/docker.sock if Docker is installed.',
] as const
const onArm = [
  'virtual machines are supported only on x86-64 processors',
  'Use the isolation level gvisor, or a machine with an x86-64 processor.',
] as const
const diskRepair =
  'Run Flotilla as root beside Docker, with e2fsprogs and mount installed; flotilla doctor names what is missing.'

function none(detail: string, repair: string): MachineTrial {
  return { machine: null, trial: { available: false, detail, repair } }
}

/** A program that succeeds only in a virtual machine: it checks the root file system. */
const tryProgram =
  "if (!/^\\/dev\\/vda \\/ ext4 ro/m.test(require('node:fs').readFileSync('/proc/mounts','utf8'))) console.log('no machine')"

/** Starts a virtual machine. Returns null on success, else the reason of the failure. */
async function runOn(
  engine: Engine,
  ground: ContainerGround,
  machine: MachineGround,
): Promise<string | null> {
  try {
    const made = probeMachine({ ground, machine }, [...guardedNode, '-e', tryProgram])
    const done = await runOnce(engine, {
      ...made,
      labels: { [labelKeys.home]: homeTag(ground.homeId), [labelKeys.role]: 'trial' },
      user: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
      timeoutMs: trialMs,
    })
    if (done.code === 0 && done.stdout.trim() === '') return null
    return `it ended with ${done.code}: ${done.output.trim().slice(-outputMaxChars)}`
  } catch (error) {
    return reasonOf(error).split('\nRepair:')[0]?.slice(0, outputMaxChars) ?? ''
  }
}

/**
 * Plans a throw-away machine with an agent's hardening and a whole processor: isolation does not depend on it. Pure.
 */
export function probeMachine(
  { ground, machine }: { readonly ground: ContainerGround; readonly machine: MachineGround },
  args: readonly string[],
) {
  const size = {
    memoryLimitBytes: sandboxSizes.worker.memoryLimitBytes,
    cpu: { quotaUs: 100_000, periodUs: 100_000 },
    pidsLimit: sandboxHardening.pidsLimit,
    tmpSizeBytes: sandboxHardening.tmpSizeBytes,
  }
  return machineContainer(
    { ground, machine, size },
    {
      mode: 'run',
      args,
      environment: {},
      hostName: 'probe',
      limits: processLimits,
      disk: null,
      briefingDirectory: null,
      files: null,
    },
  )
}
