import { call, choice, chunk, data, done, end, endOfCalls, hello, one, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const a = '{"at":"a"}'
const counted = { ...plain, usage: [10, 5] } as const
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const calling = (piece: unknown): string => chunk({ tool_calls: [piece] }) + endOfCalls + done
const beside = (members: object): string =>
  JSON.stringify({ ...JSON.parse(whole({ content: 'Hello' })), ...members })

type Row = readonly [
  what: string,
  source: string,
  wire: string,
  normal: Oddity['normal'],
  openAiClient?: Oddity['openAiClient'],
]

const callRows: readonly Row[] = [
  [
    'the arguments are named args in the function',
    'tried: gateways that pass on the names of Gemini',
    calling({ index: 0, id: 'x', function: { name: 'look', args: { at: 'a' } } }),
    one,
  ],
  [
    'the arguments are named arguments_json',
    'tried: gateways that name the encoding in the member',
    calling({ index: 0, id: 'x', function: { name: 'look', arguments_json: a } }),
    one,
  ],
  [
    'the name is named functionName and the arguments params',
    'tried: gateways of workflow engines',
    calling({ index: 0, id: 'x', functionName: 'look', params: { at: 'a' } }),
    one,
  ],
  [
    'the arguments are named args and have a number that no float holds',
    'tried: gateways that pass on the names of Gemini',
    calling({ index: 0, id: 'x', function: { name: 'look', args: { at: 'a' } } }).replace(
      '{"at":"a"}',
      '{"at":9007199254740993}',
    ),
    { calls: [['look', '{"at":9007199254740993}']], end: 'tool_calls' },
  ],
  [
    'the function is a JSON text',
    'tried: servers that encode each column of a table as JSON',
    calling({ index: 0, id: 'x', function: JSON.stringify({ name: 'look', arguments: a }) }),
    one,
  ],
  [
    'the function is its name and the arguments stand beside it',
    'tried: servers of the first plugins',
    calling({ index: 0, id: 'x', function: 'look', arguments: a }),
    one,
  ],
  [
    'the call stands in a list within the list',
    'tried: servers that append a list of calls to a list',
    calling([{ index: 0, id: 'x', function: { name: 'look', arguments: a } }]),
    one,
  ],
  [
    'the call stands in a member tool_call',
    'tried: gateways that allow one call alone',
    chunk({ tool_call: { id: 'x', function: { name: 'look', arguments: a } } }) + endOfCalls + done,
    one,
  ],
  [
    'function_call is a list',
    'tried: gateways that map several calls to the first API',
    chunk({ function_call: [{ name: 'look', arguments: a }] }) + endOfCalls + done,
    one,
  ],
  [
    'each piece has an id of its own and no index',
    'tried: servers that make an id for each event',
    call({ id: 'x1', function: { name: 'look', arguments: '{"at"' } }) +
      call({ id: 'x2', function: { arguments: ':"a' } }) +
      call({ id: 'x3', function: { arguments: '"}' } }) +
      endOfCalls +
      done,
    one,
  ],
  [
    'the arguments are cut within an escape',
    'platform.openai.com, streaming of function calls: pieces end anywhere',
    call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"a\\' } }) +
      call({ index: 0, function: { arguments: 'nb\\u00' } }) +
      call({ index: 0, function: { arguments: 'e9"}' } }) +
      endOfCalls +
      done,
    { calls: [['look', '{"at":"a\\nb\\u00e9"}']], end: 'tool_calls' },
  ],
  [
    'the arguments are wrapped as the text that is no JSON',
    'tried: gateways in front of the Messages API, whose inputs must be objects',
    calling({ index: 0, id: 'x', function: { name: 'look', arguments: '{"invalid_json":"{at: a}"}' } }),
    { calls: [['look', '{at: a}']], end: 'tool_calls' },
  ],
]

const wordRows: readonly Row[] = [
  [
    'the words are the transcript of a sound',
    'platform.openai.com, API reference, chat completions: audio',
    chunk({ audio: { id: 'x', transcript: 'Hel' } }) +
      chunk({ audio: { transcript: 'lo' } }) +
      chunk({ audio: { data: 'AAAA' } }) +
      end +
      done,
    plain,
  ],
  [
    'a picture stands where the words belong',
    'openrouter.ai, documentation, image generation: images',
    whole({ content: '', images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }] }),
    { problem: 'provider-unreadable', says: 'a message of images' },
  ],
  [
    'the words have a name that no API has',
    'tried: gateways of workflow engines',
    chunk({ answer: 'Hello' }) + end + done,
    { problem: 'provider-unreadable', says: 'a message of answer' },
  ],
  [
    'the words are a list within a list',
    'tried: servers that append a list of parts to a list',
    whole({ content: [[{ type: 'text', text: 'Hello' }]] }),
    plain,
  ],
  [
    'thinking stands in thoughts',
    'tried: gateways that pass on the names of Gemini',
    chunk({ thoughts: 'Hm.' }) + hello + end + done,
    { ...plain, thought: 'Hm.' },
  ],
  [
    'thinking stands in the choice, beside the delta',
    'tried: gateways that put what they do not know beside the delta',
    data({ ...choice({}), choices: [{ index: 0, delta: { role: 'assistant' }, reasoning_content: 'Hm.' }] }) +
      hello +
      end +
      done,
    { ...plain, thought: 'Hm.' },
  ],
  [
    'thinking stands in the choice, beside the words of the same delta',
    'tried: gateways that put what they do not know beside the delta',
    data({ ...choice({}), choices: [{ index: 0, delta: { content: 'Hello' }, reasoning: 'Hm.' }] }) +
      end +
      done,
    { ...plain, thought: 'Hm.' },
  ],
  [
    'thinking stands in thinking_content',
    'tried: gateways of Claude',
    chunk({ thinking_content: 'Hm.' }) + hello + end + done,
    { ...plain, thought: 'Hm.' },
  ],
  [
    'the thought of a part is only a mark',
    'ai.google.dev, OpenAI compatibility: extra_content',
    chunk({ content: 'Hello', thought: true }) + end + done,
    plain,
  ],
  [
    'a whole message of another API has a usage',
    'docs.claude.com, Messages API, behind the address of a chat',
    JSON.stringify({
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
    { problem: 'provider-unreadable', says: 'an object of id, type, role, content' },
  ],
]

const endRows: readonly Row[] = [
  [
    'an error comes behind the end of the answer',
    'tried: proxies with a time limit for the connection',
    hello + end + data({ error: { message: 'timeout', code: 504 } }),
    plain,
    'an error',
  ],
  [
    'an error comes behind the calls of an ended answer',
    'tried: proxies with a time limit for the connection',
    call({ index: 0, id: 'x', function: { name: 'look', arguments: a } }) +
      endOfCalls +
      data({ error: { message: 'timeout', code: 504 } }),
    one,
    'an error',
  ],
  [
    'the usage behind the end of the answer is cut off',
    'tried: connections that a proxy closes behind the last word',
    `${hello}${end}data: {"choices":[],"usage":{"prompt_tok`,
    plain,
    'an error',
  ],
  [
    'plain words of a proxy come behind the end of the answer',
    'tried: proxies with a time limit for the connection',
    `${hello}${end}data: upstream request timeout\n\n`,
    plain,
    'an error',
  ],
  [
    'every event names a reason and an error comes in the middle',
    'tried: servers that name a reason in every event',
    chunk({ content: 'Hel' }, 'stop') +
      chunk({ content: 'lo' }, 'stop') +
      data({ error: { message: 'down' } }),
    { problem: 'upstream-failed', says: 'down' },
  ],
  [
    'the first event names a reason and an error follows',
    'tried: servers that name a reason in every event',
    chunk({ content: 'Hel' }, 'stop') + data({ error: { message: 'down' } }),
    { problem: 'upstream-failed', says: 'down' },
  ],
  [
    'the reason is a list',
    'tried: gateways that collect reasons',
    chunk({ content: 'Hello' }, ['stop']) + done,
    plain,
  ],
  [
    'the request expired in its queue',
    'platform.openai.com, batches: expired',
    chunk({ content: 'Hel' }, 'expired') + done,
    { problem: 'upstream-failed', says: 'expired' },
  ],
  [
    'the machine was taken away',
    'tried: servers on spot instances',
    chunk({ content: 'Hel' }, 'PREEMPTED') + done,
    { problem: 'upstream-failed', says: 'PREEMPTED' },
  ],
  [
    'the answer is said to be partial',
    'tried: gateways with a bound on time',
    chunk({ content: 'Hello' }, 'partial') + done,
    { ...plain, end: 'length' },
  ],
]

const lineRows: readonly Row[] = [
  [
    'the colon behind data is missing',
    'tried: servers that print their own lines',
    hello.replace('data:', 'data') + end + done,
    plain,
    'the normal form',
  ],
  [
    'data lines are indented',
    'tried: gateways that indent what they log',
    (hello + end + done).replaceAll('data:', '  data:'),
    plain,
    'an error',
  ],
  [
    'the field name has capital letters',
    'tried: servers that write field names as headers',
    (hello + end + done).replaceAll('data: {', 'DATA: {'),
    plain,
    'the normal form',
  ],
  [
    'the error is the text None beside an answer',
    'tried: servers in Python that print what is not there',
    data({ ...choice({ content: 'Hello' }), error: 'None' }) + end + done,
    plain,
    'an error',
  ],
  [
    'an answer of the generate API of Ollama comes',
    'https://github.com/ollama/ollama, API: generate',
    JSON.stringify({ model: 'm', response: 'Hello', done: true, prompt_eval_count: 10, eval_count: 5 }),
    { problem: 'provider-unreadable', says: 'an object of model, response' },
  ],
]

const usageRows: readonly Row[] = [
  ['the usage is a list', 'tried: gateways that count each attempt', beside({ usage: [usage] }), counted],
  [
    'the usage stands in the delta',
    'tried: gateways that fill one object',
    chunk({ content: 'Hello', usage }) + end + done,
    counted,
  ],
  [
    'the usage stands in the message',
    'tried: gateways that fill one object',
    whole({ content: 'Hello', usage }),
    counted,
  ],
  [
    'the usage has the names of Gemini',
    'ai.google.dev API reference, UsageMetadata',
    beside({ usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 } }),
    counted,
  ],
  [
    'the usage has the names of Bedrock',
    'docs.aws.amazon.com, InvokeModelWithResponseStream: invocation metrics',
    hello +
      data({
        ...choice({}, 'stop'),
        'amazon-bedrock-invocationMetrics': { inputTokenCount: 10, outputTokenCount: 5 },
      }) +
      done,
    counted,
  ],
  [
    'the usage comes behind the mark of the end',
    'tried: gateways that count when they close',
    hello + end + done + data({ choices: [], usage }),
    counted,
  ],
  [
    'the usage is an event of its own name',
    'tried: gateways with named events',
    `${hello}${end}event: usage\ndata: ${JSON.stringify(usage)}\n\n${done}`,
    counted,
  ],
  [
    'only the timings of llama.cpp count',
    'https://github.com/ggml-org/llama.cpp, server: timings',
    hello + data({ ...choice({}, 'stop'), timings: { prompt_n: 4, cache_n: 6, predicted_n: 5 } }) + done,
    counted,
  ],
  [
    'the usage has the total and the answer alone',
    'tried: gateways that drop zero and null',
    hello +
      end +
      data({ choices: [], usage: { prompt_tokens: null, completion_tokens: 5, total_tokens: 15 } }) +
      done,
    counted,
  ],
]

/** Content, calls, ends and usages under other names and in other places than those of the API. */
export const misplacedOddities: readonly Oddity[] = [
  ...callRows,
  ...wordRows,
  ...endRows,
  ...lineRows,
  ...usageRows,
].map(([what, source, wire, normal, openAiClient]) => ({
  what,
  source,
  wire,
  normal,
  ...(openAiClient === undefined ? {} : { openAiClient }),
}))
