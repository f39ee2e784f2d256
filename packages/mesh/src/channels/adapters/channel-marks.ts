/** What must outlast the mesh so that nothing is lost while it is down: a few short texts by short keys. */
export interface ChannelMarks {
  readonly read: (key: string) => string | null
  /** Stands when it returns. */
  readonly write: (key: string, value: string) => void
}

/** For as long as the process lives. */
export function createMemoryMarks(): ChannelMarks {
  const marks = new Map<string, string>()
  return { read: (key) => marks.get(key) ?? null, write: (key, value) => void marks.set(key, value) }
}
