import type { IsolationRung } from '@flotilla/protocol/isolation'
import { expect, it } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { waitUntilReady } from './wait-until-ready.ts'

/** Waits for an agent whose port accepts connections from the first request on, and which answers the third. */
async function startOn(rung: IsolationRung): Promise<readonly string[]> {
  const notified: string[] = []
  let requestCount = 0
  const clock = createManualClock(1_000_000, { passesMs: 500 })
  await waitUntilReady(
    {
      clock,
      runtime: {
        endStartShare: async () => void notified.push('own share'),
        inspect: async () => ({ running: true }),
      } as never,
    },
    {
      rung,
      doorToken: 'token',
      connection: {
        agentId: 'scout',
        started: async (_token: string, _signal: AbortSignal, onTaken?: () => void) => {
          onTaken?.()
          requestCount += 1
          notified.push(requestCount === 3 ? 'answers' : 'silent')
          return requestCount === 3
        },
        healthy: async () => true,
      } as never,
    },
    AbortSignal.timeout(60_000),
  )
  return notified
}

it('a start gives an agent its own share as soon as its port is open', async () => {
  expect(await startOn('container')).toEqual(['own share', 'silent', 'silent', 'answers'])
})

it('a machine keeps its start share until its agent answers, because its port opens before its kernel boots', async () => {
  expect(await startOn('microvm')).toEqual(['silent', 'silent', 'answers', 'own share'])
})
