import { afterEach, expect, test } from 'vitest'
import { aLedgerHarness } from '../../testing/ledger-harness.ts'
import type { LedgerHarness } from '../../testing/ledger-harness.ts'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'

const opened: LedgerHarness[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((world) => world.ledger.close()))
})

test('an agent that floods makes 50 rows a second at most, and its next words and its end are still heard', async () => {
  const world = aLedgerHarness()
  opened.push(world)
  world.ledger.start()
  await world.clock.settle()
  const run = world.chat('operator')
  const frames: ChatStreamFrame[] = []
  const reading = (async () => {
    for await (const frame of world.ledger.delivery.outcomes.follow(run.id, new AbortController().signal)) {
      frames.push(frame)
    }
  })()
  await world.clock.settle()
  const tools = () =>
    frames.filter((frame) => frame.type === 'event' && frame.event.type === 'tool.started').length

  for (let step = 0; step < 1000; step++) {
    world.agents.say('operator', { type: 'tool_start', step, name: 'x', input: {} })
  }
  world.agents.say('operator', { type: 'text_delta', content: 'still here' })
  await world.clock.settle()
  expect(tools()).toBe(50)
  expect(JSON.stringify(frames)).toContain('still here')

  await world.clock.advance(1000)
  world.agents.say('operator', { type: 'tool_start', step: 1, name: 'x', input: {} })
  world.agents.finish('operator', { response: 'the end' })
  await reading
  expect(tools()).toBe(51)
  expect(frames.at(-1)).toMatchObject({ type: 'ended', run: { outcome: { text: 'the end' } } })
})
