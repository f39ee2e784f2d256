import type { Duplex } from 'node:stream'

const agents = new WeakMap<Duplex, string>()

/** Records which agent's key a connection was opened with. */
export function linkSocket(socket: Duplex, agentId: string): void {
  agents.set(socket, agentId)
}

/**
 * The agent whose key the connection was opened with; null for a connection without a key, as within one
 * machine.
 */
export function linkedAgentOf(socket: Duplex): string | null {
  return agents.get(socket) ?? null
}
