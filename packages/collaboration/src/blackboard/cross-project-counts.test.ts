import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { createCrossProjectCounts, crossesProject } from './cross-project-counts.ts'

const agent = (agentId: string): Caller => ({ kind: 'agent', agentId, token: 'door', run: null })

describe('counts of attempts on other projects', () => {
  test.each([
    ['alpha', 'projects/alpha/plan', false],
    ['alpha', 'projects/beta/plan', true],
    ['alpha', 'projects/alphabet/plan', true],
    [null, 'projects/beta/plan', true],
    [null, 'output/projects/beta', false],
    ['alpha', 'projects/', false],
    ['alpha', 'projects', false],
  ])('attempts on other projects count of an agent in %s, key %s: %s', (own, key, expected) => {
    expect(crossesProject(own, key)).toBe(expected)
  })

  test('attempts are counted by agent and kind, without the operator and people', () => {
    verifies('purpose:observability:blackboard-xproject-count')
    const counts = createCrossProjectCounts({ projectOf: (id) => (id === 'a' ? 'alpha' : null) })
    counts.count(agent('a'), 'projects/beta/x', 'write')
    counts.count(agent('a'), 'projects/beta/x', 'read')
    counts.count(agent('a'), 'projects/alpha/x', 'write')
    counts.count(agent('b'), 'projects/beta/x', 'read')
    counts.count(agent('operator'), 'projects/beta/x', 'write')
    counts.count({ kind: 'human', role: 'owner', channel: 'cli' }, 'projects/beta/x', 'write')
    expect(counts.of('a')).toEqual({ read: 1, write: 1 })
    expect(counts.of('nobody')).toEqual({ read: 0, write: 0 })
    expect(counts.total()).toEqual({ read: 2, write: 1 })
    counts.forget('a')
    expect(counts.of('a')).toEqual({ read: 0, write: 0 })
  })
})
