/** The items for which a call succeeded, and the errors of the others. */
export interface EachEnd<Item> {
  readonly done: readonly Item[]
  readonly failures: readonly unknown[]
}

/** Makes a call for each item, one after the other. An item whose call fails does not keep the others back. */
export async function runEach<Item>(
  items: readonly Item[],
  call: (item: Item) => Promise<unknown>,
): Promise<EachEnd<Item>> {
  const done: Item[] = []
  const failures: unknown[] = []
  for (const item of items) {
    try {
      await call(item)
      done.push(item)
    } catch (error) {
      failures.push(error)
    }
  }
  return { done, failures }
}
