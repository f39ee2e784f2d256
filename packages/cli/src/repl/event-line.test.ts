import { describe, expect, it } from 'vitest'
import { createColor } from '../terminal/color.ts'
import { eventLine } from './event-line.ts'

const color = createColor(false)

describe('an event as a line', () => {
  it('an event as a line says who calls which tool with what, on one line', () => {
    const line = eventLine(
      {
        type: 'tool.started',
        agent_id: 'auditor',
        run_id: 'run_1',
        step: 1,
        name: 'run_command',
        input: { command: 'ls\n\u001B[2J -la' },
      },
      color,
      'flotilla ',
    )
    expect(line).toBe('auditor    run_command ls \uFFFD[2J -la')
  })

  it('an event as a line lets no name of a tool or sub-agent move the cursor', () => {
    const line = eventLine(
      {
        type: 'tool.started',
        agent_id: 'a',
        run_id: 'run_1',
        step: 1,
        name: 'ls\u001B]0;owned\u0007\n',
        input: {},
        subagent: '\u001B[2J',
      },
      color,
      'flotilla ',
    )
    // oxlint-disable-next-line eslint/no-control-regex -- control characters are what this is about
    expect(line).not.toMatch(/[\u0000-\u001F]/)
    expect(line).toContain('ls')
  })

  it('an event is omitted when other events already show its state', () => {
    const changed = { type: 'run.changed', agent_id: 'a', run_id: 'r', parent_id: null } as const
    expect(eventLine({ ...changed, state: 'running', outcome: null }, color, 'flotilla ')).toBeNull()
    expect(
      eventLine({ ...changed, state: 'done', outcome: { status: 'done', text: 'x' } }, color, 'flotilla '),
    ).toBeNull()
    expect(
      eventLine(
        { ...changed, state: 'failed', outcome: { status: 'failed', text: 'out of money' } },
        color,
        'flotilla ',
      ),
    ).toContain('out of money')
  })
})
