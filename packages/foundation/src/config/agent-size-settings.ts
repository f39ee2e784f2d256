import { agentSizeBounds } from '@flotilla/protocol/agent-size'
import * as z from 'zod'

const { memory_mb: memoryMb, cpus, pids, tmp_mb: tmpMb } = agentSizeBounds

/** What an agent's container may use. Omitted members have the default of the agent's kind (`default-agent-sizes.ts`). */
export const agentSizeSettings = z.strictObject({
  /** Memory, in MB of 1024 × 1024 bytes. */
  memory_mb: z.number().int().min(memoryMb.min).max(memoryMb.max).optional(),
  /** Processors: 0.5 is half of one. */
  cpus: z.number().min(cpus.min).max(cpus.max).optional(),
  /** Processes and threads at the same time. */
  pids: z.number().int().min(pids.min).max(pids.max).optional(),
  /** The size of /tmp, in MB; its files count toward the memory. */
  tmp_mb: z.number().int().min(tmpMb.min).max(tmpMb.max).optional(),
})
export type AgentSizeSettings = z.infer<typeof agentSizeSettings>
