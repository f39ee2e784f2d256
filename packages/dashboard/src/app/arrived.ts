import { Problem } from '@flotilla/protocol/problem'

/** How often the page requests a code chunk before it gives up. */
const asksMax = 4
/** Wait before the second request in milliseconds; each further wait is longer. */
const waitMs = 300
/** Names the chunk for which the page was loaded again, so that this happens once. */
const reloadedKey = 'flotilla.reloaded-for'

interface Surroundings {
  readonly kept: Pick<Storage, 'getItem' | 'setItem'>
  readonly reload: () => void
  /** Whether the mesh answers at all. */
  readonly answers: () => Promise<boolean>
  readonly wait: (ms: number) => Promise<void>
}

/**
 * Loads a code chunk, with retries: React would remember a failed load forever. A chunk that a mesh in service does not
 * have belongs to another build, for example of before an upgrade: then the page is loaded again, once for each chunk.
 */
export async function arrived<T>(load: () => Promise<T>, around: Surroundings = ofBrowser()): Promise<T> {
  const { kept, reload, answers, wait } = around
  for (let ask = 1; ; ask++) {
    try {
      return await load()
    } catch (error) {
      if (ask < asksMax) {
        await wait(waitMs * ask)
        continue
      }
      if (!(await answers())) throw new Problem('mesh-unreachable', { cause: error })
      const chunk = error instanceof Error ? error.message : String(error)
      if (kept.getItem(reloadedKey) === chunk) throw error
      kept.setItem(reloadedKey, chunk)
      reload()
      // The page ends here; the placeholder stays until then.
      return new Promise<T>(() => undefined)
    }
  }
}

function ofBrowser(): Surroundings {
  return {
    kept: window.sessionStorage,
    reload: () => window.location.reload(),
    answers: () =>
      fetch('/', { method: 'GET', cache: 'no-store' }).then(
        () => true,
        () => false,
      ),
    wait: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  }
}
