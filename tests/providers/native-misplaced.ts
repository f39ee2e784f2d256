import { one, plain } from './oddity.ts'
import {
  anthropic,
  close,
  delta,
  ended,
  json,
  named,
  open,
  start,
  stop,
  text,
  tool,
} from './native-events.ts'
import type { NativeOddity } from './native-events.ts'

const overloaded = named({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
const calling = (...pieces: readonly string[]): string =>
  start() +
  open(0, tool('toolu_1')) +
  pieces.map((piece) => json(0, piece)).join('') +
  close(0) +
  ended('tool_use') +
  stop

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
const candidate = (parts: unknown, finishReason?: unknown): string =>
  `data: ${JSON.stringify({
    candidates: [
      {
        content: { role: 'model', parts },
        index: 0,
        ...(finishReason === undefined ? {} : { finishReason }),
      },
    ],
    usageMetadata,
  })}\n\n`
const failed = `data: ${JSON.stringify({ error: { code: 503, message: 'The model is overloaded', status: 'UNAVAILABLE' } })}\n\n`
const google = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'ai.google.dev API reference, GenerateContentResponse',
  kind: 'google',
  wire,
  normal,
})

/** Ends, errors, usages and calls in other places than those of the native APIs. */
export const misplacedEvents: readonly NativeOddity[] = [
  anthropic(
    'an error comes behind the end of the message',
    start() + text(0, 'Hello') + ended('end_turn') + stop + overloaded,
    plain,
  ),
  anthropic(
    'an error comes between the reason and the end',
    start() + text(0, 'Hello') + ended('end_turn') + overloaded,
    plain,
  ),
  anthropic(
    'an error comes behind a message with a call',
    start() + open(0, tool('toolu_1')) + json(0, '{"at":"a"}') + close(0) + ended('tool_use') + overloaded,
    one,
  ),
  anthropic(
    'an error comes in place of the reason',
    start() +
      open(0, { type: 'text', text: '' }) +
      delta(0, { type: 'text_delta', text: 'Hel' }) +
      overloaded,
    { problem: 'model-overloaded', says: 'Overloaded' },
  ),
  anthropic(
    'an account without credit is told in the stream',
    start() + named({ type: 'error', error: { type: 'billing_error', message: 'no credit' } }),
    { problem: 'provider-quota-exhausted', says: 'no credit' },
  ),
  anthropic('the pieces of the input repeat all earlier ones', calling('{"at"', '{"at":"a"}'), one),
  anthropic('the input comes twice', calling('{"at":"a"}', '{"at":"a"}'), one),
  anthropic('the input is a JSON text in a JSON text', calling(JSON.stringify('{"at":"a"}')), one),
  anthropic('the input is cut within an escape', calling('{"at":"\\u00', '61"}'), {
    calls: [['look', '{"at":"\\u0061"}']],
    end: 'tool_calls',
  }),
  anthropic(
    'the input comes without the start of its block',
    start() + text(0, 'Hello') + json(1, '{"at":"a"}') + ended('tool_use') + stop,
    { text: 'Hello', calls: [['unnamed_call', '{"at":"a"}']], end: 'tool_calls' },
  ),
  {
    ...google(
      'each event has all words so far',
      candidate([{ text: 'The quick' }]) +
        candidate([{ text: 'The quick brown' }]) +
        candidate([{ text: 'The quick brown fox' }], 'STOP'),
      { text: 'The quick brown fox', end: 'stop' },
    ),
    source: 'https://github.com/tashfeenahmed/freellmapi/pull/1007',
  },
  google('the reason is a number', candidate([{ text: 'Hello' }], 1), plain),
  google('the reason is the number of the bound', candidate([{ text: 'Hello' }], 2), {
    text: 'Hello',
    end: 'length',
  }),
  google(
    'an error comes behind the end',
    candidate([{ text: 'Hel' }]) + candidate([{ text: 'lo' }], 'STOP') + candidate([], 'STOP') + failed,
    plain,
  ),
  google(
    'an error comes in the middle of an answer that names a reason in every event',
    candidate([{ text: 'Hel' }], 'STOP') + candidate([{ text: 'lo' }], 'STOP') + failed,
    {
      problem: 'model-overloaded',
      says: 'overloaded',
    },
  ),
  google(
    'an error stands beside empty candidates',
    `data: ${JSON.stringify({ candidates: [], error: { code: 503, message: 'The model is overloaded', status: 'UNAVAILABLE' } })}\n\n`,
    {
      problem: 'model-overloaded',
      says: 'overloaded',
    },
  ),
  google(
    'an error about the quota of a day comes in the stream',
    `data: ${JSON.stringify({ error: { code: 429, message: 'Quota exceeded', status: 'RESOURCE_EXHAUSTED', details: [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProject' }] }] } })}\n\n`,
    {
      problem: 'provider-quota-exhausted',
      says: 'Quota exceeded',
    },
  ),
  google(
    'the arguments are a list with one object',
    candidate([{ functionCall: { name: 'look', args: [{ at: 'a' }] } }], 'STOP'),
    one,
  ),
]
