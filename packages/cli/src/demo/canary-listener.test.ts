import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openCanaryListener } from './canary-listener.ts'

describe('canary listener', () => {
  it('the listener counts every connection and stops listening after close', async () => {
    const canary = await openCanaryListener()
    const before = canary.connections()
    expect(before).toBeGreaterThan(0)
    await new Promise((resolve) =>
      connect({ host: '127.0.0.1', port: canary.port }).once('close', resolve).resume(),
    )
    expect(canary.connections()).toBe(before + 1)
    await canary.close()
    const refused = await new Promise<unknown>((resolve) =>
      connect({ host: '127.0.0.1', port: canary.port }).once('error', resolve),
    )
    expect(refused).toMatchObject({ code: 'ECONNREFUSED' })
  })
})
