/**
 * Serializes work with a common name. The second delivery thus finds what the first has written, although others run
 * between check and commit.
 */
export interface KeyedMutex {
  /** Rejects with the error of `work`. Work without names does not wait. */
  alone<T>(names: readonly string[], work: () => Promise<T>): Promise<T>
}

/** Holds one entry per open delivery; those have their own limits. */
export function createKeyedMutex(): KeyedMutex {
  const held = new Map<string, Promise<void>>()
  const firstOf = (names: readonly string[]) =>
    names.map((name) => held.get(name)).find((one) => one !== undefined)

  return {
    async alone(names, work) {
      for (let other = firstOf(names); other; other = firstOf(names)) await other
      // No await between the last check and taking the names.
      const working = work()
      const over = working.then(
        () => release(),
        () => release(),
      )
      for (const name of names) held.set(name, over)
      function release(): void {
        for (const name of names) if (held.get(name) === over) held.delete(name)
      }
      return working
    },
  }
}
