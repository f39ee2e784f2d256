/** What lies somewhere and nobody uses. */
export interface UnusedThing {
  readonly kind: 'container' | 'volume' | 'agent data' | 'image' | 'snapshot' | 'log' | 'cache'
  /** As its owner finds it again: a path, or the name that the engine has for it. */
  readonly name: string
  /** Why nobody needs it, as the end of a line. */
  readonly why: string
  /** What its end gives back; null where nobody counted it. */
  readonly bytes: number | null
  /** False where it came into use meanwhile, and stays. */
  remove(): Promise<boolean>
}
