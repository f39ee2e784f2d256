import { expect, it } from 'vitest'
import type { Engine } from '../engine/connect-engine.ts'
import { readLogs } from './read-logs.ts'

/** An engine that answers every question for a log with this status. */
const refusing = (statusCode: number): Engine =>
  ({
    docker: {
      getContainer: () => ({
        logs: () => Promise.reject(Object.assign(new Error(`HTTP code ${statusCode}`), { statusCode })),
      }),
    },
  }) as unknown as Engine // Only the log is requested.

it.each([404, 409])('a container that is gone or about to go (%i) has printed nothing', async (status) => {
  expect(await readLogs(refusing(status), 'scout', 1000)).toBe('')
})

it('an error of the engine is thrown', async () => {
  await expect(readLogs(refusing(500), 'scout', 1000)).rejects.toThrow('500')
})
