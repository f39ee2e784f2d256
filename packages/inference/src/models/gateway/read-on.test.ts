import { expect, test } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { createReadOn } from './read-on.ts'
import { agentShareLimits } from '@flotilla/foundation/intake'

test('agents that have all they hang up on read on leave some of it for the next, and get it back', () => {
  const readOn = createReadOn({ clock: createManualClock() })
  const ends: (() => void)[] = []
  const hungUpOn = (agentId: string) => {
    const client = readOn.begin(agentId)
    const end = client.opened(true)
    client.clientLeft()
    if (client.why() === null) ends.push(end)
    return client.why()
  }
  const takeAll = (agentId: string): number => {
    let taken = 0
    while (hungUpOn(agentId) === null) taken++
    return taken
  }
  expect(takeAll('a0')).toBe(16)
  expect(readOn.openOf('a0')).toBe(16)
  // So many agents that their shares would use up the total.
  for (let agent = 1; agent < 8; agent++) takeAll(`a${agent}`)
  for (let agent = 8; agent < 24; agent++) expect(takeAll(`a${agent}`)).toBeGreaterThanOrEqual(2)
  expect(ends.length).toBeLessThanOrEqual(agentShareLimits.readOn.max)
  expect(hungUpOn('a0')).toBe('read-on-crowded')
  for (const end of ends.splice(0)) end()
  expect(readOn.openOf('a0')).toBe(0)
  expect(takeAll('a0')).toBe(16)
})
