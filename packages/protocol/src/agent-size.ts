import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The bounds of an agent's size, in the units of the settings. */
export const agentSizeBounds = {
  memory_mb: { min: 128, max: 1_048_576 },
  cpus: { min: 0.05, max: 1024 },
  pids: { min: 64, max: 32_768 },
  tmp_mb: { min: 16, max: 65_536 },
} as const

export const agentSizeNames = ['memory_mb', 'cpus', 'pids', 'tmp_mb'] as const
export type AgentSizeName = (typeof agentSizeNames)[number]

const whole = (name: 'memory_mb' | 'pids' | 'tmp_mb') =>
  z.int().check(z.minimum(agentSizeBounds[name].min), z.maximum(agentSizeBounds[name].max))
const part = z.number().check(z.minimum(agentSizeBounds.cpus.min), z.maximum(agentSizeBounds.cpus.max))

/** What the owner set for an agent. Omitted members have the default of the agent's kind. */
export const agentSizeSchema = z.strictObject({
  /** Memory, in MB of 1024 × 1024 bytes. */
  memory_mb: z.optional(whole('memory_mb')),
  /** Processors: 0.5 is half of one. */
  cpus: z.optional(part),
  /** Processes and threads at the same time. */
  pids: z.optional(whole('pids')),
  /** The size of /tmp, in MB; its files count toward the memory. */
  tmp_mb: z.optional(whole('tmp_mb')),
})
export type AgentSizeSet = z.infer<typeof agentSizeSchema>

/** A whole size: every limit, in the units of the settings. */
export const wholeSizeSchema = z.strictObject({
  memory_mb: z.number(),
  cpus: z.number(),
  pids: z.number(),
  tmp_mb: z.number(),
})
export type WholeSize = z.infer<typeof wholeSizeSchema>

/** The people's API for the size of an agent's container. */
export const agentSizeEndpoints = {
  agentSize: {
    method: 'GET',
    path: '/api/agents/{id}/size',
    summary: 'Return the size of an agent’s container: memory, processors, processes and /tmp.',
  },
  setAgentSize: {
    method: 'PUT',
    path: '/api/agents/{id}/size',
    summary: 'Replace the size of an agent’s container, which its next run uses.',
  },
} as const satisfies Record<string, Endpoint>

export type AgentSizeEndpointName = keyof typeof agentSizeEndpoints

export const agentSizeViewSchema = z.strictObject({
  agent_id: z.string(),
  /** The agent whose size applies: the root ancestor of an agent that agents created. */
  set_at: z.string(),
  /** What the owner set for `set_at`. */
  set: agentSizeSchema,
  /** The limits that apply from the agent's next start. */
  size: wholeSizeSchema,
  /** The limits without any setting. */
  preset: wholeSizeSchema,
})
export type AgentSizeView = z.infer<typeof agentSizeViewSchema>

export const agentSizeApi = {
  agentSize: { response: agentSizeViewSchema },
  setAgentSize: {
    request: z.strictObject({
      size: agentSizeSchema,
      /** The setting that the editor saw; if it is another one by now, the change is rejected with `conflict`. */
      seen: z.optional(agentSizeSchema),
    }),
    response: agentSizeViewSchema,
  },
} as const satisfies Record<AgentSizeEndpointName, EndpointSchemas>

/** Returns the limits that are set, without members that are undefined. Pure. */
export function limitsOf(size: AgentSizeSet): Record<string, number> {
  return Object.fromEntries(
    Object.entries(size).flatMap(([name, limit]) => (limit === undefined ? [] : [[name, limit] as const])),
  )
}

/** Whether both set the same limits. Pure. */
export function isSameAgentSize(one: AgentSizeSet, other: AgentSizeSet): boolean {
  return agentSizeNames.every((name) => one[name] === other[name])
}
