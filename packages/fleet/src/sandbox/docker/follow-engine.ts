import { inspectContainer, inspectedOf } from './agent-container.ts'
import { labelKeys } from '../hardening/container-options.ts'
import { preparedEngine } from './docker-home.ts'
import type { DockerHome } from './docker-home.ts'
import { listContainers } from './list-containers.ts'
import { restoreShare } from './own-share.ts'
import { watchEngine } from './watch-ends.ts'
import type { EngineEvent } from './watch-ends.ts'
import { workThrough } from '../work-through.ts'

/** Maximum number of containers repaired at once, because the start gate accepts only a bounded number of callers. */
const putRightAtOnce = 64

/** Follows the engine's events about a home's containers. Resolves once the running containers are known. */
export function followEngine(home: DockerHome): Promise<void> {
  const { engine } = preparedEngine(home)
  const { link, options } = home
  return new Promise<void>((resolve) => {
    link.watching ??= watchEngine(engine, {
      homeTag: home.tag,
      clock: options.clock,
      signal: home.closing.signal,
      onConnected: () => {
        link.isLost = false
        home.rungs.forget()
        if (link.wasConnected) for (const listener of link.backListeners) listener()
        link.wasConnected = true
        return catchUp(home).finally(resolve)
      },
      onEvent: (event) => onEvent(home, event),
      onLost: (error) => {
        if (!link.isLost)
          options.log.warn(
            { err: error },
            'lost the connection to the container engine; reconnecting and checking all agents',
          )
        link.isLost = true
        resolve()
      },
    })
  })
}

/** Adopts and repairs running containers, and reports containers that ended while no mesh followed the engine. */
async function catchUp(home: DockerHome): Promise<void> {
  const { running } = home.ends
  const live = new Map<string, string>()
  for (const container of await listContainers(preparedEngine(home).engine, home.tag)) {
    const agentId = container.Labels?.[labelKeys.agent]
    if (agentId !== undefined && container.State === 'running') live.set(container.Id, agentId)
  }
  await workThrough([...live], putRightAtOnce, ([id, agentId]) =>
    home.starts.gate(() => putRight(home, id, agentId)),
  )
  const ended = [...running.keys()].filter((id) => !live.has(id))
  for (const [id, agentId] of live) running.set(id, agentId)
  await Promise.all(ended.map((id) => reportEnd(home, id, null)))
}

function onEvent(home: DockerHome, event: EngineEvent): void {
  const agentId = home.ends.running.get(event.containerId)
  if (agentId === undefined) return
  home.ends.memoryEnds.record(event)
  // The kernel may have killed only a program of the agent; an end is what `endActions` lists, such as `die`.
  if (event.action === 'oom') home.options.log.warn({ agentId }, 'a process in a sandbox ran out of memory')
  if (preparedEngine(home).dialect.endActions.includes(event.action))
    void reportEnd(home, event.containerId, event.at)
}

async function reportEnd(home: DockerHome, containerId: string, endedAt: number | null): Promise<void> {
  const { running, listeners, memoryEnds } = home.ends
  const agentId = running.get(containerId)
  if (agentId === undefined) return
  running.delete(containerId)
  home.starts.shares.release(agentId)
  const isOfMemory = memoryEnds.isOf(containerId, endedAt)
  const state = await inspectContainer(preparedEngine(home), containerId).catch(() => null)
  // If the container no longer exists, it was removed by force, which ends its process with SIGKILL (137).
  const { code, outOfMemory } = state?.exit ?? { code: 137, outOfMemory: false }
  for (const listener of listeners) listener({ agentId, code, outOfMemory: outOfMemory && isOfMemory })
}

/**
 * Repairs a container of an earlier process or release, or one that the engine restarted: the engine's name server
 * may be open in the container, and it may still have its start share.
 */
async function putRight(home: DockerHome, containerId: string, agentId: string): Promise<void> {
  const { engine, closeNames } = preparedEngine(home)
  const inspected = await inspectedOf(engine, containerId)
  if (!inspected?.State.Running) return
  await closeNames(inspected.NetworkSettings.SandboxKey)
  if (home.starts.shares.of(agentId) !== null) return
  await restoreShare(engine, inspected).catch((error: unknown) => {
    home.options.log.warn(
      { agentId, err: error },
      'failed to lower the CPU limit of a starting agent; it keeps the start limit until it is adopted',
    )
  })
}
