import { Problem } from '@flotilla/protocol/problem'
import { proxyPort } from './choose-runtime.ts'
import type { DataPaths } from '@flotilla/foundation/config'
import { lastPorts } from '@flotilla/foundation/config'
import { portHolder } from '@flotilla/operations/diagnostics'
import type { PortHolder } from '@flotilla/operations/diagnostics'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'

export interface Listener {
  listen(where: { readonly port: number; readonly host: string }): PromiseLike<unknown>
}

/** Opens the agent API and the forward proxy on the network of the agents. */
export async function listenForAgents(
  listeners: { readonly runtime: SandboxRuntime; readonly agents: Listener; readonly proxy: Listener },
  where: { readonly agentPort: number; readonly paths: DataPaths },
): Promise<void> {
  const { runtime, agents, proxy } = listeners
  const host = runtime.listenHost()
  if (runtime.isolates) {
    await listen(agents, { port: where.agentPort, host, otherwise: inEnvFile('FLOTILLA_AGENT_PORT') })
    await listen(proxy, { port: proxyPort, host, otherwise: null })
    return
  }
  const last = await lastPorts(where.paths.stateFile)
  await listenForProcesses(agents, last.agentPort, host)
  await listenForProcesses(proxy, last.proxyPort, host)
}

/**
 * Listens at any free port, because plain processes share loopback with the people's API; containers have a gateway
 * address for that. The previous port is preferred, because running agents know only that port.
 */
async function listenForProcesses(listener: Listener, last: number, host: string): Promise<void> {
  try {
    await listen(listener, { port: last, host, otherwise: null })
  } catch (error) {
    if (last === 0 || !(error instanceof Problem)) throw error
    await listen(listener, { port: 0, host, otherwise: null })
  }
}

export interface ListenAt {
  readonly port: number
  readonly host: string
  /** Tells the owner how to choose another port; null if there is no choice. */
  readonly otherwise: string | null
}

/** Part of a repair text. */
export const anotherPeoplePort = 'flotilla start --port NUMBER, or FLOTILLA_PORT=NUMBER in .env of the home'

export function inEnvFile(setting: 'FLOTILLA_AGENT_PORT' | 'FLOTILLA_PUBLIC_BIND'): string {
  return `${setting} in .env of the home`
}

/** Listens on a port. Problem `conflict` if the port is in use, with the name of the process if it is known. */
export async function listen(listener: Listener, { port, host, otherwise }: ListenAt): Promise<void> {
  try {
    await listener.listen({ port, host })
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    if (!taken) throw error
    const holder = await portHolder({ port, host })
    const isOwn = holder?.pid === process.pid
    const stranger = holder === null ? 'another program' : `process ${holder.pid} (${holder.name})`
    throw new Problem('conflict', {
      detail: `port ${port} on ${host} is used by ${isOwn ? 'another listener of this mesh' : stranger}`,
      repair: isOwn ? repairOwn(otherwise) : repairStranger(holder, otherwise),
      cause: error,
    })
  }
}

function repairStranger(holder: PortHolder | null, otherwise: string | null): string {
  const stop = `Stop ${holder === null ? 'the program that uses the port' : `process ${holder.pid}`}`
  return otherwise === null
    ? `${stop}, then flotilla start -d.`
    : `${stop}, or choose another port: ${otherwise}.`
}

function repairOwn(otherwise: string | null): string {
  return `Choose another port${otherwise === null ? ' for one of the two listeners (.env in the home)' : `: ${otherwise}`}, then flotilla start -d.`
}
