import { chatFrameSchema } from '@flotilla/protocol/agent-api'
import { fleetEventBodySchema } from '@flotilla/protocol/fleet-event'
import { describe, expect, test } from 'vitest'
import { frameEvent } from './announce-frame.ts'
import { aLedgerHarness } from '../../../../testing/src/ledger-harness.ts'

const run = aLedgerHarness().chat('operator')
const wait = {
  type: 'model_wait',
  seconds: 5,
  code: 'rate-limited',
  provider: 'openai',
  provider_status: 429,
}

describe('a wait that an agent reports', () => {
  test("an agent's wait is published with the reason that the mesh gave it", () => {
    expect(frameEvent(run, chatFrameSchema.parse(wait))).toMatchObject({
      type: 'model.delayed',
      state: 'retries',
      seconds: 5,
      provider: 'openai',
      provider_status: 429,
      code: 'rate-limited',
    })
  })

  test("a wait's reason is cut to size, and an unknown code is left out", () => {
    const frame = chatFrameSchema.parse({ ...wait, provider: 'x'.repeat(5000), code: 'y'.repeat(5000) })
    const event = frameEvent(run, frame)
    expect(JSON.stringify(event).length).toBeLessThan(500)
    expect(fleetEventBodySchema.parse(event)).toMatchObject({ code: null })
  })

  test.each([-1, Number.POSITIVE_INFINITY, 1e9, 'soon'])(
    'a wait of %s seconds is not a valid frame',
    (seconds) => {
      expect(chatFrameSchema.safeParse({ ...wait, seconds }).success).toBe(false)
    },
  )
})

test('the files that a run changed are published with the run', () => {
  const files = [{ path: 'a.txt', change: 'made', size_bytes: 2 }]
  const frame = chatFrameSchema.parse({ type: 'files_changed', files, unlisted: 1, is_partial: false })
  const event = fleetEventBodySchema.parse(frameEvent(run, frame))
  expect(event).toEqual({
    type: 'files.changed',
    agent_id: run.agentId,
    run_id: run.id,
    files,
    unlisted: 1,
    is_partial: false,
  })
})
