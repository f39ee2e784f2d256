import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import { describe, expect, test } from 'vitest'
import type { PackageImage, PackageImages } from './package-images.ts'
import { lockDigest } from './package-lock.ts'
import type { PackageLock } from './package-lock.ts'

export interface PackageImagesUnderTest {
  readonly images: PackageImages
  /** A small list that the registries have. */
  readonly available: JoinedPackages
  /** A list with `missingName`, which the registries lack. */
  readonly missing: JoinedPackages
  readonly missingName: string
  /** Returns the lock of `available` with another digest of a file. */
  readonly forge: (lock: PackageLock) => PackageLock
  /** Returns what an unfinished build would leave: containers, images and sockets. */
  readonly remains: () => Promise<readonly string[]>
  /** Removes the image, as a cleanup of the engine does. */
  readonly forget: (id: string) => Promise<void>
}

/** The time limit of one test, in milliseconds: each builds at least one image. */
const timeoutMs = 15 * 60_000

const progress = (): void => {}
const limits = { downloadMaxBytes: 100 * 1024 * 1024, timeoutMs: 10 * 60_000 }

/** Tests the contract of `package-images.ts` for an adapter; `make` is called once. */
export function packageImagesConformance(name: string, make: () => PackageImagesUnderTest): void {
  describe(`${name} builds images with packages`, () => {
    let made: PackageImagesUnderTest | null = null
    let resolved: Promise<PackageImage> | null = null
    const under = () => (made ??= make())
    /** The result of the first build, whose image a test may have removed since. */
    const first = () => {
      const { images, available } = under()
      return (resolved ??= images.ensure(available, { lock: null, progress }))
    }

    test(
      'equal lists and locks give one image, also after the engine lost it',
      { timeout: timeoutMs },
      async () => {
        const { images, available, forget } = under()
        const { id, lock, installed } = await first()
        const again = await images.ensure(available, { lock, progress })
        expect(again).toEqual({ id, lock, installed })
        await forget(id)
        const rebuilt = await images.ensure(available, { lock, progress })
        expect(lockDigest(rebuilt.lock)).toBe(lockDigest(lock))
        if (installed !== null) expect(rebuilt.installed).toEqual(installed)
        await forget(rebuilt.id)
      },
    )

    test(
      'a package that its registry lacks is named, and nothing remains',
      { timeout: timeoutMs },
      async () => {
        const { images, missing, missingName, remains } = under()
        await expect(images.ensure(missing, { lock: null, progress })).rejects.toMatchObject({
          id: 'package-missing',
          message: expect.stringContaining(missingName),
        })
        expect(await remains()).toEqual([])
      },
    )

    test('a file with another digest than in the lock is refused', { timeout: timeoutMs }, async () => {
      const { images, available, forge, remains } = under()
      const lock = forge((await first()).lock)
      await expect(images.ensure(available, { lock, progress })).rejects.toMatchObject({ id: 'lock-differs' })
      expect(await remains()).toEqual([])
    })

    test(
      'a chosen lock is that of an image of the list, with each file, and nothing remains',
      { timeout: timeoutMs },
      async () => {
        const { images, available, remains } = under()
        const { lock, files, registries } = await images.resolve(available, limits)
        expect(lockDigest(lock)).toBe(lockDigest((await first()).lock))
        const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).toSorted()
        expect(names(files)).toEqual(names([...lock.apt, ...lock.npm, ...lock.pip]))
        for (const { bytes, digest } of files) {
          expect(bytes).toBeGreaterThan(0)
          expect(digest).toMatch(/^sha(?:256:|512-)/)
        }
        expect(registries).not.toEqual([])
        expect(await remains()).toEqual([])
      },
    )

    test('a choice of a lock ends at its limit of bytes', { timeout: timeoutMs }, async () => {
      const { images, available, remains } = under()
      const small = { ...limits, downloadMaxBytes: 100 }
      await expect(images.resolve(available, small)).rejects.toMatchObject({
        id: 'packages-failed',
        message: expect.stringContaining('larger than'),
      })
      expect(await remains()).toEqual([])
    })

    test('a missing package is named when a lock is chosen', { timeout: timeoutMs }, async () => {
      const { images, missing, missingName, remains } = under()
      await expect(images.resolve(missing, limits)).rejects.toMatchObject({
        id: 'package-missing',
        message: expect.stringContaining(missingName),
      })
      expect(await remains()).toEqual([])
    })

    test('an interrupted build leaves nothing', { timeout: timeoutMs }, async () => {
      const { images, available, forget, remains } = under()
      const { lock, id } = await first()
      await forget(id)
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
