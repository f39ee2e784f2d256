/** The limits that an owner can set for an agent. */
export interface AgentSize {
  readonly memoryLimitBytes: number
  /** CPU share as quota per period, both in microseconds. */
  readonly cpu: { readonly quotaUs: number; readonly periodUs: number }
  readonly pidsLimit: number
  readonly tmpSizeBytes: number
}

export type AgentKind = 'operator' | 'worker'

/** The default limits of an agent's container: memory, processor, processes and temporary files. */
export const containerLimits = {
  worker: { memoryBytes: 384 * 1024 * 1024, cpu: 0.15 }, // limits:worker-container
  operator: { memoryBytes: 128 * 1024 * 1024, cpu: 0.05 }, // limits:operator-container
  pids: 256,
  tmpBytes: 100 * 1024 * 1024,
} as const

/**
 * Memory and processor limits by kind of agent, in the engine's units. A worker's quota is renewed every half second,
 * the operator's smaller quota every second.
 */
export const sandboxSizes = {
  worker: sizeOf(containerLimits.worker, 500_000),
  operator: sizeOf(containerLimits.operator, 1_000_000),
}

function sizeOf(
  { memoryBytes, cpu }: { readonly memoryBytes: number; readonly cpu: number },
  periodUs: number,
) {
  return { memoryLimitBytes: memoryBytes, cpu: { quotaUs: Math.round(cpu * periodUs), periodUs } }
}

/** Returns the size of an agent: what the owner set, and the default of its kind for the rest. Pure. */
export function agentSize(
  kind: AgentKind,
  set: {
    readonly memory_mb?: number | undefined
    readonly cpus?: number | undefined
    readonly pids?: number | undefined
    readonly tmp_mb?: number | undefined
  } = {},
): AgentSize {
  const { memoryLimitBytes, cpu } = sandboxSizes[kind]
  const mb = 1024 * 1024
  const { memory_mb: memoryMb, cpus, pids = containerLimits.pids, tmp_mb: tmpMb } = set
  return {
    memoryLimitBytes: memoryMb === undefined ? memoryLimitBytes : memoryMb * mb,
    cpu: cpus === undefined ? cpu : { quotaUs: Math.round(cpus * cpu.periodUs), periodUs: cpu.periodUs },
    pidsLimit: pids,
    tmpSizeBytes: tmpMb === undefined ? containerLimits.tmpBytes : tmpMb * mb,
  }
}

/** Returns a mark by which sizes are compared; empty for the default of the kind. Pure. */
export function sizeMark(kind: AgentKind, size: AgentSize): string {
  const markOf = ({ memoryLimitBytes, cpu, pidsLimit, tmpSizeBytes }: AgentSize) =>
    [memoryLimitBytes, cpu.quotaUs, cpu.periodUs, pidsLimit, tmpSizeBytes].join('/')
  const mark = markOf(size)
  return mark === markOf(agentSize(kind)) ? '' : mark
}
