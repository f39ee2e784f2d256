import { expect, onTestFinished, test } from 'vitest'
import { aLedgerHarness } from '../../../../testing/src/ledger-harness.ts'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'

test('an agent that floods writes at most 50 rows a second, and its next message and its end still arrive', async () => {
  const harness = aLedgerHarness()
  onTestFinished(() => harness.ledger.close())
  harness.ledger.start()
  await harness.clock.settle()
  const run = harness.chat('operator')
  const frames: ChatStreamFrame[] = []
  const reading = (async () => {
    for await (const frame of harness.ledger.delivery.outcomes.follow(run.id, new AbortController().signal)) {
      frames.push(frame)
    }
  })()
  await harness.clock.settle()
  const tools = () =>
    frames.filter((frame) => frame.type === 'event' && frame.event.type === 'tool.started').length

  for (let step = 0; step < 1000; step++) {
    harness.agents.say('operator', { type: 'tool_start', step, name: 'x', input: {} })
  }
  harness.agents.say('operator', { type: 'text_delta', content: 'still here' })
  await harness.clock.settle()
  expect(tools()).toBe(50)
  expect(JSON.stringify(frames)).toContain('still here')

  await harness.clock.advance(1000)
  harness.agents.say('operator', { type: 'tool_start', step: 1, name: 'x', input: {} })
  harness.agents.finish('operator', { response: 'the end' })
  await reading
  expect(tools()).toBe(51)
  expect(frames.at(-1)).toMatchObject({ type: 'ended', run: { outcome: { text: 'the end' } } })
})
