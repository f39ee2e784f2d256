import { expect, test } from 'vitest'
import { boundsOfAgent } from './backup-data-bounds.ts'

const tb = 1024 ** 4

test('agents that use all they can leave each later agent an equal share', () => {
  const agents = 100
  const used = { entries: 0, bytes: 0 }
  for (let at = 0; at < agents; at++) {
    const bounds = boundsOfAgent(5 * tb, { agents, follow: agents - at - 1, ...used })
    expect(bounds.entriesMax).toBeGreaterThanOrEqual(200_000_000 / agents)
    expect(bounds.bytesMax).toBeGreaterThanOrEqual(0.15 * tb)
    used.entries += bounds.entriesMax
    used.bytes += bounds.bytesMax
  }
  expect(used.entries).toBeLessThanOrEqual(200_000_000)
  expect(used.bytes).toBeLessThanOrEqual(16 * tb)
})

test('what earlier agents did not use is available, up to the limits of one agent', () => {
  const bounds = boundsOfAgent(tb, { agents: 1000, follow: 0, entries: 1000, bytes: tb })
  expect(bounds).toMatchObject({ entriesMax: 2_000_000, bytesMax: tb })
})
