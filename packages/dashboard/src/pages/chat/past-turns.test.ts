import type { HistoryMessage } from '@flotilla/protocol/chat-history'
import type { RunView } from '@flotilla/protocol/run'
import { describe, expect, it } from 'vitest'
import { pastTurns } from './past-turns.ts'
import { shownTurns } from './shown-turns.ts'
import { newTurn, takeFrame } from './turn.ts'

const message = (role: HistoryMessage['role'], text: string, more: Partial<HistoryMessage> = {}) => ({
  role,
  text,
  calls: [],
  pictures: [],
  ...more,
})
const calling = (text: string, ...calls: HistoryMessage['calls']) => message('assistant', text, { calls })
const call = (name: string, input = '{}') => ({ name, input })
const of = (run: string, ...messages: readonly HistoryMessage[]) =>
  messages.map((one) => ({ ...one, run_id: run }))
const run = (id: string, state: RunView['state'] = 'done', text = ''): RunView =>
  ({ id, state, outcome: { status: state, text } }) as unknown as RunView
const read = (messages: readonly HistoryMessage[], runs: readonly RunView[] = []) =>
  pastTurns(messages, runs, 'scribe')

describe('turns of the history', () => {
  it('past turns are a question each, with a call and its result as one step', () => {
    const turns = read([
      message('user', 'Count them'),
      calling('I look.', call('ls', '{"path":"a"}'), call('wc')),
      message('tool', 'two files'),
      message('tool', '7'),
      message('assistant', 'Seven.'),
      message('user', 'Thanks'),
      message('assistant', 'Gladly.'),
    ])
    expect(turns.map((turn) => turn.message)).toEqual(['Count them', 'Thanks'])
    expect(turns[0]?.blocks).toMatchObject([
      { kind: 'text', text: 'I look.' },
      { kind: 'tool', name: 'ls', input: { path: 'a' }, output: 'two files', state: 'unknown' },
      { kind: 'tool', name: 'wc', input: {}, output: '7', state: 'unknown' },
      { kind: 'text', text: 'Seven.' },
    ])
  })

  it('past turns say how each call ended, and leave out a call that was never made', () => {
    const ended = (state: 'failed' | 'stopped' | 'not-made') => message('tool', 'exit 2', { ended: state })
    const calls = [call('ok'), call('bad'), call('cut'), call('unmade')]
    const results = [message('tool', 'fine'), ended('failed'), ended('stopped'), ended('not-made')]
    const [turn] = read(of('run_1', message('user', 'Go'), calling('', ...calls), ...results))
    expect(turn?.blocks.map((block) => block.kind === 'tool' && [block.name, block.state])).toEqual([
      ['ok', 'done'],
      ['bad', 'failed'],
      ['cut', 'stopped'],
    ])
  })

  it('past turns keep what was said of an answer that was stopped; its run says why, or else the history', () => {
    const words = of(
      'run_1',
      message('user', 'Count'),
      message('assistant', 'One, tw', { unanswered: 'stopped' }),
    )
    const said = { kind: 'text', text: 'One, tw' }
    expect(read(words, [run('run_1', 'cancelled')])[0]?.blocks).toEqual([said])
    expect(read(words)[0]?.blocks).toEqual([said, { kind: 'note', tone: 'warn', text: 'No answer: stopped' }])
  })

  it('past turns begin where the conversation is cut, and show a result whose call is gone', () => {
    const [first, ...others] = read([message('tool', 'late'), message('system', 'told')])
    expect(others).toEqual([])
    expect(first).toMatchObject({
      message: null,
      isWhole: false,
      blocks: [
        { kind: 'tool', output: 'late' },
        { kind: 'told', text: 'told' },
      ],
    })
  })

  it('past turns show what was saved, and of input that cannot be read nothing', () => {
    const saved = (input: string, more: Partial<HistoryMessage> = {}) =>
      read([calling('', call('save_artifact', input)), message('tool', 'saved', more)])[0]?.blocks.at(-1)
    const artifact = { kind: 'artifact', agent: 'scribe', name: 'report.md' }
    expect(saved('{"name":"report.md","content":"x"}')).toEqual(artifact)
    expect(saved('{"name":"rep … cut')).toMatchObject({ kind: 'tool', output: 'saved' })
    expect(saved('{"name":"report.md"}', { ended: 'failed' })).toMatchObject({ kind: 'tool' })
  })

  it('past turns of equal words keep the facts of their own runs', () => {
    const asked = (id: string) => of(id, message('user', 'Hello'), message('assistant', 'Hi.'))
    const runs = [run('run_3', 'done'), run('run_2', 'failed', 'no'), run('run_1', 'done')]
    const turns = read(
      [...asked('run_1'), ...asked('run_2'), ...asked('run_3'), message('user', 'Old')],
      runs,
    )
    expect(turns.map((turn) => turn.run?.id ?? null)).toEqual(['run_1', 'run_2', 'run_3', null])
    // A turn whose run is not among the newest runs has no facts of a run, and gets none of another run.
    expect(
      read([...asked('run_1'), ...asked('run_3')], runs.slice(0, 1)).map((turn) => turn.run?.id),
    ).toEqual([undefined, 'run_3'])
  })

  it('a run that waited goes on with its own turn, and what reached it at work begins no other', () => {
    const turns = read([
      ...of('run_1', message('user', 'Ask them'), message('assistant', 'I wait.')),
      ...of('run_2', message('user', 'And you?'), message('assistant', 'Fine.')),
      ...of('run_1', message('system', 'They say 7.'), message('user', 'shortly', { steered: true })),
      ...of('run_1', message('assistant', 'Seven.')),
    ])
    expect(turns.map((turn) => turn.message)).toEqual(['Ask them', 'And you?'])
    expect(turns[0]?.blocks).toMatchObject([
      { text: 'I wait.' },
      { kind: 'told', text: 'They say 7.' },
      { kind: 'note', text: 'Received: shortly' },
      { text: 'Seven.' },
    ])
  })
})

