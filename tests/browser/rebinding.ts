import type { Browser, Page } from 'playwright-core'

/**
 * Resolves an attacker's name to this machine, as the attacker's name server can. Disables the browser's own
 * protection of private addresses, since the tests attack the mesh's.
 */
export const rebound = [
  '--host-resolver-rules=MAP evil.example 127.0.0.1',
  '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights',
]

/**
 * Fetches these paths from a page of a rebound name. Returns the statuses; `socket` says whether a WebSocket
 * opened.
 */
export async function asksAsStranger(
  browser: Browser,
  meshUrl: string,
  paths: readonly string[],
): Promise<{ readonly statuses: readonly number[]; readonly socket: boolean }> {
  const url = `http://evil.example:${new URL(meshUrl).port}`
  const context = await browser.newContext()
  const page = await context.newPage()
  // The page was served while the name still led to the attacker. Its script may read its own origin, wherever the
  // name leads now.
  await page.route(`${url}/stranger`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<p>Hello' }),
  )
  await page.goto(`${url}/stranger`)
  const statuses = await page.evaluate(
    async (asked) => Promise.all(asked.map(async (path) => (await fetch(path)).status)),
    [...paths],
  )
  const socket = await opensSocket(page, `${url.replace('http', 'ws')}/ws/events?since=0`)
  await context.close()
  return { statuses, socket }
}

/** Returns whether the mesh accepts a WebSocket that a script of the page opens. */
export async function opensSocket(page: Page, url: string): Promise<boolean> {
  return await page.evaluate(
    async (address) =>
      new Promise<boolean>((resolve) => {
        const socket = new WebSocket(address)
        socket.addEventListener('open', () => resolve(true))
        socket.addEventListener('close', () => resolve(false))
      }),
    url,
  )
}
