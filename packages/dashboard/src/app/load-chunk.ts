import { Problem } from '@flotilla/protocol/problem'

/** How often the page requests a code chunk before it gives up. */
const asksMax = 4
/** Wait before the second request in milliseconds; each further wait is longer. */
const waitMs = 300
/** The session-storage key of the chunk for which the page was reloaded, so that it is reloaded only once. */
const reloadedKey = 'flotilla.reloaded-for'

interface Surroundings {
  readonly kept: Pick<Storage, 'getItem' | 'setItem'>
  readonly reload: () => void
  /** Returns whether the mesh answers. */
  readonly answers: () => Promise<boolean>
  readonly wait: (ms: number) => Promise<void>
}

/**
 * Loads a code chunk, with retries, because React would remember a failed load forever. If the mesh answers but does
 * not have the chunk, the page is from another build, for example from before an upgrade, and is reloaded once for
 * each chunk. Problem `mesh-unreachable` if the mesh does not answer.
 */
export async function loadChunk<T>(load: () => Promise<T>, around: Surroundings = ofBrowser()): Promise<T> {
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
      // Never resolves, so that the placeholder stays until the browser reloads the page.
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
        // A proxy answers with such a status in place of a mesh that is down; its page must not replace this one.
        ({ status }) => status < 500,
        () => false,
      ),
    wait: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  }
}
