import { call, chunk, data, done, end, endOfCalls, hello, one, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const a = { name: 'look', arguments: '{"at":"a"}' }
type Row = readonly [
  what: string,
  wire: string,
  normal: Oddity['normal'],
  openAiClient?: Oddity['openAiClient'],
]

const streamRows: readonly Row[] = [
  [
    'an event of empty words stands between the words and the end',
    chunk({ content: 'Hello' }) + chunk({ content: '' }) + end + done,
    plain,
  ],
  ['the delta is null in the event with the reason', hello + chunk(null, 'stop') + done, plain],
  [
    'the delta is missing in the event with the reason',
    hello + data({ choices: [{ index: 0, finish_reason: 'stop' }] }) + done,
    plain,
  ],
  [
    'the index of the choice is negative',
    data({ choices: [{ index: -1, delta: { content: 'Hello' } }] }) +
      data({ choices: [{ index: -1, delta: {}, finish_reason: 'stop' }] }) +
      done,
    plain,
  ],
  [
    'the object is chat.completion in each event of a stream',
    hello.replace('chat.completion.chunk', 'chat.completion') + end + done,
    plain,
  ],
  [
    'names of events stand before the data',
    `event: message\n${hello}event: message\n${end}event: done\n${done}`,
    plain,
  ],
  [
    'the retry and id fields of events stand beside the data',
    `retry: 3000\nid: 1\n${hello}id: 2\n${end}${done}`,
    plain,
  ],
  [
    'the reason comes before the words in one event',
    data({ choices: [{ finish_reason: 'stop', delta: { content: 'Hello' }, index: 0 }] }) + done,
    plain,
  ],
  [
    'words come in content and in text of one choice',
    data({ choices: [{ index: 0, text: 'Hello', delta: { content: 'Hello' } }] }) + end + done,
    plain,
  ],
]

const callRows: readonly Row[] = [
  [
    'a call without a name and arguments stands beside a call',
    call({ index: 0, id: 'x', function: a }) +
      call({ index: 1, id: 'y', function: { name: '', arguments: '' } }) +
      endOfCalls +
      done,
    {
      calls: [
        ['look', '{"at":"a"}'],
        ['unnamed_call', '{}'],
      ],
      end: 'tool_calls',
    },
  ],
  ['the id is a number', call({ index: 0, id: 7, function: a }) + endOfCalls + done, one],
  ['the id is an object', call({ index: 0, id: { value: 'x' }, function: a }) + endOfCalls + done, one],
  [
    'the name is an object',
    call({ index: 0, id: 'x', function: { name: { value: 'look' }, arguments: a.arguments } }) +
      endOfCalls +
      done,
    { problem: 'provider-unreadable' },
    'an error',
  ],
  [
    'the arguments are a list of names and values',
    whole(
      {
        content: null,
        tool_calls: [{ id: 'x', function: { name: 'look', arguments: [{ name: 'at', value: 'a' }] } }],
      },
      'tool_calls',
    ),
    { calls: [['look', '{"name":"at","value":"a"}']], end: 'tool_calls' },
  ],
  [
    'the type of the call is tool',
    call({ index: 0, id: 'x', type: 'tool', function: a }) + endOfCalls + done,
    one,
  ],
  [
    'words and a call come in one delta',
    chunk({ content: 'Hello', tool_calls: [{ index: 0, id: 'x', function: a }] }) + endOfCalls + done,
    { ...one, text: 'Hello' },
  ],
  [
    'the arguments end with a comma',
    call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"a",}' } }) + endOfCalls + done,
    one,
  ],
  [
    'the quotes of the arguments are single',
    call({ index: 0, id: 'x', function: { name: 'look', arguments: "{'at':'a'}" } }) + endOfCalls + done,
    { calls: [['look', "{'at':'a'}"]], end: 'tool_calls' },
  ],
  [
    'the arguments begin with a byte order mark',
    call({ index: 0, id: 'x', function: { name: 'look', arguments: '\uFEFF{"at":"a"}' } }) +
      endOfCalls +
      done,
    one,
  ],
]

const endRows: readonly Row[] = [
  [
    'the id and the model of the answer are objects',
    data({
      id: { value: 'c1' },
      model: { name: 'm' },
      choices: [{ index: 0, delta: { content: 'Hello' } }],
    }) +
      end +
      done,
    plain,
  ],
  ['the reason is a number', hello + chunk({}, 0) + done, plain],
  ['the reason is true', hello + chunk({}, true) + done, plain],
  [
    'the usage is a list with one object',
    hello + end + data({ choices: [], usage: [{ prompt_tokens: 3, completion_tokens: 4 }] }) + done,
    { ...plain, usage: [3, 4] },
  ],
  [
    'the usage has fractions',
    hello + end + data({ choices: [], usage: { prompt_tokens: 3.5, completion_tokens: 4 } }) + done,
    plain,
  ],
  [
    'the refusal is an object with words',
    chunk({ refusal: { message: 'No.' } }) + end + done,
    { text: 'No.', end: 'content_filter' },
  ],
  [
    'an error is the number 1 beside words',
    data({ error: 1, choices: [{ index: 0, delta: { content: 'Hello' } }] }) + end + done,
    { problem: 'upstream-failed' },
    'an error',
  ],
  [
    'an error is an empty object beside words',
    data({ error: {}, choices: [{ index: 0, delta: { content: 'Hello' } }] }) + end + done,
    plain,
  ],
  [
    'an error says that the prompt is too long in Chinese',
    data({ error: { code: 'context_length_exceeded', message: '输入过长' } }),
    { problem: 'upstream-failed', agentCode: 'context-exhausted' },
  ],
]

/** Oddities that no report names; each was played before it was written down. */
export const inventedOddities: readonly Oddity[] = [...streamRows, ...callRows, ...endRows].map(
  ([what, wire, normal, openAiClient]) => ({
    what,
    source: 'tried: answers that no other table has, of servers that write the protocol by hand',
    wire,
    normal,
    ...(openAiClient === undefined ? {} : { openAiClient }),
  }),
)
