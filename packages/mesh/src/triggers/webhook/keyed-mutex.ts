/**
 * Works that bear a name in common are done one after the other, so that the second finds what the first has written:
 * between the check whether a delivery is known and the commit that makes it known, others come in.
 */
export interface KeyedMutex {
  /** Rejects with what `work` threw. Works without names wait for nobody. */
  alone<T>(names: readonly string[], work: () => Promise<T>): Promise<T>
}

/** As many names as there are open deliveries, and those have their own bounds. */
export function createKeyedMutex(): KeyedMutex {
  const held = new Map<string, Promise<void>>()
  const firstOf = (names: readonly string[]) =>
    names.map((name) => held.get(name)).find((one) => one !== undefined)

  return {
    async alone(names, work) {
      for (let other = firstOf(names); other; other = firstOf(names)) await other
      // From the last check until the names are held nothing is waited for.
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
