import { expect, it } from 'vitest'
import { noSuchAgent } from './no-such-agent.ts'

it('an unknown id is reported with the nearest id or the existing ones', () => {
  expect(noSuchAgent('wroker-1', ['operator', 'worker-1']).detail).toBe(
    'there is no agent wroker-1; did you mean worker-1?',
  )
  expect(noSuchAgent('auditor', ['worker-1', 'worker-2']).detail).toBe(
    'there is no agent auditor; the agents are worker-1, worker-2',
  )
  const many = Array.from({ length: 12 }, (_, at) => `collector-of-figures-${at}`)
  expect(noSuchAgent('x', many).detail).toMatch(/figures-9 and 2 more$/)
})
