/** How often the page requests a code chunk before it gives up. */
const asksMax = 4
/** Wait before the second request in milliseconds; each further wait is longer. */
const waitMs = 300

/** Loads a code chunk, with retries: React would remember a failed load forever. */
export async function arrived<T>(load: () => Promise<T>): Promise<T> {
  for (let ask = 1; ; ask++) {
    try {
      return await load()
    } catch (error) {
      if (ask === asksMax) throw error
      await new Promise((resolve) => void setTimeout(resolve, waitMs * ask))
    }
  }
}
