import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startNameServer } from '../support/name-server.ts'

const host = 'shop.outside.test'

/** A shop page: a field, a button that greets with the typed name, and a file. */
const page = `<!doctype html><title>Shop</title>
<label>Name <input id="name"></label> <button onclick="said.textContent='Hello '+document.getElementById('name').value">Greet</button>
<p id="said"></p><a href="/bill.txt" download="bill.txt">Bill</a>`

/** A page that consists of one button, which reports each press to the shop. */
const button = `<!doctype html><title>Button</title>
<button style="position:fixed;inset:0;width:100%;height:100%;background:teal" onclick="fetch('/pressed')">Press</button>`

export interface Shop {
  readonly url: string
  readonly buttonUrl: string
  /** Egress settings with which a mesh can reach the shop. */
  readonly egress: { readonly dns_servers: readonly string[]; readonly allowed_private: readonly string[] }
  /** Number of presses of the button. */
  readonly pressed: () => number
  close(): Promise<void>
}

/** Starts a site on loopback, with a name that only its own name server resolves. */
export async function startShop(): Promise<Shop> {
  let pressed = 0
  const site = createServer((request, response) => {
    if (request.url === '/pressed') pressed++
    if (request.url === '/bill.txt') {
      response.setHeader('content-disposition', 'attachment; filename="bill.txt"')
      return void response.end('12 EUR')
    }
    response.setHeader('content-type', 'text/html').end(request.url === '/button' ? button : page)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const { port } = site.address() as AddressInfo
  const names = await startNameServer((name) => (name === host ? ['127.0.0.1'] : null))
  return {
    url: `http://${host}:${port}/`,
    buttonUrl: `http://${host}:${port}/button`,
    egress: { dns_servers: [`127.0.0.1:${names.port}`], allowed_private: [`${host}:${port}`] },
    pressed: () => pressed,
    close: async () => {
      names.close()
      site.closeAllConnections()
      await new Promise((resolve) => site.close(resolve))
    },
  }
}
