import type { CDPSession, Page } from 'playwright-core'

/** Opens a debugging session for each process that draws the page. The caller detaches them. */
export async function openSessions(page: Page): Promise<readonly CDPSession[]> {
  const context = page.context()
  const [first, ...others] = page.frames()
  const own = await context.newCDPSession(page)
  const further = await Promise.all(
    // A frame in the page's process shares the page's session, so requesting its own session fails.
    others.filter((frame) => frame !== first).map((frame) => context.newCDPSession(frame).catch(() => null)),
  )
  return [own, ...further.flatMap((session) => session ?? [])]
}
