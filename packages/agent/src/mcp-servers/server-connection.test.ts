import { Problem } from '@flotilla/protocol/problem'
import { expect, test } from 'vitest'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { systemClock } from '../system-clock.ts'
import { quietLog } from '../testing/quiet-log.ts'
import { createServerConnection } from './server-connection.ts'

const refused = new Problem('address-refused', { detail: 'A redirect to a private address is not followed.' })

test('a run that ends as a server is tried again leaves the reason why it failed, and counts for nothing', async () => {
  let asked = 0
  let heard: () => void = () => undefined
  const isAsked = new Promise<void>((resolve) => {
    heard = resolve
  })
  const over = new AbortController()
  const first: RunMesh = {
    call: () => Promise.reject(refused),
    open: () => Promise.reject(refused),
    ended: new AbortController().signal,
  }
  // The far end is silent until the run is over.
  const second: RunMesh = {
    ...first,
    open: ({ signal }) =>
      new Promise((_resolve, reject) => {
        asked += 1
        heard()
        signal?.addEventListener('abort', () => reject(new Error('This operation was aborted')))
      }),
    ended: over.signal,
  }
  let mesh: RunMesh | null = first
  const connection = createServerConnection({
    brief: {
      kind: 'remote',
      name: 'away',
      url: 'http://127.0.0.1:9/mcp',
      transport: 'http',
      startupTimeoutMs: 60_000,
      callTimeoutMs: 60_000,
      tools: null,
    },
    loadSdk: () => import('../parts/mcp.ts'),
    mesh: () => mesh,
    environment: {},
    directory: '/',
    clock: systemClock,
    log: quietLog,
    onChanged: () => undefined,
  })
  try {
    await connection.ensure()
    expect(connection.status()).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('redirect'),
    })

    mesh = second
    const again = connection.ensure({ now: true })
    await isAsked
    expect(connection.status()).toMatchObject({
      state: 'starting',
      detail: expect.stringContaining('redirect'),
    })
    mesh = null
    over.abort()
    await again
    expect(asked).toBe(1)
    const { state, detail } = connection.status()
    expect(state).toBe('failed')
    expect(detail).toContain('redirect')
    expect(detail).not.toContain('aborted')
  } finally {
    await connection.close()
  }
})
