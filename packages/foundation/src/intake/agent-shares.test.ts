import { expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createAgentShares } from './agent-shares.ts'
import { agentShareLimits } from './agent-share-limits.ts'

test('calls that use up their share leave room for replies', () => {
  const { held } = createAgentShares({ clock: createManualClock(), cpuMs: () => 0 })
  const each = agentShareLimits.heldBytes.perAgentMax / 64
  const fill = () => {
    for (let agent = 0; ; agent++) for (let part = 0; part < 64; part++) held.calls.take(`a${agent}`, each)
  }
  expect(fill).toThrow('agent')
  expect(() => held.replies.take('a0', 4 * 1024 * 1024)).not.toThrow()
})
