import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { aServerConnection } from '../testing/a-server-connection.ts'

const refused = new Problem('upstream-failed', { detail: 'A redirect to a private address is not followed.' })
const gone = new Problem('not-found', { detail: 'There is no such page.' })

/** A run whose requests to the server meet an error. */
function aRun(meets: Error, when: 'at once' | 'at its end') {
  const over = new AbortController()
  const requested = Promise.withResolvers<void>()
  const mesh: RunMesh = {
    call: () => Promise.reject(meets),
    open: ({ signal }) => {
      requested.resolve()
      if (when === 'at once') return Promise.reject(meets)
      return new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(meets))
      })
    },
    ended: over.signal,
  }
  return { mesh, isAsked: requested.promise, end: () => over.abort() }
}

/** A server whose first start was refused, and whose retry happens in a run that ends meanwhile. */
async function triedAsTheRunEnds(meets: Error) {
  let mesh: RunMesh | null = aRun(refused, 'at once').mesh
  const connection = aServerConnection({ name: 'away', url: 'http://127.0.0.1:9/mcp', mesh: () => mesh })
  await connection.ensure()
  expect(connection.status()).toMatchObject({ state: 'failed', detail: expect.stringContaining('redirect') })

  const run = aRun(meets, 'at its end')
  mesh = run.mesh
  const again = connection.ensure({ now: true })
  await run.isAsked
  expect(connection.status()).toMatchObject({
    state: 'starting',
    detail: expect.stringContaining('redirect'),
  })
  mesh = null
  run.end()
  await again
  return connection.status()
}

describe('a run that ends as a server is tried again', () => {
  test('a run that ends as a server is tried again leaves the reason why it failed before, and counts for no failure: its rest grows no longer', async () => {
    const { state, detail } = await triedAsTheRunEnds(new Error('This operation was aborted'))
    expect(state).toBe('failed')
    expect(detail).toContain('redirect')
    expect(detail).not.toContain('aborted')
    // A second failure in a row would have a cooldown of 5 s.
    expect(detail).not.toContain('in 5 s')
  })

  test('a run that ends as a server is tried again takes nothing from what the mesh said of it by then', async () => {
    const { state, detail } = await triedAsTheRunEnds(gone)
    expect(state).toBe('failed')
    expect(detail).toContain('There is no such page.')
    expect(detail).toContain('in 5 s')
  })
})

test.each(['credential-refused', 'denied', 'address-refused', 'port-refused'] as const)(
  'a server that the mesh refused (%s) is tried with each use and waited for, so that what was mended counts at once',
  async (code) => {
    const asked: number[] = []
    const connection = aServerConnection({
      name: 'away',
      url: 'http://127.0.0.1:9/mcp',
      mesh: () => ({
        call: () => Promise.reject(new Problem(code)),
        open: () => {
          asked.push(asked.length)
          return Promise.reject(new Problem(code, { detail: 'it is bound elsewhere' }))
        },
        ended: new AbortController().signal,
      }),
    })
    for (let use = 1; use <= 5; use += 1) {
      const before = asked.length
      await connection.ensure()
      expect(asked.length).toBeGreaterThan(before)
      expect(connection.isHopeful()).toBe(true)
      expect(connection.status()).toMatchObject({
        state: 'failed',
        detail: expect.stringMatching(/bound elsewhere.*the next use starts the MCP server again/),
      })
    }
  },
)
