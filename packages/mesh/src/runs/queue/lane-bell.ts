/** Tells that an agent's lane may have something to do. A ring that nobody hears is lost: the rows are the truth. */
export interface LaneBell {
  ring(agentId: string): void
  onRing(listener: (agentId: string) => void): () => void
}

export function createLaneBell(): LaneBell {
  const listeners = new Set<(agentId: string) => void>()
  return {
    ring: (agentId) => listeners.forEach((listener) => listener(agentId)),
    onRing: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
