/**
 * Does something with each of a list, never with more than `atOnce` beside each other. Rejects with the first failure;
 * what is under way then goes on, and so do those that come after it.
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
