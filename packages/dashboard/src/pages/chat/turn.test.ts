import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { RunView } from '@flotilla/protocol/run'
import { describe, expect, it } from 'vitest'
import { newTurn, takeFrame } from './turn.ts'
import type { Turn } from './turn.ts'

function told(...events: readonly FleetEventBody[]): Turn {
  const accepted = takeFrame(newTurn('key', 'Hello'), { type: 'accepted', run_id: 'run_1' }, 'scribe')
  return events.reduce((turn, event) => takeFrame(turn, { type: 'event', event }, 'scribe'), accepted)
}

const text = (content: string, run = 'run_1') =>
  ({ type: 'text.streamed', agent_id: 'scribe', run_id: run, content }) as const
const started = (step: number, agent = 'scribe') =>
  ({ type: 'tool.started', agent_id: agent, run_id: 'run_1', step, name: 'read', input: { step } }) as const
const ended = (step: number, output: string) =>
  ({ type: 'tool.ended', agent_id: 'scribe', run_id: 'run_1', step, name: 'read', output, ok: true }) as const

describe('a turn', () => {
  it('a turn joins streamed text, and begins anew after a tool', () => {
    const { blocks } = told(text('One '), text('two'), started(1), ended(1, 'ok'), text('three'))
    expect(blocks).toMatchObject([
      { kind: 'text', text: 'One two' },
      { kind: 'tool', output: 'ok' },
      { kind: 'text', text: 'three' },
    ])
  })

  it('a turn ends the call that was begun, the oldest of two of one step, and says whose it was', () => {
    const { blocks } = told(started(1), started(1), started(2, 'clerk'), ended(1, 'first'))
    expect(blocks).toMatchObject([
      { output: 'first', by: null },
      { output: null },
      { output: null, by: 'clerk' },
    ])
  })

  it('a turn waits while its own run waits, and works again after that', () => {
    const changed = (run: string, state: 'waiting' | 'running') =>
      ({
        type: 'run.changed',
        agent_id: 'scribe',
        run_id: run,
        parent_id: null,
        state,
        outcome: null,
      }) as const
    expect(told(changed('run_1', 'waiting')).state).toBe('waiting')
    expect(told(changed('run_2', 'waiting')).state).toBe('working')
    expect(told(changed('run_1', 'waiting'), changed('run_1', 'running')).state).toBe('working')
  })

  it('a turn leaves out what others write for it', () => {
    expect(told(text('theirs', 'run_2')).blocks).toEqual([])
  })

  it('a turn shows messages to its own run, and none to runs below it', () => {
    const steer = (run: string, words: string) =>
      ({
        type: 'steer.changed',
        agent_id: 'scribe',
        steer_id: 'steer_1',
        run_id: run,
        state: 'taken',
        text: words,
        step: 1,
        became_run_id: null,
      }) as const
    expect(told(steer('run_2', 'theirs'), steer('run_1', 'mine')).blocks).toEqual([
      { kind: 'note', tone: 'neutral', text: 'Received: mine' },
    ])
  })

  it('a turn shows an answer that was asked for again once', () => {
    const piece = (content: string, begins?: true) =>
      ({ ...text(content), answer: 1, ...(begins === undefined ? {} : { begins }) }) as const
    const { blocks } = told(piece('One', true), piece(' tw'), piece('One', true), piece(' two'))
    expect(blocks).toEqual([{ kind: 'text', text: 'One two', answer: 1 }])
  })

  it('a turn that ended has no running call, nothing of other agents, and no note of a wait', () => {
    const delayed = { type: 'call.denied', agent_id: 'scribe', action: 'read', reason: 'no' } as const
    const run = { outcome: { status: 'cancelled', text: 'stopped' }, state: 'cancelled' } as RunView
    const working = told(text('I look.'), started(1), started(2, 'clerk'), delayed)
    expect(takeFrame(working, { type: 'ended', run }, 'scribe').blocks).toMatchObject([
      { kind: 'text', text: 'I look.' },
      { kind: 'tool', by: null, state: 'stopped' },
    ])
  })

  it('a turn has the words of the ledger at its end, whatever was streamed', () => {
    const run = { outcome: { status: 'done', text: 'whole' }, state: 'done' } as RunView
    const turn = takeFrame(told(started(1), ended(1, 'ok'), text('who')), { type: 'ended', run }, 'scribe')
    expect(turn.state).toBe('ended')
    expect(turn.blocks.at(-1)).toEqual({ kind: 'text', text: 'whole' })
    expect(turn.blocks).toHaveLength(2)
  })
})
