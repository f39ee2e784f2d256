import { expect, test } from 'vitest'
import type { PackageImage } from '../package-images.ts'
import type { PackageLock } from '../package-lock.ts'
import { createPackageImages } from './create-package-images.ts'

const list = { apt: [], npm: ['semver'], pip: [] }
const lock: PackageLock = {
  lock_version: 1,
  architecture: 'x64',
  packages: {},
  apt: [],
  npm: [],
  pip: [],
  npm_lock: '',
}
const image: PackageImage = { id: 'sha256:held', lock, installed: [] }
const progress = (): void => {}

/** Package images whose builds end when their promise does, or by their signal. */
function images(held: PackageImage | null) {
  const begun: PromiseWithResolvers<PackageImage>[] = []
  const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const closing = new AbortController()
  const cleaned = Promise.withResolvers<void>()
  const made = createPackageImages(
    {} as never,
    { base: async () => ({}) as never, closing: closing.signal },
    {
      held: async () => held,
      resolve: async () => Promise.reject(new Error('no lock is chosen here')),
      derive: async (_options, _base, { signal }) => {
        const build = Promise.withResolvers<PackageImage>()
        begun.push(build)
        started[begun.length - 1]?.resolve()
        signal.addEventListener('abort', () => {
          void cleaned.promise.then(() => build.reject(signal.reason))
        })
        return build.promise
      },
    },
  )
  return { made, begun, started, closing, cleaned }
}

test('an image that exists is returned while another list is being built', async () => {
  const { made, started } = images(image)
  const other = made.ensure(list, { lock: null, progress })
  await started[0]?.promise
  expect(await made.ensure(list, { lock, progress })).toBe(image)
  other.catch(() => undefined)
})

test('builds run one after another, and an aborted one that waits never begins', async () => {
  const { made, begun, started } = images(null)
  const first = made.ensure(list, { lock: null, progress })
  const stop = new AbortController()
  const second = made.ensure(list, { lock: null, progress, signal: stop.signal })
  const third = made.ensure(list, { lock: null, progress })
  await started[0]?.promise
  stop.abort(new Error('stopped'))
  begun[0]?.resolve(image)
  await expect(second).rejects.toThrow('stopped')
  await first
  await started[1]?.promise
  begun[1]?.resolve(image)
  await third
  expect(begun).toHaveLength(2)
})

test('closing cuts a build off, and the builds are idle once its container is removed', async () => {
  const { made, started, closing, cleaned } = images(null)
  const build = made.ensure(list, { lock: null, progress })
  await started[0]?.promise
  closing.abort(new Error('closed'))
  const order: string[] = []
  const idle = made.idle().then(() => order.push('idle'))
  order.push('removed')
  cleaned.resolve()
  await expect(build).rejects.toThrow('closed')
  await idle
  expect(order).toEqual(['removed', 'idle'])
})

test('a build counts beside agents while it runs, and a build that waits does not', async () => {
  const { made, begun, started } = images(null)
  expect(made.beside()).toEqual([])
  const first = made.ensure(list, { lock: null, progress })
  const second = made.ensure(list, { lock: null, progress })
  await started[0]?.promise
  expect(made.beside()).toEqual([{ name: 'a build of an image', memoryBytes: 2 * 1024 ** 3 }])
  begun[0]?.reject(new Error('failed'))
  await expect(first).rejects.toThrow('failed')
  await started[1]?.promise
  begun[1]?.resolve(image)
  await second
  expect(made.beside()).toEqual([])
})
