import { findEngine } from '../engine/find-engine.ts'
import type { SocketHints } from '../engine/socket-candidates.ts'
import { homeTag } from '../sandbox-spec.ts'
import { stopContainer } from './agent-container.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { listSchema } from './container-state.ts'

export interface StoppedHome {
  /** Agents whose containers were stopped. */
  readonly ended: readonly string[]
  /** Containers that the engine could not stop. */
  readonly failed: number
}

/**
 * Stops the containers of a home: agents, their browsers, throw-away containers. Their data is kept. Nothing is
 * prepared, so no image is needed. Null if no engine answers.
 */
export async function stopDockerHome(
  hints: SocketHints,
  { homeId, graceMs }: { readonly homeId: string; readonly graceMs: number },
): Promise<StoppedHome | null> {
  const { engine } = await findEngine(hints)
  if (engine === null) return null
  const label = [`${labelKeys.home}=${homeTag(homeId)}`]
  const running = listSchema.parse(await engine.docker.listContainers({ filters: { label } }))
  const ends = await Promise.allSettled(running.map(({ Id }) => stopContainer(engine, Id, graceMs)))
  const agents = running.flatMap(({ Labels }, at) => {
    const agentId = Labels?.[labelKeys.agent]
    const isAgent = Labels?.[labelKeys.role] === 'agent'
    return isAgent && agentId !== undefined && ends[at]?.status === 'fulfilled' ? [agentId] : []
  })
  return { ended: agents, failed: ends.filter(({ status }) => status === 'rejected').length }
}
