/** How often the event loop came round while the work went on, and what came of it. */
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
