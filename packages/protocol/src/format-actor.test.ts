import { expect, it } from 'vitest'
import { formatActor, formatOrigin } from './format-actor.ts'

it.each([
  ['human:dashboard', 'owner (dashboard)'],
  ['human:cli', 'owner (terminal)'],
  ['human:ann@telegram', 'ann (telegram)'],
  ['human:a@b@api', 'a@b (API)'],
  ['agent:scout', 'scout'],
  ['scout', 'scout'],
  ['system', 'mesh'],
])('an actor as text says of %s that it is %s', (actor, words) => {
  expect(formatActor(actor)).toBe(words)
})

it('an actor as text says of work who asked for it', () => {
  expect(formatOrigin({ kind: 'human', channel: 'dashboard' })).toBe('owner (dashboard)')
  expect(formatOrigin({ kind: 'human', channel: 'telegram', user: 'ann' })).toBe('ann (telegram)')
  expect(formatOrigin({ kind: 'webhook', channel: 'hook_1' })).toBe('webhook · hook_1')
})
