import * as z from 'zod'
import { askEach } from '../ask-each.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { isStatus } from '../image/engine-images.ts'
import type { SandboxUse } from '../sandbox-runtime.ts'
import { sandboxName } from '../sandbox-spec.ts'

/** The maximum number of concurrent requests for statistics. */
const concurrentRequestsMax = 8
const nanoPerSecond = 1e9

const statsSchema = z.looseObject({
  memory_stats: z.looseObject({
    usage: z.number().nullish(),
    limit: z.number().nullish(),
    stats: z.record(z.string(), z.number()).nullish(),
  }),
  cpu_stats: z.looseObject({ cpu_usage: z.looseObject({ total_usage: z.number() }) }),
})

/** Parses an engine's statistics; null for a stopped container, for which the engine sends no figures. Pure. */
export function useOf(answer: unknown): SandboxUse | null {
  const read = statsSchema.safeParse(answer)
  if (!read.success) return null
  const { usage, limit, stats } = read.data.memory_stats
  if (usage === undefined || usage === null) return null
  const cached = stats?.['inactive_file'] ?? stats?.['total_inactive_file'] ?? 0
  return {
    memoryBytes: Math.max(0, usage - cached),
    memoryLimitBytes: limit ?? null,
    cpuSeconds: read.data.cpu_stats.cpu_usage.total_usage / nanoPerSecond,
  }
}

/** Measures the current resource use of this home's containers, as the engine reads it from their cgroups. */
export async function measureContainers(
  { docker }: Engine,
  homeId: string,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, SandboxUse>> {
  return askEach(agentIds, concurrentRequestsMax, async (agentId) => {
    const container = docker.getContainer(sandboxName(homeId, agentId))
    const answer: unknown = await container
      .stats({ stream: false, 'one-shot': true })
      .catch((error: unknown) => {
        if (isStatus(error, 404) || isStatus(error, 409)) return null
        throw error
      })
    return useOf(answer)
  })
}
