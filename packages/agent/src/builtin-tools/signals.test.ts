import { topicLimits } from '@flotilla/protocol/topics-api'
import { expect, test } from 'vitest'
import { noMesh } from '../testing/loop-parts.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { executeToolCall } from '../tools/execute-tool-call.ts'
import { signalTools } from './signals.ts'

test('the largest signal is read whole, however its data is laid out', async () => {
  const tool = signalTools().find(({ definition }) => definition.name === 'read_signals')
  if (!tool) throw new Error('there is no read_signals')
  const text = 'figures'
  const data = Array.from({ length: (topicLimits.signalMaxBytes - 20) / 2 }, () => 1)
  expect(JSON.stringify([text, data]).length).toBeGreaterThan(topicLimits.signalMaxBytes - 20)
  const signal = { id: 'sig_1', topic: 't'.repeat(128), from: 'scout', at: 1_795_000_000_000, text, data }
  const answer = { signals: [signal], more: 0 }
  const mesh = { ...noMesh, call: async () => answer }
  const context = {
    mesh,
    idempotencyKey: 'run_1:1',
    taskId: null,
    signal: new AbortController().signal,
  }
  const { output } = await executeToolCall(tool, { limit: 20 }, { context, clock: createManualClock() })
  expect(JSON.parse(output)).toEqual(answer)
})
