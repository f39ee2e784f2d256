import type { Page } from 'playwright-core'
import { openSessions } from './debugging-sessions.ts'

const worldName = 'flotilla-copy-guard'

/**
 * Runs in a page, if possible before the page's scripts, so that its listener is called first. It also disables the
 * clipboard functions of scripts, because these cause no event. Results in false if the document is of one of the
 * origins and copies all the same, because its listeners are not called: scripts do not run in it.
 */
export function guardScript(origins: readonly string[]): string {
  return `(() => {
    const mark = Symbol.for('flotilla.copy-guard')
    // A sandboxed document has no origin of its own; its address, or a document around it, says whose text it shows.
    const own = [self.origin, location.origin, ...(location.ancestorOrigins ?? [])]
    if (!${JSON.stringify(origins)}.some((origin) => own.includes(origin))) return true
    if (!self[mark]) {
      Object.defineProperty(self, mark, { value: true })
      const stop = (event) => {
        event.preventDefault()
        event.stopImmediatePropagation()
        event.clipboardData?.clearData()
      }
      for (const kind of ['copy', 'cut', 'dragstart']) addEventListener(kind, stop, true)
      const refuse = () => Promise.reject(new DOMException('Nothing is copied from this page.', 'NotAllowedError'))
      if (self.Clipboard)
        for (const name of ['write', 'writeText'])
          Object.defineProperty(Clipboard.prototype, name, { value: refuse, configurable: false, writable: false })
    }
    let isHeard = false
    addEventListener('flotilla-guarded', () => { isHeard = true }, { once: true })
    dispatchEvent(new Event('flotilla-guarded'))
    // Where the page's own listeners are silent, only one in the world of guardWithoutScripts can prevent this event.
    return isHeard || !dispatchEvent(new Event('copy', { cancelable: true }))
  })()`
}

/**
 * Installs the guard in documents whose scripts do not run, such as a frame with an empty `sandbox`: their listeners
 * are not called either, except in an isolated world of the debugger.
 */
export async function guardWithoutScripts(page: Page, origins: readonly string[]): Promise<void> {
  const sessions = await openSessions(page)
  try {
    for (const session of sessions) {
      const { frameTree } = await session.send('Page.getFrameTree')
      for (const frameId of framesIn(frameTree)) {
        const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId, worldName })
        await session.send('Runtime.evaluate', {
          contextId: executionContextId,
          expression: guardScript(origins),
        })
      }
    }
  } finally {
    await Promise.all(sessions.map((session) => session.detach().catch(() => undefined)))
  }
}

interface FrameTree {
  readonly frame: { readonly id: string }
  readonly childFrames?: readonly FrameTree[]
}

function framesIn({ frame, childFrames = [] }: FrameTree): readonly string[] {
  return [frame.id, ...childFrames.flatMap(framesIn)]
}
