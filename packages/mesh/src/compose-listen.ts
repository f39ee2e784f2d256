import { Problem } from '@flotilla/protocol/problem'
import { proxyPort } from './compose-runtime.ts'
import type { DataPaths } from './config/data-paths.ts'
import { lastPorts } from './config/last-ports.ts'
import type { SandboxRuntime } from './sandbox/sandbox-runtime.ts'

export interface Door {
  listen(where: { readonly port: number; readonly host: string }): PromiseLike<unknown>
}

/** Opens what agents reach: their door and the forward proxy, where their network is. */
export async function listenForAgents(
  doors: { readonly runtime: SandboxRuntime; readonly agents: Door; readonly proxy: Door },
  where: { readonly agentPort: number; readonly paths: DataPaths },
): Promise<void> {
  const { runtime, agents, proxy } = doors
  const host = runtime.doorHost()
  if (runtime.isolates) {
    await listen(agents, where.agentPort, host)
    await listen(proxy, proxyPort, host)
    return
  }
  const last = await lastPorts(where.paths.stateFile)
  await listenForProcesses(agents, last.agentPort, host)
  await listenForProcesses(proxy, last.proxyPort, host)
}

/**
 * Containers have a gateway of their own to reach; plain processes share loopback with the people's door, so any free
 * port is theirs: the one of a life before, where it is free, because agents that outlived it know no other.
 */
async function listenForProcesses(door: Door, last: number, host: string): Promise<void> {
  try {
    await listen(door, last, host)
  } catch (error) {
    if (last === 0 || !(error instanceof Problem)) throw error
    await listen(door, 0, host)
  }
}

/** Rejects with the Problem `conflict` where the port is taken. */
export async function listen(door: Door, port: number, host: string): Promise<void> {
  try {
    await door.listen({ port, host })
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    if (!taken) throw error
    throw new Problem('conflict', {
      detail: `port ${port} on ${host} is taken; stop what listens there, or choose another with --port`,
      cause: error,
    })
  }
}
