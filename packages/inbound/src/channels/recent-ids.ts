export interface RecentIds {
  readonly has: (id: string) => boolean
  readonly add: (id: string) => void
}

/** Keeps the last `max` ids. */
export function createRecentIds(max: number): RecentIds {
  const ids = new Set<string>()
  return {
    has: (id) => ids.has(id),
    add: (id) => {
      ids.delete(id)
      ids.add(id)
      if (ids.size <= max) return
      const [oldest] = ids
      if (oldest !== undefined) ids.delete(oldest)
    },
  }
}
