import { expect, it } from 'vitest'
import { formatActor } from './format-actor.ts'

it.each([
  ['human:dashboard', 'owner (dashboard)'],
  ['human:cli', 'owner (terminal)'],
  ['human:ann@telegram', 'ann (telegram)'],
  ['human:a@b@api', 'a@b (API)'],
  ['agent:scout', 'scout'],
  ['scout', 'scout'],
  ['system', 'mesh'],
])('says of %s that it is %s', (actor, words) => {
  expect(formatActor(actor)).toBe(words)
})
