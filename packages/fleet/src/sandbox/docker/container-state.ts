import * as z from 'zod'
import { sandboxHardening } from '../sandbox-spec.ts'
import type { SandboxState } from '../sandbox-runtime.ts'
import { labelKeys } from '../hardening/container-options.ts'

/** The networks in an engine's answer about a container. */
const networksSchema = z.record(z.string(), z.looseObject({ IPAddress: z.string().nullish() }))

export const inspectSchema = z.looseObject({
  Id: z.string(),
  State: z.looseObject({ Running: z.boolean(), ExitCode: z.number(), OOMKilled: z.boolean().nullish() }),
  Config: z.looseObject({ Labels: z.record(z.string(), z.string()).nullish() }),
  HostConfig: z.looseObject({ CpuQuota: z.number().nullish(), CpuPeriod: z.number().nullish() }).nullish(),
  NetworkSettings: z.looseObject({
    Networks: networksSchema.nullish(),
    /** The path of the container's network namespace. */
    SandboxKey: z.string().nullish(),
  }),
})

export type InspectedContainer = z.infer<typeof inspectSchema>

export const listSchema = z.array(
  z.looseObject({
    Id: z.string(),
    Names: z.array(z.string()).nullish(),
    State: z.string(),
    Image: z.string().nullish(),
    Labels: z.record(z.string(), z.string()).nullish(),
    NetworkSettings: z.looseObject({ Networks: networksSchema.nullish() }).nullish(),
  }),
)

/** Returns the sandbox state of a container; null if the container does not belong to an agent. Pure. */
export function stateOf(inspected: InspectedContainer, network: string): SandboxState | null {
  const labels = inspected.Config.Labels ?? {}
  const agentId = labels[labelKeys.agent]
  if (agentId === undefined) return null
  const { Running: running, ExitCode: code, OOMKilled } = inspected.State
  if (!running)
    return { agentId, running, labels, exit: { code, outOfMemory: OOMKilled === true && code !== 0 } }
  return runningState({ agentId, labels, host: inspected.NetworkSettings.Networks?.[network]?.IPAddress })
}

export function runningState(known: {
  readonly agentId: string
  readonly labels: Readonly<Record<string, string>>
  readonly host: string | null | undefined
}): SandboxState {
  const { agentId, labels, host } = known
  return {
    agentId,
    running: true,
    labels,
    ...(host ? { address: { host, port: sandboxHardening.agentPort } } : {}),
  }
}
