import { expect, test } from 'vitest'
import { whyNotResumed } from './why-not-resumed.ts'

test.each([
  ['an agent that is paused itself', 'busy', ['scribe'], null],
  ['an agent that is paused itself and with the fleet', 'busy', [null, 'scribe'], null],
  ['an agent that is not paused', null, ['other'], 'It is not paused.'],
  ['an agent of a paused fleet', 'busy', [null], 'The whole fleet is paused; Resume triggers ends that.'],
  [
    'an agent whose maker is paused',
    'busy',
    ['maker'],
    'It is paused with the agent that made it; resume that one.',
  ],
])('%s can be resumed, or the reason says where the pause ends', (...[, paused, scopes, why]) => {
  const pauses = scopes.map((scope) => ({ agent_id: scope }))
  expect(whyNotResumed({ id: 'scribe', paused }, pauses)).toBe(why)
})
