import { release, totalmem } from 'node:os'
import type Dockerode from 'dockerode'
import * as z from 'zod'
import { SandboxError } from '../sandbox-error.ts'
import { engineFindings, type EngineFacts, type Finding } from './engine-findings.ts'

/** A connected engine: the client and the facts that the engine reported. */
export interface Engine {
  readonly docker: Dockerode
  readonly socketPath: string
  readonly facts: EngineFacts
  readonly findings: readonly Finding[]
  readonly architecture: 'x64' | 'arm64'
  readonly cpus: number
  /** Memory of the machine on which the engine runs. */
  readonly memoryBytes: number
}

/**
 * How long the mesh waits for a container engine to answer at its socket, in milliseconds. An engine that builds
 * images and starts containers on a busy machine needs more than five seconds to describe itself.
 */
const answerTimeoutMs = 30_000

const versionSchema = z.looseObject({
  Version: z.string(),
  ApiVersion: z.string(),
  Components: z.array(z.looseObject({ Name: z.string() })).nullish(),
})

const infoSchema = z.looseObject({
  OperatingSystem: z.string().default(''),
  OSType: z.string().default('linux'),
  KernelVersion: z.string().default(''),
  Architecture: z.string().default('x86_64'),
  NCPU: z.number().default(1),
  MemTotal: z.number().default(0),
  SecurityOptions: z.array(z.string()).nullish(),
  MemoryLimit: z.boolean().default(false),
  PidsLimit: z.boolean().default(false),
  CPUCfsQuota: z.boolean().nullish(),
  CpuCfsQuota: z.boolean().nullish(),
})

/**
 * Connects to the engine at `socketPath` and reads facts about the engine. Rejects with `SandboxError`
 * `engine-silent` if the engine accepts the connection and does not answer in time, and with another error if no
 * engine is there.
 */
export async function connectEngine(socketPath: string, timeoutMs = answerTimeoutMs): Promise<Engine> {
  // Imported late, because it costs a tenth of a second of CPU, which a mesh with plain processes need not spend.
  const { default: DockerClient } = await import('dockerode')
  const asking = new DockerClient({ socketPath, timeout: timeoutMs })
  // The client reports a time limit as a connection that was reset, so a signal of the same length tells them apart.
  const limit = AbortSignal.timeout(timeoutMs)
  const answers = await Promise.all([asking.version(), asking.info()]).catch((cause: unknown) => {
    throw limit.aborted ? silent(socketPath, timeoutMs, cause) : cause
  })
  const version = versionSchema.parse(answers[0])
  const info = infoSchema.parse(answers[1])
  const podman = (version.Components ?? []).some((component) => /podman/i.test(component.Name))
  const facts: EngineFacts = {
    flavour: podman ? 'podman' : 'docker',
    version: version.Version,
    apiVersion: version.ApiVersion,
    operatingSystem: info.OperatingSystem,
    osType: info.OSType,
    kernelVersion: info.KernelVersion,
    hostKernelVersion: release(),
    securityOptions: info.SecurityOptions ?? [],
    memoryLimit: info.MemoryLimit,
    pidsLimit: info.PidsLimit,
    cpuQuota: info.CPUCfsQuota ?? info.CpuCfsQuota ?? true,
  }
  return {
    docker: new DockerClient({ socketPath }),
    socketPath,
    facts,
    findings: engineFindings(facts),
    architecture: /aarch64|arm64/.test(info.Architecture) ? 'arm64' : 'x64',
    cpus: info.NCPU,
    // An engine that does not report its memory is on this machine, as its socket is.
    memoryBytes: info.MemTotal || totalmem(),
  }
}

function silent(socketPath: string, timeoutMs: number, cause: unknown): SandboxError {
  return new SandboxError(
    'engine-silent',
    `The container engine on ${socketPath} accepts connections but did not answer within ${timeoutMs / 1000} s.\nRepair: look at its log (journalctl -u docker), wait until the machine is less busy or restart the engine, then repeat the command.`,
    { cause },
  )
}
