import { describe, expect, test } from 'vitest'
import type { BrowserContainers, BrowserSpec } from './browser-containers.ts'

export interface BrowserContainersUnderTest {
  readonly containers: BrowserContainers
  /** Opens a listener at the address of `proxyPlace`; called once, after `prepare`. */
  readonly listen: (place: { readonly host: string; readonly port: number }) => Promise<void>
  /** Returns the spec for this agent's browser; the folder of its bootstrap files exists. */
  readonly specOf: (agentId: string) => BrowserSpec
}

/** Tests the contract of `browser-containers.ts` for an adapter; `make` is called once. */
export function browserContainersConformance(
  name: string,
  make: () => Promise<BrowserContainersUnderTest>,
): void {
  describe(`${name} holds browsers`, () => {
    let made: Promise<BrowserContainersUnderTest> | null = null
    const under = async () => {
      made ??= make().then(async (one) => {
        await one.containers.prepare(new AbortController().signal)
        await one.listen(one.containers.proxyPlace())
        return one
      })
      return made
    }

    test(`${name} holds browsers, and all walls that are tried hold`, async () => {
      const { containers } = await under()
      const walls = await containers.checkWalls(new AbortController().signal)
      expect(walls.length).toBeGreaterThan(0)
      expect(walls.filter(({ holds }) => !holds)).toEqual([])
    })

    test('stopping or removing an unknown browser is not an error, and inspecting it gives null', async () => {
      const { containers } = await under()
      await containers.stop('nobody')
      await containers.removeProfile('nobody')
      expect(await containers.inspect('nobody')).toBeNull()
    })

    test('one that was started runs, at an address, until it is stopped', async () => {
      const { containers, specOf } = await under()
      const address = await containers.start(specOf('ada'))
      expect(address.port).toBeGreaterThan(0)
      expect(await containers.inspect('ada')).toEqual({ running: true })
      await containers.stop('ada')
      await containers.stop('ada')
      expect(await containers.inspect('ada')).toBeNull()
    })

    test('a second start takes the place of the first', async () => {
      const { containers, specOf } = await under()
      await containers.start(specOf('ada'))
      await containers.start(specOf('ada'))
      expect(await containers.inspect('ada')).toEqual({ running: true })
      await containers.stop('ada')
      expect(await containers.inspect('ada')).toBeNull()
    })

    test('removeAll removes the browsers that an earlier process started', async () => {
      const { containers, specOf } = await under()
      await containers.start(specOf('ada'))
      await containers.start(specOf('bob'))
      await containers.removeAll()
      expect([await containers.inspect('ada'), await containers.inspect('bob')]).toEqual([null, null])
    })
  })
}
