import type { Browser, Page } from 'playwright-core'

/** Makes a browser look up the name of a stranger at this machine, as a stranger's name server can. */
/** And keeps the browser's own wall before private addresses out of it: what is attacked is ours. */
export const rebound = [
  '--host-resolver-rules=MAP evil.example 127.0.0.1',
  '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights',
]

/** Addresses that a page could ask for, and what its browser was answered; `socket` is whether one opened. */
export async function asksAsStranger(
  browser: Browser,
  meshUrl: string,
  paths: readonly string[],
): Promise<{ readonly statuses: readonly number[]; readonly socket: boolean }> {
  const url = `http://evil.example:${new URL(meshUrl).port}`
  const context = await browser.newContext()
  const page = await context.newPage()
  // Served while the name still led to the stranger; its script reads its own origin freely, wherever that leads now.
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

/** Whether a socket that a script of the page opens is let in. */
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
