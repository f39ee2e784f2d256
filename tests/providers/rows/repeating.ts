import { call, chunk, done, end, endOfCalls } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const says = (...texts: readonly string[]): string =>
  texts.map((content) => chunk({ content })).join('') + end + done
const thinks = (...texts: readonly string[]): string =>
  texts.map((text) => chunk({ reasoning_content: text })).join('') + says('Hello')
const look = (id: string, written: string): string =>
  call({ index: 0, id, function: { name: 'look', arguments: written } })
const nested = { calls: [['look', '{"in":{"of":"b"}}']], end: 'tool_calls' } as const

type Row = readonly [what: string, wire: string, normal: Oddity['normal'], client?: Oddity['openAiClient']]

const text = 'The quick brown fox jumps over the lazy dog.'
/** The text up to each of these lengths. */
const upTo = (...lengths: readonly number[]): string[] => lengths.map((length) => text.slice(0, length))

const textRows: readonly Row[] = [
  ['each piece has all words so far', says(...upTo(3, 9, 15, 25, 44)), { text, end: 'stop' }],
  [
    'each piece has all words so far, and the last one comes twice',
    says(...upTo(3, 9, 15, 25, 44, 44)),
    { text, end: 'stop' },
  ],
  [
    'each piece has all words so far in a short answer',
    says('H', 'He', 'Hel', 'Hell', 'Hello'),
    { text: 'Hello', end: 'stop' },
  ],
  ['two long pieces have all words so far', says(...upTo(34, 44)), { text, end: 'stop' }],
  [
    'each piece has all words so far, then the pieces are new words',
    says(...upTo(3, 15, 25), text.slice(25)),
    { text, end: 'stop' },
  ],
  ['a word is repeated with more behind it', says('ha', 'haha', '!'), { text: 'hahaha!', end: 'stop' }],
  ['an answer of two pieces repeats a word', says('ha', 'haha'), { text: 'hahaha', end: 'stop' }],
  [
    'lines of one sign come in pieces of double length',
    says('=', '==', '====', '========', '================', '================================'),
    { text: '='.repeat(63), end: 'stop' },
  ],
  [
    'a model repeats its first words in pieces of equal length',
    says('No. I can', 'No. I can', 'No. I can', "'t"),
    { text: "No. I canNo. I canNo. I can't", end: 'stop' },
  ],
  [
    'a sentence begins like the one before, in pieces of some words',
    says('I see it. ', 'I see it. And ', 'then it is gone.'),
    { text: 'I see it. I see it. And then it is gone.', end: 'stop' },
  ],
  [
    'each piece has all thinking so far',
    thinks(...upTo(3, 9, 15, 25, 44)),
    { text: 'Hello', thought: text, end: 'stop' },
  ],
  [
    'thinking begins with two short pieces that repeat each other',
    thinks('hm', 'hmhm'),
    { text: 'Hello', thought: 'hmhmhm', end: 'stop' },
  ],
  [
    'each piece has all words so far, which begin with thinking between tags',
    says('<think>hm</think>H', '<think>hm</think>Hel', '<think>hm</think>Hello'),
    { text: 'Hello', thought: 'hm', end: 'stop' },
  ],
]

const callRows: readonly Row[] = [
  [
    'each piece of a call has a new id and the name again, and one piece is an object',
    look('x1', '{"in":') + look('x2', '{"of":"b"}') + look('x3', '}') + endOfCalls + done,
    nested,
  ],
  [
    'the piece behind the first has a new id and the name again and ends the nested object',
    look('x1', '{"in":') + look('x2', '{"of":"b"}}') + endOfCalls + done,
    nested,
  ],
  [
    'a bracket in a text begins a piece with a new id and the name again',
    look('x1', '{"at":"if (x) ') + look('x2', '{ y() }"}') + endOfCalls + done,
    { calls: [['look', '{"at":"if (x) { y() }"}']], end: 'tool_calls' },
  ],
  [
    'each piece of a call has a new id, the name and all arguments so far',
    look('x1', '{"at"') + look('x2', '{"at":"a"') + look('x3', '{"at":"a"}') + endOfCalls + done,
    { calls: [['look', '{"at":"a"}']], end: 'tool_calls' },
  ],
  [
    'a call is cut and another one of the same name follows',
    look('x1', '{"at":"a') + look('x2', '{"at":"b"}') + endOfCalls + done,
    {
      calls: [
        ['look', '{"at":"a'],
        ['look', '{"at":"b"}'],
      ],
      end: 'tool_calls',
    },
  ],
]

/** Pieces that repeat what came before, and pieces that only seem to. */
export const repeatingOddities: readonly Oddity[] = [
  ...textRows.map(([what, wire, normal]) => ({
    what,
    source:
      'alibabacloud.com, Model Studio: incremental_output, whose default repeats all text in each event',
    wire,
    normal,
  })),
  ...callRows.map(([what, wire, normal]) => ({
    what,
    source: 'vllm-project/vllm: tool call id differs in every streamed delta',
    wire,
    normal,
  })),
]
