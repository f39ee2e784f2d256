import { named } from './native-events.ts'
import type { NativeOddity } from './native-events.ts'
import { choice, chunk, data, done, one, plain, two, whole } from './oddity.ts'

const mistral = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'docs.mistral.ai, chat completions and reasoning; mistralai/client-python issues',
  kind: 'mistral',
  wire,
  normal,
})
const cohere = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  what,
  source: 'docs.cohere.com/v2/docs/streaming, cohere-ai/cohere-python issues',
  kind: 'cohere',
  wire,
  normal,
})

const thinking = (text: string) => [{ type: 'thinking', thinking: [{ type: 'text', text }] }]
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const ended = (reason: string, more: object = {}) => data({ ...choice({}, reason), usage, ...more }) + done
const called = (more: object = {}, args: unknown = '{"at":"a"}') =>
  chunk({ tool_calls: [{ id: 'D681PevKs', function: { name: 'look', arguments: args }, ...more }] })

/** Forms of answers of Mistral that its package rejects or reads as something else. */
const mistralOddities: readonly NativeOddity[] = [
  mistral(
    'the thinking of Magistral is a part of the content',
    chunk({ role: 'assistant', content: thinking('hm') }) + chunk({ content: 'Hello' }) + ended('stop'),
    { ...plain, thought: 'hm' },
  ),
  mistral(
    'thinking and words are parts of one event, with parts of unknown types',
    chunk({
      content: [...thinking('hm'), { type: 'text', text: 'Hello' }, { type: 'tool_reference', tool: 'x' }],
    }) + ended('stop'),
    { ...plain, thought: 'hm' },
  ),
  mistral(
    'the thinking is a text and no list',
    chunk({ content: [{ type: 'thinking', thinking: 'hm', closed: true }] }) +
      chunk({ content: 'Hello' }) +
      ended('stop'),
    { ...plain, thought: 'hm' },
  ),
  mistral('a call has no place and no type', called() + ended('tool_calls'), one),
  mistral('the arguments are an object', called({ index: 0 }, { at: 'a' }) + ended('tool_calls'), one),
  mistral('the id of a call is the text null', called({ id: 'null' }) + ended('tool_calls'), one),
  mistral(
    'two calls have the same id and place',
    called({ index: 0 }) + called({ index: 0 }, '{"at":"b"}') + ended('tool_calls'),
    {
      calls: [
        ['look', '{"at":"a"}'],
        ['look', '{"at":"b"}'],
      ],
      end: 'tool_calls',
    },
  ),
  mistral('the reason is stop although a tool is called', called({ index: 0 }) + ended('stop'), one),
  mistral('the usage comes alone', chunk({ content: 'Hello' }, 'stop') + data({ choices: [], usage }), plain),
  mistral(
    'the usage has no total',
    chunk({ content: 'Hello' }) + ended('stop', { usage: { prompt_tokens: '10', completion_tokens: 5 } }),
    plain,
  ),
  mistral('the answer is cut off', chunk({ content: 'Hello' }) + ended('model_length'), {
    text: 'Hello',
    end: 'length',
  }),
  mistral('the answer ends by an error', chunk({ content: 'Hel' }) + ended('error'), {
    problem: 'upstream-failed',
    says: 'error',
  }),
  mistral(
    'an error comes in the middle',
    chunk({ content: 'Hel' }) + data({ object: 'error', message: 'out' }),
    {
      problem: 'upstream-failed',
      says: 'out',
    },
  ),
  mistral('the stream ends without a reason', chunk({ content: 'Hello' }), { problem: 'upstream-failed' }),
  mistral('a whole answer comes in place of a stream', whole({ content: 'Hello' }, 'stop', { usage }), plain),
  mistral(
    'choices are missing in an event',
    data({ id: 'x' }) + chunk({ content: 'Hello' }) + ended('stop'),
    plain,
  ),
  mistral('the account has no credit, with status 200', data({ error: { code: 'insufficient_quota' } }), {
    problem: 'provider-quota-exhausted',
  }),
]

const counts = {
  billed_units: { input_tokens: 9, output_tokens: 5 },
  tokens: { input_tokens: 10, output_tokens: 5 },
}
const start = named({
  type: 'message-start',
  id: 'm1',
  delta: { message: { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] } },
})
const at = (type: string, message: unknown, index: unknown = 0) => named({ type, index, delta: { message } })
const open = at('content-start', { content: { type: 'text', text: '' } })
const close = named({ type: 'content-end', index: 0 })
const text = (words: unknown) => at('content-delta', { content: words })
const end = (finish_reason: unknown = 'COMPLETE', more: object = {}) =>
  named({ type: 'message-end', id: 'm1', delta: { finish_reason, usage: counts, ...more } })
const said = open + text({ text: 'Hello' }) + close
const call = (args: unknown = '', more: object = {}, index: unknown = 0) =>
  at(
    'tool-call-start',
    { tool_calls: { id: 'look_1', type: 'function', function: { name: 'look', arguments: args }, ...more } },
    index,
  )
const piece = (args: unknown, index: unknown = 0) =>
  at('tool-call-delta', { tool_calls: { function: { arguments: args } } }, index)
