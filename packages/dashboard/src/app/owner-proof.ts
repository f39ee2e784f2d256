/** Keeps the owner's proof in memory while this page is open, and asks the owner for it. */
export interface ProofStore {
  /** The proof that calls send; undefined before the owner gave one. */
  readonly current: () => string | undefined
  readonly set: (proof: string) => void
  /** Asks the person to confirm `words` with a code. Resolves to true with a proof, to false if they cancel. */
  readonly ask: (question: string) => Promise<boolean>
  readonly answer: (given: boolean) => void
  /** Returns what the waiting calls ask the owner to confirm; empty if no call waits. */
  readonly question: () => string
  subscribe(listener: () => void): () => void
}

export function createProofStore(): ProofStore {
  let proof: string | undefined
  /** All callers that wait for the answer to the one question. */
  let waiting: { readonly words: string; readonly resolve: (given: boolean) => void }[] = []
  const listeners = new Set<() => void>()
  const notify = () => {
    for (const listener of listeners) listener()
  }
  return {
    current: () => proof,
    set: (next) => {
      proof = next
    },
    ask: (question) =>
      new Promise((resolve) => {
        waiting = [...waiting, { words: question, resolve }]
        notify()
      }),
    answer: (given) => {
      const all = waiting
      waiting = []
      for (const { resolve } of all) resolve(given)
      notify()
    },
    question: () => [...new Set(waiting.map(({ words: question }) => question))].join(' '),
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
