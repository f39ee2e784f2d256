import type Dockerode from 'dockerode'
import {
  agentCommand,
  agentLabels,
  labelKeys,
  largestFileBytes,
  type ContainerGround,
} from '../hardening/container-options.ts'
import { sandboxHardening, sandboxName, type SandboxSpec } from '../sandbox-spec.ts'
import type { TarEntry } from '../tar-archive.ts'
import { tarArchive } from '../tar-archive.ts'
import { machineContainer, type MachineDisk, type MachineGround } from './machine-plan.ts'

/** Returns all options of the container in which an agent's virtual machine runs. Reads all of `files`. */
export async function machineOptions(
  { ground, machine }: { readonly ground: ContainerGround; readonly machine: MachineGround },
  spec: SandboxSpec,
  has: { readonly disk: MachineDisk; readonly files: readonly TarEntry[] },
): Promise<Dockerode.ContainerCreateOptions> {
  const name = sandboxName(ground.homeId, spec.agentId)
  const made = machineContainer(
    { ground, machine, size: spec },
    {
      mode: 'run',
      args: agentCommand(spec.memoryLimitBytes),
      environment: spec.environment,
      hostName: name,
      limits: { ...processLimits, fsize: largestFileBytes(spec) },
      disk: has.disk,
      briefingDirectory: spec.briefingDirectory,
      files: has.files.length === 0 ? null : Buffer.concat(await Array.fromAsync(tarArchive(has.files))),
    },
  )
  return {
    name,
    Image: made.image,
    Cmd: [...made.command],
    Env: [...made.env],
    User: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
    Hostname: name,
    Labels: { ...agentLabels(ground.homeId, spec), [labelKeys.machine]: machine.kvm ? 'kvm' : 'tcg' },
    Healthcheck: { Test: ['NONE'] },
    HostConfig: made.host,
  }
}

/** Limits of every process in a machine, equal to those that engines set for containers. */
export const processLimits = { nofile: sandboxHardening.openFilesMax, core: 0 } as const
