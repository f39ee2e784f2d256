/** Something on the disk or the engine that nothing uses. */
export interface UnusedThing {
  readonly kind: 'container' | 'volume' | 'agent data' | 'image' | 'snapshot' | 'log' | 'cache'
  /** How the owner finds it: a path, or its name on the engine. */
  readonly name: string
  /** Why it is not needed, as the end of a line. */
  readonly why: string
  /** The space that its deletion frees; null if unknown. */
  readonly bytes: number | null
  /** Returns false if it is in use again and was kept. */
  remove(): Promise<boolean>
}