const over = named({ type: 'tool-call-end', index: 0 })
const look = call() + piece('{"at":') + piece('"a"}') + over
const message = (more: object, finish_reason: unknown = 'COMPLETE') =>
  JSON.stringify({ id: 'm1', message: { role: 'assistant', ...more }, finish_reason, usage: counts })

/** Forms of answers of Cohere's chats, version 2, that its package rejects or reads as something else. */
const cohereOddities: readonly NativeOddity[] = [
  cohere('the answer has its documented form', start + said + end(), plain),
  cohere(
    'the model plans before it calls',
    start + at('tool-plan-delta', { tool_plan: 'I look.' }) + look + end('TOOL_CALL'),
    { ...one, thought: 'I look.' },
  ),
  cohere('the words are a text and no object', start + open + text('Hello') + close + end(), plain),
  cohere(
    'the words are a list',
    start + open + text([{ type: 'text', text: 'Hello' }]) + close + end(),
    plain,
  ),
  cohere(
    'the words have no begin and no place',
    start + at('content-delta', { content: { text: 'Hello' } }, null) + end(),
    plain,
  ),
  cohere(
    'the thinking has no type',
    start + at('content-delta', { content: { thinking: 'hm' } }) + said + end(),
    { ...plain, thought: 'hm' },
  ),
  cohere('the arguments are an object', start + call({ at: 'a' }) + over + end('TOOL_CALL'), one),
  cohere(
    'a piece of arguments is an object',
    start + call() + piece({ at: 'a' }) + over + end('TOOL_CALL'),
    one,
  ),
  cohere('the arguments are no JSON', start + call('look at a') + over + end('TOOL_CALL'), {
    calls: [['look', '{"invalid_json":"look at a"}']],
    end: 'tool_calls',
  }),
  cohere('the arguments are null', start + call(null) + over + end('TOOL_CALL'), {
    calls: [['look', '{}']],
    end: 'tool_calls',
  }),
  cohere(
    'calls come as a list',
    start +
      at('tool-call-start', {
        tool_calls: [{ id: 'x', function: { name: 'look', arguments: '{"at":"a"}' } }],
      }) +
      end('TOOL_CALL'),
    one,
  ),
  cohere('a call has no end', start + call('{"at":"a"}') + end('TOOL_CALL'), one),
  cohere(
    'two calls have the same id and place',
    start + look + call('{"at":"b"}') + over + end('TOOL_CALL'),
    two,
  ),
  cohere(
    'the ids of two calls are empty',
    start +
      call('{"at":"a"}', { id: '' }) +
      over +
      call('{"at":"b"}', { id: '' }, 1) +
      over +
      end('TOOL_CALL'),
    two,
  ),
  cohere(
    'two calls come with mixed pieces',
    start +
      call('', {}, 0) +
      call('', { id: 'look_2' }, 1) +
      piece('{"at":"b"}', 1) +
      piece('{"at":"a"}', 0) +
      end('TOOL_CALL'),
    two,
  ),
  cohere('the reason is COMPLETE although a tool is called', start + look + end('COMPLETE'), one),
  cohere(
    'the end has no reason and no usage',
    start + said + named({ type: 'message-end', delta: {} }),
    plain,
  ),
  cohere(
    'the usage has the billed tokens alone',
    start + said + end('COMPLETE', { usage: { billed_units: { input_tokens: 9, output_tokens: 5 } } }),
    plain,
  ),
  cohere('the answer is cut off', start + said + end('MAX_TOKENS'), { text: 'Hello', end: 'length' }),
  cohere('the answer is toxic', start + said + end('ERROR_TOXIC'), { text: 'Hello', end: 'content_filter' }),
  cohere('the end is missing', start + said, { problem: 'upstream-failed' }),
  cohere('the answer ends by an error', start + said + end('ERROR', { error: 'out of order' }), {
    problem: 'upstream-failed',
    says: 'out of order',
  }),
  cohere(
    'an error comes in the middle',
    start + open + text({ text: 'Hel' }) + data({ message: 'out of order' }),
    {
      problem: 'upstream-failed',
      says: 'out of order',
    },
  ),
  cohere('an error event comes in the middle', start + named({ type: 'error', message: 'out of order' }), {
    problem: 'upstream-failed',
    says: 'out of order',
  }),
  cohere(
    'events of unknown types come',
    start +
      named({ type: 'hologram', x: 1 }) +
      at('citation-start', { citations: { start: 'x' } }) +
      said +
      end(),
    plain,
  ),
  cohere(
    'the type of an event is its name alone',
    (start + said + end()).replaceAll(/"type":"(?:message|content)-[a-z]+",?/g, ''),
    plain,
  ),
  cohere(
    'a whole answer comes in place of a stream',
    message({ content: [{ type: 'text', text: 'Hello' }] }),
    plain,
  ),
  cohere('the content of a whole answer is a text', message({ content: 'Hello' }), plain),
  cohere(
    'a whole answer calls with an object',
    message({ tool_calls: [{ id: '', function: { name: 'look', arguments: { at: 'a' } } }] }, 'TOOL_CALL'),
    one,
  ),
  cohere('the stream has the form of chat completions', chunk({ content: 'Hello' }) + ended('stop'), plain),
]

export const packagedOddities: readonly NativeOddity[] = [...mistralOddities, ...cohereOddities]
