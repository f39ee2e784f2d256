/**
 * Processes each item of a list, at most `atOnce` concurrently. Rejects with the first failure; the other items are
 * still processed.
 */
export async function workThrough<Item>(
  items: readonly Item[],
  atOnce: number,
  act: (item: Item) => Promise<unknown>,
): Promise<void> {
  const next = items.values()
  async function workOneAfterTheOther(): Promise<void> {
    for (const item of next) await act(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, workOneAfterTheOther))
}
