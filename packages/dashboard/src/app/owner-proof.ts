/** The owner's proof as this page holds it, and the question for it. Nothing of it is stored. */
export interface ProofStore {
  /** What calls bring along; undefined while there is none. */
  readonly current: () => string | undefined
  readonly set: (proof: string) => void
  /** Asks the person; resolves once there is one, to false where they would not. */
  readonly ask: () => Promise<boolean>
  readonly answer: (given: boolean) => void
  readonly isAsking: () => boolean
  subscribe(listener: () => void): () => void
}

export function createProofStore(): ProofStore {
  let proof: string | undefined
  /** All who wait for the one question. */
  let waiting: ((given: boolean) => void)[] = []
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of listeners) listener()
  }
  return {
    current: () => proof,
    set: (next) => {
      proof = next
    },
    ask: () =>
      new Promise((resolve) => {
        waiting = [...waiting, resolve]
        tell()
      }),
    answer: (given) => {
      const all = waiting
      waiting = []
      for (const resolve of all) resolve(given)
      tell()
    },
    isAsking: () => waiting.length > 0,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
