import { describe, expect, test } from 'vitest'
import { refuseReserved } from './reserved-session.ts'

describe('a conversation that somebody names', () => {
  test.each(['heartbeat', 'task:task_1', 'task:', 'tool:run_1'])(
    '%s belongs to work of the agent’s own, and nobody speaks there in its name',
    (session) => {
      const refusal = { code: 'bad-request', detail: expect.stringContaining(session) as string }
      expect(() => refuseReserved(session)).toThrow(expect.objectContaining(refusal))
    },
  )

  test.each(['main', 'heartbeats', 'my heartbeat', 'my task:1', 'multitool:run_1', 'task', 'tool', ''])(
    '%j only looks like one, and is anybody’s',
    (session) => {
      expect(() => refuseReserved(session)).not.toThrow()
    },
  )
})
