import { expect, test } from 'vitest'
import { createJsonLog } from './json-log.ts'
import { createManualClock } from './testing/manual-clock.ts'

/** The standard output of a container, which a test lets fail. */
function aContainerLog() {
  const clock = createManualClock('2026-11-28T12:00:00Z')
  const place = { text: '', fault: null as string | null, roomBytes: Infinity }
  const log = createJsonLog({
    clock,
    writeSome: (bytes) => {
      if (place.fault !== null && place.roomBytes <= 0)
        throw Object.assign(new Error(place.fault), { code: place.fault })
      const taken = bytes.subarray(0, Math.min(bytes.length, place.roomBytes))
      place.roomBytes -= taken.length
      place.text += new TextDecoder().decode(taken)
      return taken.length
    },
    formatError: String,
  })
  return { clock, place, log }
}

test('lines that the log of a container does not take are counted, and the count is written once it does', async () => {
  const { clock, place, log } = aContainerLog()
  log.info({}, 'first')
  Object.assign(place, { fault: 'ENOSPC', roomBytes: 0 })
  log.info({}, 'second')
  log.error({ err: new Error('x') }, 'third')
  Object.assign(place, { fault: null, roomBytes: Infinity })
  await clock.advance(1000)
  const lines = place.text.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 'info', msg: 'first' },
    { level: 'warn', msg: 'dropped 2 log lines: no space left (ENOSPC)', dropped: 2 },
  ])
})

test('a line that was cut off does not spoil the line after it', () => {
  const { place, log } = aContainerLog()
  Object.assign(place, { fault: 'ENOSPC', roomBytes: 10 })
  log.info({}, 'cut')
  Object.assign(place, { fault: null, roomBytes: Infinity })
  log.info({}, 'whole')
  const [torn = '', ...whole] = place.text.trim().split('\n')
  expect(torn).toHaveLength(10)
  expect(whole.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ dropped: 1 }, { msg: 'whole' }])
})
