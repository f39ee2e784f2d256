import { imageTypeOf } from '@flotilla/protocol/image-type'
import { describe, expect, test } from 'vitest'
import type { BrowserService } from './browser-service.ts'

export interface BrowserUnderTest {
  readonly service: BrowserService
  /** An address that it can open. */
  readonly url: string
}

const key = Buffer.alloc(16, 7).toString('base64')

/**
 * The properties of a browser that the mesh relies on; `make` is called once, and all tests use its browser.
 */
export function browserServiceConformance(name: string, make: () => Promise<BrowserUnderTest>): void {
  describe(`${name} is a browser service`, () => {
    let made: Promise<BrowserUnderTest> | null = null
    const under = () => (made ??= make())
    const signal = () => AbortSignal.timeout(60_000)
    const act = async (action: Parameters<BrowserService['act']>[0], params: Record<string, unknown> = {}) =>
      (await under()).service.act(action, { params, deadlineMs: 30_000, signal: signal() })

    test(`${name} says that it is ready`, async () => {
      const { service } = await under()
      expect(await service.status(signal())).toMatchObject({ ready: true, mode: 'view' })
    })

    test(`${name} opens a page, and says which`, async () => {
      const { url } = await under()
      const reply = await act('navigate', { url })
      expect(reply).toMatchObject({ ok: true, data: { page: { url, host: new URL(url).host } } })
    })

    test(`${name} gives a picture of its page`, async () => {
      const reply = await act('screenshot')
      expect(reply).toMatchObject({ ok: true })
      expect(reply.ok && String(reply.data['image_base64']).length).toBeGreaterThan(20)
    })

    test(`${name} gives a small picture of it for who looks on, and shows the same page after`, async () => {
      const { service } = await under()
      const before = await service.status(signal())
      const picture = await service.picture(signal())
      expect(imageTypeOf(picture ?? new Uint8Array())).not.toBeNull()
      expect(await service.status(signal())).toMatchObject({ url: before.url, tabs: before.tabs })
    })

    test(`${name} lets a person have it, and takes it back`, async () => {
      const { service } = await under()
      await service.setWatchMode('control', signal())
      expect(await service.status(signal())).toMatchObject({ mode: 'control' })
      await service.setWatchMode('view', signal())
      expect(await service.status(signal())).toMatchObject({ mode: 'view' })
    })

    test(`${name} puts no answer into a page that asks for none`, async () => {
      const { service } = await under()
      const answer = {
        kind: 'hcaptcha',
        host: 'shop.test',
        site_key: 'key-of-a-page',
        token: 'token',
      } as const
      expect(await service.answerCaptcha(answer, signal())).toBe(false)
    })

    test(`${name} opens its screen as plain WebSocket frames`, async () => {
      const { service } = await under()
      const { line, head } = await service.screen('view', { key, signal: signal() })
      const chunks: Buffer[] = [head]
      while (!Buffer.concat(chunks).includes('RFB 003')) {
        chunks.push(await new Promise<Buffer>((resolve) => line.once('data', resolve)))
      }
      line.destroy()
      // The first two bytes of a binary frame of 12 bytes that is whole, unmasked and without extension bits.
      expect([...Buffer.concat(chunks).subarray(0, 2)]).toEqual([0x82, 12])
    })

    test(`${name} closes when it is asked to`, async () => {
      const { service } = await under()
      await expect(service.close(signal())).resolves.toBeUndefined()
    })
  })
}
