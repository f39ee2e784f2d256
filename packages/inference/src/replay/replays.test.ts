import { wireLimits } from '@flotilla/protocol/limits'
import { expect, test } from 'vitest'
import type { Exchange, KeptMessage } from './exchange.ts'
import { createRecordReader } from './keep-records.ts'
import { recordedCall, recordedHistory } from './recorded-answers.ts'
import type { ReplayContext } from './replay-context.ts'
import { showRecord } from './show-record.ts'
import { createStandIn } from './stand-in.ts'

const chatOf = (message: string) => ({
  id: 'run_2',
  agentId: 'a',
  input: { kind: 'chat', message, session: 's' },
})

function* clean(words: string) {
  yield words.length
  return words.replaceAll('later-secret', '[secret]')
}

/** Run `run_2` replays a turn of `run_1`, whose record is `of`; `later-secret` has become a secret since. */
function aReplay(of: readonly Exchange[], { turn = 0, until = null as number | null, asked = 'ask' } = {}) {
  const replay = { runId: 'run_2', ofRun: 'run_1', turn, until, model: until === null ? null : 'other' }
  const exchanges = {
    of: () => of.map((exchange) => ({ exchange, chars: 1 })),
    sizeOf: () => ({ number: of.length, bytes: 1 }),
    cutOf: () => null,
  } as never
  const context: ReplayContext = {
    kernel: { guard: () => {} } as never,
    exchanges,
    replays: { find: (runId: string) => (runId === 'run_2' ? replay : null) } as never,
    recorder: {
      wrap: (provider) => provider,
      written: async () => {},
      cleaner: () => clean,
    },
    readRecord: createRecordReader(exchanges),
    runs: { find: () => chatOf(asked) } as never,
    requireModel: () => {},
  }
  return {
    record: (runId: string) => showRecord(context, {} as never, runId),
    standIn: createStandIn(context),
    recordedCall: (callId: string) => recordedCall(context, 'run_2', callId),
    history: () => recordedHistory(context, 'run_2'),
  }
}

test('a record is shown without what has become a secret since it was written', async () => {
  const call = { name: 'look', arguments: '{"at":"later-secret"}' }
  const asked = { role: 'user', content: 'ask later-secret' } as const
  const of: Exchange[] = [
    {
      number: 0,
      turn: 0,
      at: 0,
      purpose: 'loop',
      model: 'm',
      tools: {},
      messages: [asked],
      answer: { content: 'say later-secret', calls: [call] },
    },
    {
      number: 1,
      turn: 0,
      at: 1,
      purpose: 'loop',
      model: 'm',
      tools: {},
      messages: [
        asked,
        { role: 'assistant', content: 'say later-secret', calls: [{ ...call, id: 'c1' }] },
        { role: 'tool', content: 'seen later-secret', call_id: 'c1' },
      ],
      answer: { content: 'done', calls: [] },
    },
  ]
  const replay = aReplay(of)
  const shown = JSON.stringify(await replay.record('run_1'))
  expect(shown.match(/\[secret\]/g)).toHaveLength(4)
  expect(shown).not.toContain('later-secret')
})

const callOf = (id: string) => ({ id, name: 'look', arguments: '{}' })
const told = (
  [turn, number]: readonly [number, number],
  messages: Exchange['messages'],
  more: Partial<Exchange> = {},
) =>
  ({
    number,
    turn,
    at: number,
    purpose: 'loop',
    model: 'm',
    tools: {},
    messages,
    answer: { content: '', calls: [{ name: 'look', arguments: '{}' }] },
    ...more,
  }) satisfies Exchange
/** Two turns, the first of which is itself a replay with its ids. */
function twoTurns(question: string): Exchange[] {
  const first: KeptMessage[] = [{ role: 'user', content: 'first later-secret' }]
  const history: KeptMessage[] = [
    ...first,
    { role: 'assistant', content: '', calls: [callOf('recorded_5_0')] },
    { role: 'tool', content: 'seen later-secret', call_id: 'recorded_5_0' },
  ]
  const second: KeptMessage[] = [...history, { role: 'user', content: question }]
  const answered: KeptMessage[] = [
    ...second,
    { role: 'assistant', content: '', calls: [callOf('c1')] },
    { role: 'tool', content: 'found later-secret', call_id: 'c1' },
  ]
  return [
    told([0, 0], first),
    told([1, 1], second),
    told([1, 2], answered),
    told([1, 3], [...answered, { role: 'assistant', content: 'so' }], {
      answer: { content: 'done', calls: [] },
    }),
  ]
}
const askedFor = (replay: ReturnType<typeof aReplay>, messages: readonly object[]) =>
  replay.standIn({ runId: 'run_2', purpose: 'loop', parameters: { messages } } as never)

test('a replaying agent receives no value that has become a secret since the recording', async () => {
  const replay = aReplay(twoTurns('go on'), { turn: 1 })
  const heard = JSON.stringify([(await replay.history()).messages, await replay.recordedCall('recorded_1_0')])
  expect(heard.match(/\[secret\]/g)).toHaveLength(3)
  expect(heard).not.toContain('later-secret')
})

test('a call of another turn than the played one is not recorded for it', async () => {
  const replay = aReplay(twoTurns('go on'), { turn: 1 })
  await expect(replay.recordedCall('recorded_0_0')).rejects.toThrow(
    expect.objectContaining({ code: 'not-found' }),
  )
})

test.each([
  ['a short question', 'go on'],
  ['a question that was cut when it was asked again', 'long '.repeat(wireLimits.chatMessageMaxChars)],
])('a fork of a later turn begins at its first step, with %s', async (_name, question) => {
  const asked = question.slice(0, wireLimits.chatMessageMaxChars)
  const replay = aReplay(twoTurns(question), { turn: 1, until: 2, asked })
  const history = [
    { role: 'user', content: 'first' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'recorded_5_0', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', content: 'seen', tool_call_id: 'recorded_5_0' },
    { role: 'user', content: asked },
  ]
  // Step 2 uses the other model, and the step before it uses the record.
  expect(await askedFor(replay, history)).toHaveProperty('llm')
  expect(await askedFor(replay, [...history, { role: 'assistant', content: 'x' }])).toEqual({
    model: 'other',
  })
})

test('a steer of the replayed turn is delivered with the answers before it, up to the fork', async () => {
  const [first, ...others] = twoTurns('go on')
  const later = others.at(-1)!
  const of = [
    first!,
    ...others,
    told(
      [1, 4],
      [...later.messages, { role: 'assistant', content: 'done' }, { role: 'user', content: 'later-secret?' }],
    ),
  ]
  const said = async (until: number | null) => (await aReplay(of, { turn: 1, until }).history()).said
  expect(await said(null)).toEqual([{ answers: 3, text: '[secret]?' }])
  expect(await said(4)).toEqual([{ answers: 3, text: '[secret]?' }])
  expect(await said(3)).toEqual([])
  expect((await aReplay(of, { turn: 0 }).history()).said).toEqual([])
})
