import { expect, test } from 'vitest'
import { requireKnownAgents } from './require-known-agents.ts'

const lacks = 'the backup has no agent with the id'

test('an agent that is not there is refused with the names that are', () => {
  expect(() => requireKnownAgents(['scout'], { agents: ['scout', 'writer'], lacks })).not.toThrow()
  expect(() => requireKnownAgents(['scot'], { agents: ['scout', 'writer'], lacks })).toThrow(
    expect.objectContaining({
      code: 'not-found',
      detail: 'the backup has no agent with the id scot, which --without names',
      repair: 'Name one of scout, writer; nothing was written.',
    }),
  )
})

test('where no agent has data, the repair names none', () => {
  expect(() => requireKnownAgents(['scout'], { agents: [], lacks })).toThrow(
    expect.objectContaining({ repair: 'Leave out --without: no agent has data; nothing was written.' }),
  )
})
