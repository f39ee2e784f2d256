/** How many of one thing are open, of all agents and of each. */
export interface OpenCounts {
  total(): number
  of(agentId: string): number
  /** One more; what it returns lets go of it, once. */
  enter(agentId: string): () => void
}

export function createOpenCounts(): OpenCounts {
  const perAgent = new Map<string, number>()
  let total = 0
  return {
    total: () => total,
    of: (agentId) => perAgent.get(agentId) ?? 0,
    enter(agentId) {
      perAgent.set(agentId, (perAgent.get(agentId) ?? 0) + 1)
      total++
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        total--
        const left = (perAgent.get(agentId) ?? 1) - 1
        if (left > 0) perAgent.set(agentId, left)
        else perAgent.delete(agentId)
      }
    },
  }
}
