import type { FleetEvent, FleetEventBody } from '@flotilla/protocol/fleet-event'
import { expect, it } from 'vitest'
import { takeDelays } from './run-delays.ts'

const event = (body: FleetEventBody): FleetEvent => ({ seq: 1, at: 1000, body })
const of = { agent_id: 'scribe', run_id: 'run_1' }
const retry = event({
  type: 'model.delayed',
  ...of,
  state: 'retries',
  seconds: 5,
  model: null,
  provider: null,
  provider_status: 429,
  code: 'rate-limited',
})
const steer = event({
  type: 'steer.changed',
  ...of,
  steer_id: 'steer_1',
  state: 'waiting',
  text: 'more',
  step: null,
  became_run_id: null,
})

it('a retry delays its run until the next event of the run that is no steer', () => {
  const delayed = takeDelays(new Map(), [retry])
  expect([...delayed]).toEqual([['run_1', 6000]])
  expect(takeDelays(delayed, [steer])).toBe(delayed)
  expect(
    takeDelays(delayed, [
      event({ type: 'text.streamed', agent_id: 'scribe', run_id: 'run_2', content: 'x' }),
    ]),
  ).toBe(delayed)
  expect(takeDelays(delayed, [event({ type: 'text.streamed', ...of, content: 'x' })]).size).toBe(0)
})
