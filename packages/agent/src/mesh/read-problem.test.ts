import { expect, test } from 'vitest'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import { readProblem } from './read-problem.ts'

test('the agent gets the repair for this case, else the one of the catalogue', () => {
  const told = readProblem(403, {}, JSON.stringify({ code: 'denied', detail: 'no', repair: 'Ask ann.' }))
  expect(told).toMatchObject({ code: 'denied', message: 'no', repair: 'Ask ann.' })
  const silent = readProblem(403, {}, JSON.stringify({ code: 'denied', detail: 'no' }))
  expect(silent?.repair).toBe(problemCatalog.denied.repair)
})

test('a repair of any length is cut', () => {
  const told = readProblem(
    403,
    {},
    JSON.stringify({ code: 'denied', detail: 'no', repair: 'x'.repeat(9999) }),
  )
  expect(told?.repair).toHaveLength(1000)
})
