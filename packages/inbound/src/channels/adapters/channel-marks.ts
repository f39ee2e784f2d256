/** Short values that an adapter stores over restarts, so that no message is lost while the mesh is down. */
export interface ChannelMarks {
  readonly read: (key: string) => string | null
  /** Writes a mark. The mark is persisted when the call returns. */
  readonly write: (key: string, value: string) => void
}

/** Marks in memory, lost at exit. */
export function createMemoryMarks(): ChannelMarks {
  const marks = new Map<string, string>()
  return { read: (key) => marks.get(key) ?? null, write: (key, value) => void marks.set(key, value) }
}
