import * as chat from './oddity.ts'
import { one, plain, two } from './oddity.ts'
import {
  added,
  call,
  called,
  completed,
  created,
  head,
  items,
  message,
  over,
  said,
  text,
  usage,
  written,
} from './items-events.ts'
import { named } from './native-events.ts'
import type { NativeOddity } from './native-events.ts'

const invented = (what: string, wire: string, normal: NativeOddity['normal']): NativeOddity => ({
  ...items(what, wire, normal),
  source: 'invented: what a sloppy or hostile gateway could write',
})
const whole = (output: unknown, more: object = {}): string =>
  JSON.stringify({ ...head, status: 'completed', error: null, output, usage, ...more })
const cut = { text: 'Hello', end: 'length' } as const
const broken = { problem: 'upstream-failed' } as const
const second = { id: 'fc_2', call_id: 'call_2' }

/** Answers of the Responses API as no documentation has them. */
export const inventedItems: readonly NativeOddity[] = [
  invented('the output is an object by index', whole({ 0: message('Hello') }), plain),
  invented('the output is one item', whole(message('Hello')), plain),
  invented('the output is a text', whole('Hello'), plain),
  invented('the content of a message is a text', whole([message(null, { content: 'Hello' })]), plain),
  invented(
    'the content of a message is one part',
    whole([message(null, { content: { type: 'output_text', text: 'Hello' } })]),
    plain,
  ),
  invented(
    'the parts of a message have the types of chat completions',
    whole([message(null, { content: [{ type: 'text', text: 'Hello' }] })]),
    plain,
  ),
  invented(
    'the text of a part is an object',
    whole([message(null, { content: [{ type: 'output_text', text: { value: 'Hello' } }] })]),
    plain,
  ),
  invented(
    'an item has no type',
    whole([{ role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }]),
    plain,
  ),
  invented('an item is null', whole([null, message('Hello')]), plain),
  invented(
    'the response is in an envelope',
    JSON.stringify({ data: JSON.parse(whole([message('Hello')])) as object }),
    plain,
  ),
  invented('the response is a list', `[${whole([message('Hello')])}]`, plain),
  invented('the response is a JSON text in a JSON text', JSON.stringify(whole([message('Hello')])), plain),
  invented('the status is in capital letters', whole([message('Hello')], { status: 'COMPLETED' }), plain),
  invented(
    'the status is Cancelled in capital letters',
    whole([message('Hello')], { status: 'CANCELLED' }),
    broken,
  ),
  invented('the status is spelled canceled', whole([message('Hello')], { status: 'canceled' }), broken),
  invented('the status is expired', whole([message('Hello')], { status: 'expired' }), broken),
  invented(
    'the status is incomplete and no reason is named',
    whole([message('Hello')], { status: 'incomplete' }),
    cut,
  ),
  invented(
    'the reason is a text and no object',
    created +
      said +
      named({
        type: 'response.incomplete',
        response: { ...head, incomplete_details: 'content_filter', usage },
      }),
    { text: 'Hello', end: 'content_filter' },
  ),
  invented(
    'the reason is max_tokens of another API',
    created + said + completed({ incomplete_details: { reason: 'max_tokens' } }),
    cut,
  ),
  invented('the error is an empty object beside an answer', created + said + completed({ error: {} }), plain),
  invented('the error is an empty text beside an answer', whole([message('Hello')], { error: '' }), plain),
  invented('the error is a text', created + said + completed({ error: 'out of order' }), {
    ...broken,
    says: 'out of order',
  }),
  invented(
    'the error of a failed response is a text',
    created +
      named({ type: 'response.failed', response: { ...head, status: 'failed', error: 'out of order' } }),
    { ...broken, says: 'out of order' },
  ),
  invented('an error event has a text', created + named({ type: 'error', error: 'out of order' }), {
    ...broken,
    says: 'out of order',
  }),
  invented(
    'an error event has its error as JSON text',
    created + named({ type: 'error', message: JSON.stringify({ error: { message: 'out of order' } }) }),
    { ...broken, says: 'out of order' },
  ),
  invented(
    'a failed response says that the account has no credit',
    created +
      named({
        type: 'response.failed',
        response: {
          ...head,
          status: 'failed',
          error: { code: 'insufficient_quota', message: 'You exceeded your current quota' },
        },
      }),
    { problem: 'provider-quota-exhausted' },
  ),
  invented(
    'the delta is an object',
    created +
      added(0, message()) +
      named({
        type: 'response.output_text.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: { text: 'Hello' },
      }) +
      completed(),
    plain,
  ),
  invented(
    'the delta of the arguments is an object',
    created + added(0, call()) + written({ at: 'a' }) + over(0, call('')) + completed(),
    one,
  ),
  invented('the arguments are null', created + over(0, call(null)) + completed(), {
    calls: [['look', '{}']],
    end: 'tool_calls',
  }),
  invented(
    'the arguments are a JSON text in a JSON text',
    created + over(0, call(JSON.stringify('{"at":"a"}'))) + completed(),
    one,
  ),
  invented(
    'the arguments of the end differ from the pieces',
    created + added(0, call()) + written('{"at":"a"}') + over(0, call('{ "at": "a" }')) + completed(),
    one,
  ),
  invented(
    'the arguments come as parameters',
    whole([{ ...call(undefined), arguments: undefined, parameters: { at: 'a' } }]),
    one,
  ),
  invented(
    'a call has the type of chat completions',
    whole([{ type: 'tool_call', id: 'x', function: { name: 'look', arguments: '{"at":"a"}' } }]),
    one,
  ),
  invented(
    'a call has an input as Anthropic has it',
    whole([{ type: 'tool_use', id: 'x', name: 'look', input: { at: 'a' } }]),
    one,
  ),
  invented('a call has no ids', whole([call('{"at":"a"}', { id: undefined, call_id: undefined })]), one),
  invented('two calls have the same ids', whole([call('{"at":"a"}'), call('{"at":"b"}')]), two),
  invented(
    'two calls have the same call id in a stream',
    created + over(0, call('{"at":"a"}')) + over(1, call('{"at":"b"}', { id: 'fc_2' })) + completed(),
    two,
  ),
  invented('an id is a number', whole([call('{"at":"a"}', { id: 1, call_id: 2 })]), one),
  invented(
    'the end repeats the calls with other ids',
    created + called + completed({ output: [call('{"at":"a"}', { id: 'other', call_id: 'other' })] }),
    one,
  ),
  invented(
    'a custom tool is called',
    whole([{ type: 'custom_tool_call', id: 'c', call_id: 'c', name: 'look', input: '{"at":"a"}' }]),
    one,
  ),
  invented(
    'the name of a call has a namespace',
    whole([call('{"at":"a"}', { name: 'functions.look' })]),
    one,
  ),
  invented('the words come in two messages', whole([message('Hel'), message('lo', { id: 'msg_2' })]), plain),
  invented(
    'the words are followed by a call and no end of their item',
    created + added(0, message()) + text('Hello') + over(1, call('{"at":"a"}', second)) + completed(),
    { ...one, text: 'Hello' },
  ),
  invented(
    'each event comes twice',
    (created + said + completed()).replaceAll(/event: [^\n]*\ndata: [^\n]*\n\n/g, (event) =>
      event.includes('.delta') ? event : event + event,
    ),
    plain,
  ),
  invented(
    'the usage is negative',
    created + said + completed({ usage: { input_tokens: -1, output_tokens: 1e99 } }),
    plain,
  ),
  invented(
    'the usage has the names of chat completions',
    created + said + completed({ usage: { prompt_tokens: 10, completion_tokens: 5 } }),
    plain,
  ),
  invented('the stream is one of chat completions', chat.hello + chat.end + chat.done, plain),
  invented(
    'the stream is one of chat completions and has thinking, calls in pieces and a usage',
    chat.chunk({ role: 'assistant', reasoning_content: 'Hm' }) +
      chat.call({ index: 0, id: 'call_a', function: { name: 'look', arguments: '{"at"' } }) +
      chat.call({ index: 0, function: { arguments: ':"a"}' } }) +
      chat.endOfCalls +
      chat.data({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }) +
      chat.done,
    { ...one, thought: 'Hm', usage: [10, 5] },
  ),
  invented(
    'the stream of chat completions is cut off',
    chat.hello + chat.chunk({}, 'length') + chat.done,
    cut,
  ),
  invented('the stream of chat completions breaks off', chat.hello, broken),
  invented(
    'the stream of chat completions has an error in the middle',
    chat.hello + chat.data({ error: { message: 'out of order', code: 500 } }),
    { ...broken, says: 'out of order' },
  ),
  invented('a whole chat completion comes', chat.whole({ role: 'assistant', content: 'Hello' }), plain),
  invented(
    'a whole chat completion with two calls comes',
    chat.whole(
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c', type: 'function', function: { name: 'look', arguments: { at: 'a' } } },
          { id: 'c', type: 'function', function: { name: 'look', arguments: '{"at":"b"}' } },
        ],
      },
      'tool_calls',
    ),
    two,
  ),
  invented('half of a surrogate pair is in the words', whole([message('Hello\ud83d')]), {
    text: 'Hello\ufffd',
    end: 'stop',
  }),
  invented('a page comes in place of a stream', '<html><head><title>502 Bad Gateway</title></head></html>', {
    problem: 'provider-unreadable',
  }),
  invented('the stream is empty', '', { problem: 'provider-unreadable' }),
  invented(
    'the output is nested 200 levels',
    whole([message(null, { content: JSON.parse('['.repeat(200) + ']'.repeat(200)) as unknown })]),
    { problem: 'provider-unreadable' },
  ),
]
