import { Problem } from '@flotilla/protocol/problem'
import { expect, it } from 'vitest'
import { arrived } from './arrived.ts'

function aPage(answers = true) {
  const values = new Map<string, string>()
  const seen = { reloads: 0 }
  return {
    seen,
    kept: {
      getItem: (name: string) => values.get(name) ?? null,
      setItem: (name: string, value: string) => void values.set(name, value),
    },
    reload: () => void (seen.reloads += 1),
    answers: async () => answers,
    wait: async () => undefined,
  }
}
const missing = () => Promise.reject(new Error('Failed to fetch dynamically imported module: /assets/a-1.js'))

it('a chunk that comes at a later try is used, without loading the page again', async () => {
  const page = aPage()
  let tries = 0
  expect(await arrived(async () => ((tries += 1) < 3 ? missing() : 'code'), page)).toBe('code')
  expect(page.seen.reloads).toBe(0)
})

it('a chunk that the mesh does not have loads the page again, once', async () => {
  const page = aPage()
  const settled = await Promise.race([
    arrived(missing, page),
    new Promise((done) => void setTimeout(done, 20, 'open')),
  ])
  expect([settled, page.seen.reloads]).toEqual(['open', 1])
  await expect(arrived(missing, page)).rejects.toThrow('Failed to fetch')
  expect(page.seen.reloads).toBe(1)
})

it('a chunk of a mesh that does not answer says so, and loads nothing again', async () => {
  const page = aPage(false)
  const error: unknown = await arrived(missing, page).catch((problem: unknown) => problem)
  expect(error instanceof Problem && error.code).toBe('mesh-unreachable')
  expect(page.seen.reloads).toBe(0)
})