describe('turns of a conversation', () => {
  const past = (id: string, runs: readonly RunView[], ...more: readonly HistoryMessage[]) =>
    read(of(id, message('user', 'Hello'), ...more), runs)
  const live = (id: string, ended: RunView | null) => {
    const accepted = takeFrame(newTurn('key', 'Hello'), { type: 'accepted', run_id: id }, 'scribe')
    return ended === null ? accepted : takeFrame(accepted, { type: 'ended', run: ended }, 'scribe')
  }

  it('show each run once: as the page followed it, until the history has it whole', () => {
    const done = run('run_1', 'done', 'Hi.')
    const answer = message('assistant', 'Hi.')
    const followed = live('run_1', done)
    const one = (...given: Parameters<typeof shownTurns>) => {
      const [first, ...others] = shownTurns(...given)
      expect(others).toEqual([])
      return first
    }
    const whole = past('run_1', [done], answer)
    expect(one(whole, [followed], [done])).toBe(whole[0])
    // The history lacks the end of the turn, or the list of runs does not have its end yet.
    expect(one(past('run_1', [done]), [followed], [done])).toBe(followed)
    expect(one(past('run_1', [], answer), [followed], [])).toBe(followed)
    expect(one(whole, [live('run_1', null)], [done])?.state).toBe('working')
  })

  it('show the answer of a run whose stream broke, once the history has it', () => {
    const done = run('run_1', 'done', 'Hi.')
    const broken = {
      ...live('run_1', null),
      state: 'refused',
      problem: new Error('the stream ended'),
    } as const
    const whole = past('run_1', [done], message('assistant', 'Hi.'))
    expect(shownTurns(whole, [broken], [done])).toEqual(whole)
    expect(shownTurns(past('run_1', [done]), [broken], [done])).toEqual([broken])
  })

  it('show the cost that the list of runs has, which is settled after the end', () => {
    const settled = { ...run('run_1'), cost_usd: 0.02 }
    expect(shownTurns([], [live('run_1', run('run_1'))], [settled])[0]?.run).toBe(settled)
  })
})
