import { one, plain } from './oddity.ts'
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
import { inventedItems } from './items-invented.ts'
import { named } from './native-events.ts'
import type { NativeOddity } from './native-events.ts'

/** Forms of answers of OpenAI's Responses API, documented, recorded or reported. */
export const itemsOddities: readonly NativeOddity[] = [
  items(
    'an event of an unknown type and an item of an unknown type come',
    created +
      named({ type: 'response.hologram', x: 1 }) +
      over(0, { type: 'hologram', id: 'h' }) +
      said.replaceAll('"output_index":0', '"output_index":1') +
      completed(),
    plain,
  ),
  items(
    'the stream has a mark of chat completions behind its end',
    created + said + completed() + 'data: [DONE]\n\n',
    plain,
  ),
  items('only the mark of chat completions ends the stream', created + said + 'data: [DONE]\n\n', plain),
  items('the stream ends without its last event', created + said, { problem: 'upstream-failed' }),
  items(
    'the words come with the end of the item alone',
    created + over(0, message('Hello')) + completed(),
    plain,
  ),
  items(
    'the words come with the end of the response alone',
    created + completed({ output: [message('Hello')] }),
    plain,
  ),
  items('the words come before their item, without a begin', text('Hello') + completed(), plain),
  items(
    'the words come once more with each end',
    created +
      said +
      named({
        type: 'response.output_text.done',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        text: 'Hello',
      }) +
      over(0, message('Hello')) +
      completed({ output: [message('Hello')] }),
    plain,
  ),
  items(
    'ids of items change between the events',
    created +
      added(0, message()) +
      text('Hello', { item_id: 'other', output_index: 0 }) +
      over(0, message('Hello', { id: 'third' })) +
      completed({ output: [message('Hello', { id: 'fourth' })] }),
    plain,
  ),
  items(
    'positions of items are missing',
    created +
      named({ type: 'response.output_item.added', item: call() }) +
      written('{"at":"a"}', { item_id: 'fc_1' }) +
      named({ type: 'response.output_item.done', item: call('{"at":"a"}') }) +
      completed(),
    one,
  ),
  items(
    'the arguments of a call come in pieces',
    created + called + completed({ output: [call('{"at":"a"}')] }),
    one,
  ),
  items(
    'the arguments of a call come with its end alone',
    created + over(0, call('{"at":"a"}')) + completed(),
    one,
  ),
  items('the arguments of a call are an object', created + over(0, call({ at: 'a' })) + completed(), one),
  items(
    'the pieces of a call come before its name',
    created + written('{"at":"a"}') + over(0, call('{"at":"a"}')) + completed(),
    one,
  ),
  items(
    'two calls come at once, with mixed pieces',
    created +
      added(0, call()) +
      added(1, call('', { id: 'fc_2', call_id: 'call_2' })) +
      written('{"at":"b"', { item_id: 'fc_2', output_index: 1 }) +
      written('{"at":"a"}') +
      written('}', { item_id: 'fc_2', output_index: 1 }) +
      over(1, call('{"at":"b"}', { id: 'fc_2', call_id: 'call_2' })) +
      over(0, call('{"at":"a"}')) +
      completed(),
    {
      calls: [
        ['look', '{"at":"a"}'],
        ['look', '{"at":"b"}'],
      ],
      end: 'tool_calls',
    },
  ),
  items(
    'two calls have the same position',
    created +
      over(0, call('{"at":"a"}')) +
      over(0, call('{"at":"b"}', { id: 'fc_2', call_id: 'call_2' })) +
      completed(),
    {
      calls: [
        ['look', '{"at":"a"}'],
        ['look', '{"at":"b"}'],
      ],
      end: 'tool_calls',
    },
  ),
  items(
    'the answer is cut off',
    created +
      said +
      named({
        type: 'response.incomplete',
        response: {
          ...head,
          status: 'incomplete',
          incomplete_details: { reason: 'max_output_tokens' },
          usage,
        },
      }),
    { text: 'Hello', end: 'length' },
  ),
  items(
    'the answer is cut off without a reason',
    created +
      said +
      named({ type: 'response.incomplete', response: { ...head, status: 'incomplete', usage } }),
    { text: 'Hello', end: 'length' },
  ),
  items(
    'the answer is filtered',
    created +
      said +
      named({
        type: 'response.incomplete',
        response: { ...head, status: 'incomplete', incomplete_details: { reason: 'content_filter' }, usage },
      }),
    { text: 'Hello', end: 'content_filter' },
  ),
  items(
    'the answer is a refusal',
    created +
      added(0, message()) +
      named({
        type: 'response.refusal.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: 'I cannot.',
      }) +
      over(0, { ...message(), content: [{ type: 'refusal', refusal: 'I cannot.' }] }) +
      completed(),
    { text: 'I cannot.', end: 'content_filter' },
  ),
  items(
    'the response fails',
    created +
      named({
        type: 'response.failed',
        response: { ...head, status: 'failed', error: { code: 'server_error', message: 'out of order' } },
      }),
    { problem: 'upstream-failed', says: 'out of order' },
  ),
  items(
    'the response fails in the middle',
    created +
      added(0, message()) +
      text('Hel') +
      named({
        type: 'response.failed',
        response: { ...head, status: 'failed', error: { code: 'server_error', message: 'out of order' } },
      }),
    { problem: 'upstream-failed', says: 'out of order' },
  ),
  items(
    'an error event has its members beside its type',
    created +
      named({
        type: 'error',
        code: 'server_error',
        message: 'out of order',
        param: null,
        sequence_number: 3,
      }),
    { problem: 'upstream-failed', says: 'out of order' },
  ),
  items(
    'an error event has an error',
    named({ type: 'error', error: { type: 'server_error', code: null, message: 'out of order' } }),
    { problem: 'upstream-failed', says: 'out of order' },
  ),
  items(
    'the account has no credit, with status 200',
    named({
      type: 'error',
      error: {
        type: 'insufficient_quota',
        code: 'insufficient_quota',
        message: 'You exceeded your current quota, please check your plan and billing details.',
      },
    }),
    { problem: 'provider-quota-exhausted' },
  ),
  items(
    'a failure comes behind the end',
    created +
      said +
      completed() +
      named({ type: 'error', error: { type: 'server_error', code: null, message: 'out of order' } }),
    plain,
  ),
  items(
    'a response comes in place of a stream',
    JSON.stringify({ ...head, status: 'completed', error: null, output: [message('Hello')], usage }),
    plain,
  ),
  items(
    'the thinking has a summary in parts',
    created +
      added(0, { type: 'reasoning', id: 'rs_1', summary: [] }) +
      named({
        type: 'response.reasoning_summary_text.delta',
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 0,
        delta: 'One.',
      }) +
      named({
        type: 'response.reasoning_summary_text.delta',
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 1,
        delta: 'Two.',
      }) +
      over(0, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }) +
      said.replaceAll('"output_index":0', '"output_index":1') +
      completed(),
    { text: 'Hello', thought: 'One.\n\nTwo.', end: 'stop' },
  ),
  items(
    'a cancelled response comes in place of a stream',
    JSON.stringify({ ...head, status: 'cancelled', error: null, output: [message('Hello')], usage }),
    { problem: 'upstream-failed', says: 'cancelled' },
  ),
  items(
    'a failed response without an error comes in place of a stream',
    JSON.stringify({ ...head, status: 'failed', error: null, output: [message('Hello')], usage }),
    { problem: 'upstream-failed', says: 'failed' },
  ),
  items(
    'the response completes with a status that says it was cancelled',
    created + said + completed({ status: 'cancelled' }),
    { problem: 'upstream-failed', says: 'cancelled' },
  ),
  items(
    'the response completes with a status that says it failed, without an error',
    created + said + completed({ status: 'failed', error: null }),
    { problem: 'upstream-failed', says: 'failed' },
  ),
  items(
    'the response ends as incomplete with a status that says it failed',
    created +
      said +
      named({ type: 'response.incomplete', response: { ...head, status: 'failed', error: null, usage } }),
    { problem: 'upstream-failed', says: 'failed' },
  ),
  items(
    'the response is cancelled in the middle',
    created + said + named({ type: 'response.cancelled', response: { ...head, status: 'cancelled', usage } }),
    { problem: 'upstream-failed', says: 'cancelled' },
  ),
  items('the answer is empty', created + completed(), { problem: 'model-failed' }),
  ...inventedItems,
]
