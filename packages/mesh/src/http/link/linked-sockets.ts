import type { Duplex } from 'node:stream'

const agents = new WeakMap<Duplex, string>()

/** Notes whose key a connection was opened with. */
export function linkSocket(socket: Duplex, agentId: string): void {
  agents.set(socket, agentId)
}

/** Whose key the connection was opened with; null for one that wants none, as within one machine. */
export function linkedAgentOf(socket: Duplex): string | null {
  return agents.get(socket) ?? null
}
