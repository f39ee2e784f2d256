import { unansweredMark } from '@flotilla/protocol/chat-history'
import type { HistoryMessage } from '@flotilla/protocol/chat-history'
import type { RunView } from '@flotilla/protocol/run'
import { describe, expect, it } from 'vitest'
import { pastTurns } from './past-turns.ts'

const message = (role: HistoryMessage['role'], text: string, ...calls: HistoryMessage['calls']) => ({
  role,
  text,
  calls,
  pictures: [],
})
const call = (name: string, input = '{}') => ({ name, input })
const run = (id: string, words: string): RunView =>
  ({ id, input: { kind: 'chat', message: words, session: 'dashboard' } }) as unknown as RunView

describe('turns of before', () => {
  it('past turns are a question each, with a call and its result as one step', () => {
    const turns = pastTurns(
      [
        message('user', 'Count them'),
        message('assistant', 'I look.', call('ls', '{"path":"a"}'), call('wc')),
        message('tool', 'two files'),
        message('tool', '7'),
        message('assistant', 'Seven.'),
        message('user', 'Thanks'),
        message('assistant', 'Gladly.'),
      ],
      [],
    )
    expect(turns.map(({ asked }) => asked)).toEqual(['Count them', 'Thanks'])
    expect(turns[0]?.blocks).toEqual([
      { kind: 'text', text: 'I look.' },
      { kind: 'tool', name: 'ls', input: '{"path":"a"}', output: 'two files', pictures: [] },
      { kind: 'tool', name: 'wc', input: '{}', output: '7', pictures: [] },
      { kind: 'text', text: 'Seven.' },
    ])
  })

  it('past turns leave to the run why no answer came, where the run is known', () => {
    const words = [message('user', 'Count'), message('assistant', `${unansweredMark}: stopped.]`)]
    const stopped = { ...run('run_1', 'Count'), state: 'cancelled' } as const
    expect(pastTurns(words, [stopped])[0]?.blocks).toEqual([])
    expect(pastTurns(words, [])[0]?.blocks).toHaveLength(1)
  })

  it('begin where the conversation is cut, and show a result whose call is gone', () => {
    const [first, ...others] = pastTurns([message('tool', 'late'), message('system', 'told')], [])
    expect(others).toEqual([])
    expect(first).toMatchObject({
      asked: null,
      blocks: [
        { kind: 'tool', output: 'late' },
        { kind: 'told', text: 'told' },
      ],
    })
  })

  it('past turns show what was saved, and of input that cannot be read nothing', () => {
    const saved = (input: string) =>
      pastTurns(
        [message('assistant', '', call('save_artifact', input)), message('tool', 'saved')],
        [],
      )[0]?.blocks.at(-1)
    expect(saved('{"name":"report.md","content":"x"}')).toEqual({ kind: 'artifact', name: 'report.md' })
    expect(saved('{"name":"rep … cut')).toMatchObject({ kind: 'tool', output: 'saved' })
  })

  it('past turns have the newest runs with their words, each once, in their order', () => {
    const messages = ['Hello', 'Again', 'Hello', 'Never ran'].map((words) => message('user', words))
    const runs = [run('run_3', 'Hello'), run('run_2', 'Again'), run('run_1', 'Hello')]
    expect(pastTurns(messages, runs).map((turn) => turn.run?.id ?? null)).toEqual([
      'run_1',
      'run_2',
      'run_3',
      null,
    ])
  })
})
