import { describe, expect, test } from 'vitest'
import { isolationWish } from './isolation-wish.ts'
import { defaultSettings, parseSettings } from './settings-file.ts'

describe('the isolation level of an agent', () => {
  const nothing = { start: 'container', record: 'container' } as const

  test('the isolation level of an agent is a container, unless the fleet or the agent has more', () => {
    expect(isolationWish(defaultSettings, 'clerk', nothing)).toEqual({
      wanted: 'container',
      floor: 'container',
    })
    const settings = parseSettings('{"isolation": "gvisor", "agents": {"clerk": {"isolation": "container"}}}')
    expect(isolationWish(settings, 'clerk', nothing).wanted).toBe('container')
    expect(isolationWish(settings, 'other', nothing)).toEqual({ wanted: 'gvisor', floor: 'container' })
  })

  test('the isolation level of an agent is never less than its record and a required setting say, and the start may ask for more', () => {
    const settings = parseSettings(
      '{"isolation": "gvisor", "agents": {"clerk": {"isolation_mode": "required"}}}',
    )
    const all = { wanted: 'gvisor', floor: 'gvisor' }
    expect(isolationWish(settings, 'clerk', nothing)).toEqual(all)
    expect(isolationWish(defaultSettings, 'any', { ...nothing, record: 'gvisor' })).toEqual(all)
    expect(isolationWish(defaultSettings, 'any', { ...nothing, start: 'gvisor' })).toEqual({
      wanted: 'gvisor',
      floor: 'container',
    })
  })

  test.each(['none', 'Gvisor', ''])('the isolation level %j is rejected', (isolation) => {
    expect(() => parseSettings(JSON.stringify({ isolation }))).toThrow(/isolation/)
  })
})
