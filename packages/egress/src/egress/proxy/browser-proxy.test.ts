import { afterEach, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aBrowserProxy } from '../../../../testing/src/browser-proxy-harness.ts'
import type { BrowserProxyHarness } from '../../../../testing/src/browser-proxy-harness.ts'
import { aFarEnd } from '../../../../testing/src/proxy-harness.ts'
import { isPublicAddress } from '../policy/public-addresses.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A proxy with one server that the owner allowed by its exact address and port. */
async function theProxy(): Promise<BrowserProxyHarness & { readonly place: string; readonly port: number }> {
  const far = await aFarEnd((socket) => void socket.write('hello'))
  const proxy = await aBrowserProxy({
    resolve: async () => [{ address: '10.1.2.3', family: 4 }],
    isAllowed: (address) => address === '127.0.0.1' || isPublicAddress(address),
    allowedPorts: [far.port],
  })
  closing.push(far.close, proxy.close)
  return { ...proxy, place: `127.0.0.1:${far.port}`, port: far.port }
}

test('a browser connects with its own token and is disconnected when it is closed', async () => {
  const { ask, browsers, place } = await theProxy()
  const { head, socket } = await ask(place, 'ada-browser')
  expect(head).toMatch(/^HTTP\/1\.1 200 /)
  const cut = new Promise((resolve) => socket.once('close', resolve))
  browsers.delete('ada-browser')
  await cut
  expect((await ask(place, 'ada-browser')).head).toMatch(/^HTTP\/1\.1 407 /)
})

test("a client without a token, or with a program's token, is refused", async () => {
  heedsLesson(123)
  const { ask, place } = await theProxy()
  for (const token of [null, 'ada-program', 'guess']) {
    expect((await ask(place, token)).head).toMatch(/^HTTP\/1\.1 407 /)
  }
})

test('a browser is refused and disconnected when its agent loses the permission', async () => {
  const { ask, may, place } = await theProxy()
  expect((await ask(place, 'bob-browser')).head).toMatch(/^HTTP\/1\.1 403 /)
  const { socket } = await ask(place, 'ada-browser')
  const cut = new Promise((resolve) => socket.once('close', resolve))
  may.clear()
  await cut
})

test('the filter refuses to browsers what it refuses to agents', async () => {
  const { ask, port } = await theProxy()
  expect((await ask(`inside.test:${port}`, 'ada-browser')).head).toContain('address-refused')
  expect((await ask('127.0.0.1:22', 'ada-browser')).head).toContain('port-refused')
})
