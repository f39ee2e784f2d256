/** Times that a part of the program is asked for. */
const asksMax = 4
/** Between two of them, more each time. */
const waitMs = 300

/** A part of the program, asked for again where it did not arrive: React would remember for good that it is missing. */
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
