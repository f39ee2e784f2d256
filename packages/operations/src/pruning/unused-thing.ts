/** Something on the disk or the engine that nothing uses. */
export interface UnusedThing {
  readonly kind: 'container' | 'volume' | 'agent data' | 'image' | 'snapshot' | 'log' | 'cache'
  /** The name by which the owner finds the thing: a path, or a name on the engine. */
  readonly name: string
  /** The reason why the thing is not needed, as the end of a line. */
  readonly why: string
  /** The space that its deletion frees; null if unknown. */
  readonly bytes: number | null
  /** Returns false if it is in use again and was kept. */
  remove(): Promise<boolean>
}
