import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import { describe, expect, it } from 'vitest'
import { exitCodeOf, stepTimes, turnParts } from './step-groups.ts'
import type { ToolBlock } from './turn.ts'

const tool = (key: string, name = 'read', by: string | null = null): ToolBlock => ({
  kind: 'tool',
  key,
  by,
  name,
  input: {},
  output: null,
  state: 'done',
})
const text = (words: string) => ({ kind: 'text', text: words }) as const

describe('the steps of a turn', () => {
  it('are one part where they follow each other, and a single one is a part like any other', () => {
    const parts = turnParts([text('a'), tool('1'), tool('2'), tool('3'), text('b'), tool('4'), text('c')])
    expect(
      parts.map((part) => (part.kind === 'steps' ? part.tools.map(({ key }) => key) : part.index)),
    ).toEqual([0, ['1', '2', '3'], 4, 5, 6])
    expect(parts[1]?.index).toBe(1)
    expect(turnParts([tool('1'), tool('2')])).toHaveLength(1)
  })

  const event = ([seq, at]: readonly [number, number], type: 'started' | 'ended', more: object = {}) =>
    ({
      seq,
      at,
      body: { type: `tool.${type}`, agent_id: 'scribe', run_id: 'run_1', step: 1, name: 'read', ...more },
    }) as unknown as FleetEvent

  it('have the times between their events, each end taken once, and those of other agents left out', () => {
    const events = [
      event([1, 100], 'started'),
      event([2, 110], 'started'),
      event([3, 120], 'started', { agent_id: 'clerk' }),
      event([4, 125], 'started', { subagent: 'sub' }),
      event([5, 150], 'ended'),
      event([6, 210], 'ended'),
    ]
    // Two calls of one step have the same key.
    const [first, second] = [tool('same'), tool('same')]
    const times = stepTimes([first, tool('theirs', 'read', 'clerk'), second], events, 'scribe')
    expect([times.get(first), times.get(second), times.size]).toEqual([50, 100, 2])
  })

  it('have no times if the events are those of other calls, or gone', () => {
    expect(stepTimes([tool('1'), tool('2')], [event([1, 1], 'started')], 'scribe').size).toBe(0)
    expect(stepTimes([tool('1', 'write')], [event([1, 1], 'started')], 'scribe').size).toBe(0)
  })

  it('name the exit code of a command line, and of nothing else', () => {
    const ended = (output: string | null, name = 'run_command') => exitCodeOf({ name, output })
    expect([
      ended('exit code 2\nno'),
      ended('exit code 0\n'),
      ended('killed by SIGKILL\n'),
      ended(null),
    ]).toEqual([2, 0, null, null])
    expect(ended('exit code 2', 'read_file')).toBeNull()
  })
})
