import { Problem } from '@flotilla/protocol/problem'
import { expect, it } from 'vitest'
import { loadChunk } from './load-chunk.ts'

function aPage(answers = true) {
  const values = new Map<string, string>()
  const seen = { reloads: 0 }
  const reloaded = Promise.withResolvers<string>()
  return {
    seen,
    reloaded: reloaded.promise,
    kept: {
      getItem: (name: string) => values.get(name) ?? null,
      setItem: (name: string, value: string) => void values.set(name, value),
    },
    reload: () => {
      seen.reloads += 1
      reloaded.resolve('reloaded')
    },
    answers: async () => answers,
    wait: async () => undefined,
  }
}
const missing = () => Promise.reject(new Error('Failed to fetch dynamically imported module: /assets/a-1.js'))

it('a chunk that comes at a later try is used, without loading the page again', async () => {
  const page = aPage()
  let tries = 0
  expect(await loadChunk(async () => ((tries += 1) < 3 ? missing() : 'code'), page)).toBe('code')
  expect(page.seen.reloads).toBe(0)
})

it('a chunk that the mesh does not have loads the page again, once', async () => {
  const page = aPage()
  const loading = loadChunk(missing, page)
  expect(await Promise.race([loading, page.reloaded])).toBe('reloaded')
  let isOpen = true
  const settle = () => void (isOpen = false)
  void loading.then(settle, settle)
  // Code after the reload that returned or threw would settle the promise within these microtasks.
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  expect(isOpen).toBe(true)
  expect(page.seen.reloads).toBe(1)
  await expect(loadChunk(missing, page)).rejects.toThrow('Failed to fetch')
  expect(page.seen.reloads).toBe(1)
})

it('a chunk of a mesh that does not answer says so, and loads nothing again', async () => {
  const page = aPage(false)
  const error: unknown = await loadChunk(missing, page).catch((problem: unknown) => problem)
  expect(error instanceof Problem && error.code).toBe('mesh-unreachable')
  expect(page.seen.reloads).toBe(0)
})
