import { describe, expect, test } from 'vitest'
import { compareRuns, isSameRun } from './compare-runs.ts'
import type { Exchange, KeptMessage } from './exchange.ts'
import { readRecord as readInPieces, stepAskedFor } from './read-record.ts'
import type { RecordedRun } from './read-record.ts'

/** Reads all pieces at once. */
function readRecord(exchanges: readonly Exchange[]): RecordedRun {
  const work = readInPieces(exchanges)
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

const system: KeptMessage = { role: 'system', content: 'you are' }
const user = (content: string): KeptMessage => ({ role: 'user', content })
const asked = (id: string, name = 'look'): KeptMessage => ({
  role: 'assistant',
  content: '',
  calls: [{ id, name, arguments: '{}' }],
})
const result = (id: string, content: string): KeptMessage => ({ role: 'tool', content, call_id: id })

function exchange(number: number, messages: readonly KeptMessage[], more: Partial<Exchange> = {}): Exchange {
  const answer = { content: '', calls: [{ name: 'look', arguments: '{}' }] }
  return { number, turn: 0, at: number, purpose: 'loop', model: 'm', messages, tools: {}, answer, ...more }
}
const last = { answer: { content: 'done', calls: [] } }

const begin = [system, user('go')]
const second = [...begin, asked('c1'), result('c1', 'seen')]

describe('the record of a run', () => {
  test('the record of a run has the results that follow each answer', () => {
    const { steps, turns } = readRecord([exchange(0, begin), exchange(1, second, last)])
    expect(steps.map(({ results }) => results)).toEqual([['seen'], []])
    expect(turns).toEqual([{ from: 0, to: 2, asked: 'go', history: [] }])
  })

  test('the record of a run counts an answer that was asked for twice as it was given last', () => {
    const again = { answer: { content: 'other', calls: [] } }
    const { steps } = readRecord([exchange(0, begin), exchange(1, second, last), exchange(2, second, again)])
    expect(steps.map(({ exchange: { answer } }) => answer.content)).toEqual(['', 'other'])
  })

  test('the record of a run looks into no message that one exchange shares with the next', () => {
    let looks = 0
    const shared: KeptMessage = {
      role: 'system',
      get content() {
        looks += 1
        return 'long'
      },
    }
    const { steps } = readRecord([
      exchange(0, [shared, user('a')]),
      exchange(1, [shared, user('b')]),
      exchange(2, [shared, user('b')]),
      exchange(3, [shared, asked('c1')]),
      exchange(4, [shared, asked('c1')]),
      exchange(5, [shared, asked('c2')]),
    ])
    expect(steps.map(({ exchange: { number } }) => number)).toEqual([0, 2, 4, 5])
    expect(looks).toBe(0)
  })

  test('the record of a run has what was said between the answers of a turn, and not what begins the next one', () => {
    const reminded = [...second, { role: 'assistant', content: 'all' } as const, user('close it'), system]
    const more = [...reminded, asked('c2'), result('c2', 'x'), user('steer'), user('again')]
    const { steps } = readRecord([
      exchange(0, begin),
      exchange(1, second, last),
      exchange(2, reminded),
      exchange(3, more, last),
      exchange(4, [...more, user('news')], { ...last, turn: 1 }),
    ])
    expect(steps.map(({ said }) => said)).toEqual([[], ['close it'], ['steer', 'again'], [], []])
  })

  test('the record of a run omits calls that are not part of the conversation', () => {
    const beside = exchange(1, [user('sum it up')], { purpose: 'aside' })
    expect(readRecord([exchange(0, begin), beside, exchange(2, second, last)])).toMatchObject({ beside: 1 })
  })

  test('the record of a run has a turn for each time that the run went on, with what was said before', () => {
    const later = [
      ...second,
      { role: 'assistant', content: 'wait' } as const,
      user('[It is Monday, 2026-11-23 10:00 UTC.]'),
      user('news'),
    ]
    const { turns } = readRecord([
      exchange(0, begin),
      exchange(1, second, last),
      exchange(2, later, { ...last, turn: 1 }),
    ])
    expect(turns.map(({ from, to, asked: what }) => [from, to, what])).toEqual([
      [0, 2, 'go'],
      [2, 3, 'news'],
    ])
    expect(turns[1]?.history.map(({ content }) => content)).toEqual(['go', '', 'seen', 'wait'])
  })

  test('the record of a run finds results where the conversation was shortened in between', () => {
    const short = [system, user('summary'), asked('c1'), result('c1', 'seen')]
    expect(readRecord([exchange(0, begin), exchange(1, short, last)]).steps[0]?.results).toEqual(['seen'])
    expect(readRecord([exchange(0, begin), exchange(1, [system], last)]).steps[0]?.results).toEqual([null])
  })
})

test.each([
  ['at its beginning', [system, user('go')], 4],
  ['behind one answer without calls', [system, user('go'), { role: 'assistant', content: 'a' } as const], 5],
  ['behind a recorded call', [system, user('go'), asked('recorded_6_0'), result('recorded_6_0', 'x')], 7],
  [
    'behind a recorded call and words',
    [
      user('cut'),
      asked('recorded_6_0'),
      result('recorded_6_0', 'x'),
      { role: 'assistant', content: 'a' } as const,
      user('n'),
    ],
    8,
  ],
  [
    'behind earlier talk with the same words',
    [user('go'), { role: 'assistant', content: 'a' } as const, user('go')],
    4,
  ],
  [
    'behind earlier talk with ids of another replay',
    [user('before'), asked('recorded_6_0'), result('recorded_6_0', 'x'), user('go')],
    4,
  ],
  [
    'behind ids of another turn',
    [user('go'), asked('recorded_9_0'), result('recorded_9_0', 'x'), asked('recorded_0_0')],
    6,
  ],
  [
    'behind answers of a live model that bear ids like ours',
    [user('go'), asked('recorded_4_0'), asked('live'), asked('recorded_4_0')],
    7,
  ],
])('a conversation %s asks for the right step', (_name, messages, step) => {
  expect(stepAskedFor(messages, { from: 4, to: 9, asked: 'go' })).toBe(step)
})

describe('a comparison', () => {
  const replay = { runId: 'run_2', ofRun: 'run_1', turn: 0, until: null, model: null }
  const done = { status: 'done', text: 'done' } as const
  const of = (...exchanges: Exchange[]) => ({ record: readRecord(exchanges), outcome: done })
  const first = of(exchange(0, begin), exchange(1, second, last))
  const kinds = (again: typeof first) =>
    compareRuns(replay, first, again).map(({ what, step }) => [step, what])

  test('a comparison finds nothing where nothing differs', () => {
    expect(kinds(first)).toEqual([])
    expect(isSameRun(compareRuns(replay, first, first))).toBe(true)
  })

  test('a comparison names every kind of difference with its step', () => {
    expect(kinds(of(exchange(0, begin)))).toEqual([[2, 'missing']])
    expect(
      kinds(of(exchange(0, begin), exchange(1, second, last), exchange(2, second.concat(user('x')), last))),
    ).toEqual([[3, 'more']])
    const refused = [...begin, asked('c1'), result('c1', 'Error (denied)')]
    expect(kinds(of(exchange(0, begin), exchange(1, refused, last)))).toEqual([[1, 'result']])
    const otherCall = { answer: { content: '', calls: [{ name: 'peek', arguments: '{}' }] } }
    expect(kinds(of(exchange(0, begin, otherCall), exchange(1, second, last)))).toEqual([[1, 'call']])
    expect(kinds({ ...first, outcome: { status: 'done', text: 'else' } as never })).toEqual([[0, 'outcome']])
    const told = [{ ...system, content: 'you are another' }, user('go')]
    const differences = compareRuns(
      replay,
      first,
      of(exchange(0, told, { tools: { new: 'x' } }), exchange(1, second, last)),
    )
    expect(differences.map(({ what }) => what)).toEqual(['prompt', 'tools'])
    expect(isSameRun(differences)).toBe(true)
  })
})
