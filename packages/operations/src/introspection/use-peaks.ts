/** The length of one bucket of peaks, and how many are kept: an hour. */
const bucketMs = 60_000
const bucketsMax = 60

interface Bucket {
  readonly at: number
  memoryBytes: number
  /** Null without two samples. */
  cpuPercent: number | null
}

/** The highest use of an agent in the last hour. */
export interface UsePeaks {
  /** When the oldest counted sample was taken, to the minute, in milliseconds since 1970. */
  readonly since: number
  readonly memoryBytes: number
  readonly cpuPercent: number | null
}

/** Keeps the highest memory and processor use of each agent by the minute, for an hour. */
export function createUsePeaks() {
  const byAgent = new Map<string, Bucket[]>()
  return {
    add(
      agentId: string,
      {
        at,
        memoryBytes,
        cpuPercent,
      }: { readonly at: number; readonly memoryBytes: number; readonly cpuPercent: number | null },
    ): void {
      const buckets = byAgent.get(agentId) ?? []
      const minute = at - (at % bucketMs)
      const last = buckets.at(-1)
      if (last?.at === minute) {
        last.memoryBytes = Math.max(last.memoryBytes, memoryBytes)
        last.cpuPercent = highest(last.cpuPercent, cpuPercent)
      } else buckets.push({ at: minute, memoryBytes, cpuPercent })
      byAgent.set(agentId, buckets.slice(-bucketsMax))
    },
    /** Returns null if no sample of the last hour exists. */
    of(agentId: string, now: number): UsePeaks | null {
      const recent = (byAgent.get(agentId) ?? []).filter(({ at }) => at > now - bucketMs * bucketsMax)
      const [first] = recent
      if (first === undefined) return null
      return {
        since: first.at,
        memoryBytes: Math.max(...recent.map(({ memoryBytes }) => memoryBytes)),
        cpuPercent: recent.reduce<number | null>((most, { cpuPercent }) => highest(most, cpuPercent), null),
      }
    },
    forget: (agentId: string): void => void byAgent.delete(agentId),
  }
}

function highest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.max(one, other)
}
