/**
 * Work items with a common name run one after the other, in the order of `take`; other work does not wait for them.
 * An error rejects only its own caller, and the next item still runs. The caller limits how much may wait.
 */
export interface Turns {
  /** Rejects with the error of `work`. `work` begins after `take` has returned its promise. */
  take<T>(names: readonly string[], work: () => Promise<T>): Promise<T>
  /** Resolves when no work is under way. */
  idle(): Promise<void>
}

export function createTurns(): Turns {
  /** The last work item of each name. */
  const tails = new Map<string, Promise<void>>()

  return {
    async take(names, work) {
      const before = names.flatMap((name) => tails.get(name) ?? [])
      // `work` never begins before `take` has returned: a caller may store the promise that its `work` clears.
      const working = Promise.all(before).then(work)
      const tail = working.then(
        () => leave(),
        () => leave(),
      )
      for (const name of names) tails.set(name, tail)
      function leave(): void {
        for (const name of names) if (tails.get(name) === tail) tails.delete(name)
      }
      return working
    },
    async idle() {
      while (tails.size > 0) await Promise.all(tails.values())
    },
  }
}

/** Runs each piece of work after the previous one has ended. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export function createInTurn(): InTurn {
  const turns = createTurns()
  return (work) => turns.take(['all'], work)
}
