/** Counts how often the event loop ran while the work was pending, and returns its result. */
export async function roundsDuring<T>(work: Promise<T>): Promise<{ result: T; rounds: number }> {
  let rounds = 0
  let isOver = false
  const count = (): void => {
    rounds++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const result = await work.finally(() => (isOver = true))
  return { result, rounds }
}
