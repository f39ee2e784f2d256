import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import { describe, expect, test } from 'vitest'
import type { PackageImages } from './package-images.ts'
import { lockDigest } from './package-lock.ts'

export interface PackageImagesUnderTest {
  readonly images: PackageImages
  /** A small list that the registries have. */
  readonly available: JoinedPackages
  /** A list with `missingName`, which the registries lack. */
  readonly missing: JoinedPackages
  readonly missingName: string
  /** Returns what an unfinished build would leave: containers, images and sockets. */
  readonly remains: () => Promise<readonly string[]>
  /** Removes the image, as a cleanup of the engine does. */
  readonly forget: (id: string) => Promise<void>
}

/** The time limit of one test, in milliseconds: each builds at least one image. */
const timeoutMs = 15 * 60_000

const progress = (): void => {}

/** Tests the contract of `package-images.ts` for an adapter; `make` is called once. */
export function packageImagesConformance(name: string, make: () => PackageImagesUnderTest): void {
  describe(`${name} builds images with packages`, () => {
    let made: PackageImagesUnderTest | null = null
    const under = () => (made ??= make())

    test('equal lists and locks give one image, also after the engine lost it', { timeout: timeoutMs }, async () => {
      const { images, available, forget } = under()
      const first = await images.ensure(available, { lock: null, progress })
      expect(first.installed).not.toBeNull()
      const again = await images.ensure(available, { lock: first.lock, progress })
      expect(again).toEqual({ id: first.id, lock: first.lock, installed: null })
      await forget(first.id)
      const rebuilt = await images.ensure(available, { lock: first.lock, progress })
      expect(lockDigest(rebuilt.lock)).toBe(lockDigest(first.lock))
      expect(rebuilt.installed).toEqual(first.installed)
    })

    test('a package that its registry lacks is named, and nothing remains', { timeout: timeoutMs }, async () => {
      const { images, missing, missingName, remains } = under()
      await expect(images.ensure(missing, { lock: null, progress })).rejects.toMatchObject({
        id: 'package-missing',
        message: expect.stringContaining(missingName),
      })
      expect(await remains()).toEqual([])
    })

    test('a file with another digest than in the lock is refused', { timeout: timeoutMs }, async () => {
      const { images, available, remains } = under()
      const { lock } = await images.ensure(available, { lock: null, progress })
      const forged = { ...lock, apt: lock.apt.map((one) => ({ ...one, sha256: '0'.repeat(64) })) }
      await expect(images.ensure(available, { lock: forged, progress })).rejects.toMatchObject({
        id: 'lock-differs',
      })
      expect(await remains()).toEqual([])
    })

    test('an interrupted build leaves nothing', { timeout: timeoutMs }, async () => {
      const { images, available, remains } = under()
      const { lock, id } = await images.ensure(available, { lock: null, progress })
      await under().forget(id)
      const stop = new AbortController()
      const interrupted = images.ensure(available, {
        lock,
        signal: stop.signal,
        // The second step is reported while the container exists.
        progress: (step) => {
          if (/without a network/.test(step)) stop.abort(new Error('interrupted'))
        },
      })
      await expect(interrupted).rejects.toThrow('interrupted')
      expect(await remains()).toEqual([])
    })
  })
}
