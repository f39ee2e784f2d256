import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { call, choice, chunk, data, done, end, endOfCalls, hello, one, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const a = { name: 'look', arguments: '{"at":"a"}' }
const stream = hello + end + done
const wholeHello = whole({ role: 'assistant', content: 'Hello' })

/** Bodies that are compressed, mixed or framed in another way than the format of event streams. */
export const framingOddities: readonly Oddity[] = [
  {
    what: 'a stream is compressed with gzip and does not say so',
    source:
      'Wei-Shaw/claude-relay-service: SSE Streaming Responses Corrupted by UTF-8 Text Processing of Binary Gzip Data',
    wire: gzipSync(stream),
    normal: plain,
  },
  {
    what: 'a stream is compressed with zstd and does not say so',
    source: 'nodejs/undici, responses in zstd that were not asked for',
    wire: zstdCompressSync(stream),
    normal: plain,
  },
  {
    what: 'a whole answer is compressed with zstd and says so',
    source: 'nodejs/undici, responses in zstd that were not asked for',
    contentEncoding: 'zstd',
    contentType: 'application/json',
    wire: zstdCompressSync(wholeHello),
    openAiClient: 'the normal form',
    normal: plain,
  },
  {
    what: 'a whole answer is compressed with gzip and does not say so',
    source:
      'Wei-Shaw/claude-relay-service: SSE Streaming Responses Corrupted by UTF-8 Text Processing of Binary Gzip Data',
    wire: gzipSync(wholeHello),
    contentType: 'application/json',
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'a stream is compressed with gzip and says so',
    source:
      'Wei-Shaw/claude-relay-service: SSE Streaming Responses Corrupted by UTF-8 Text Processing of Binary Gzip Data',
    wire: gzipSync(stream),
    contentEncoding: 'gzip',
    normal: plain,
  },
  {
    what: 'a stream is said to be compressed with gzip and is not',
    source:
      'Wei-Shaw/claude-relay-service: SSE Streaming Responses Corrupted by UTF-8 Text Processing of Binary Gzip Data',
    wire: stream,
    contentEncoding: 'gzip',
    normal: plain,
  },
  {
    what: 'a stream is compressed with Brotli and says so',
    source:
      'Wei-Shaw/claude-relay-service: SSE Streaming Responses Corrupted by UTF-8 Text Processing of Binary Gzip Data',
    wire: brotliCompressSync(stream),
    contentEncoding: 'br',
    normal: plain,
  },
  {
    what: 'a stream is compressed with deflate and says so',
    source:
      'Wei-Shaw/claude-relay-service: SSE Streaming Responses Corrupted by UTF-8 Text Processing of Binary Gzip Data',
    wire: deflateSync(stream),
    contentEncoding: 'deflate',
    normal: plain,
  },
  {
    what: 'a stream is compressed with deflate without the header of zlib',
    source:
      'Wei-Shaw/claude-relay-service: SSE Streaming Responses Corrupted by UTF-8 Text Processing of Binary Gzip Data',
    wire: deflateRawSync(stream),
    contentEncoding: 'deflate',
    normal: plain,
  },
  {
    what: 'events are separated by a single line end',
    source:
      'milady-ai/milady: SSE stream parser drops multi-line data fields; tried: a server that ends its events with one line end',
    wire: stream.replaceAll('\n\n', '\n'),
    normal: plain,
  },
  {
    what: 'the field name data stands twice',
    source: 'tried: proxies that frame the lines of a stream as events once more',
    wire: stream.replaceAll('data: ', 'data: data: '),
    normal: plain,
  },
  {
    what: 'one data line has a list of chunks',
    source: 'ai.google.dev API reference, streamGenerateContent without alt=sse; tried for chats',
    wire: `data: [${JSON.stringify(choice({ content: 'Hel' }))},${JSON.stringify(choice({ content: 'lo' }, 'stop'))}]\n\n${done}`,
    normal: plain,
  },
  {
    what: 'a list of chunks comes in place of a stream',
    source: 'ai.google.dev API reference, streamGenerateContent without alt=sse; tried for chats',
    wire: JSON.stringify([choice({ content: 'Hel' }), choice({ content: 'lo' }, 'stop')]),
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'chunks come as lines of JSON between the events',
    source: 'SamSaffron/term-llm: OpenAI-compatible stream parser mishandles multi-line SSE payloads',
    wire: `${chunk({ content: 'Hel' })}${JSON.stringify(choice({ content: 'lo' }))}\n\n${end}${done}`,
    normal: plain,
  },
  {
    what: 'an error comes as a line of JSON without data: in the middle of a stream',
    source:
      'aaif-goose/goose: handle mid-stream error events; nginx and envoy write their pages into a stream that has begun',
    wire: `${hello}{"error":{"message":"Worker died","type":"server_error"}}\n`,
    normal: { problem: 'upstream-failed', says: 'Worker died' },
    openAiClient: 'an error',
  },
  {
    what: 'an error comes as JSON over several lines in the middle of a stream',
    source:
      'aaif-goose/goose: handle mid-stream error events; nginx and envoy write their pages into a stream that has begun',
    wire: `${hello}${JSON.stringify({ error: { message: 'Worker died', type: 'server_error' } }, null, 2)}\n`,
    normal: { problem: 'upstream-failed', says: 'Worker died' },
    openAiClient: 'an error',
  },
  {
    what: 'a page comes in the middle of a stream',
    source:
      'aaif-goose/goose: handle mid-stream error events; nginx and envoy write their pages into a stream that has begun',
    wire: `${hello}<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>nginx</body>\r\n</html>\r\n`,
    normal: { problem: 'upstream-failed', says: '504 Gateway Time-out' },
    openAiClient: 'an error',
  },
  {
    what: 'a plain text comes in the middle of a stream',
    source:
      'aaif-goose/goose: handle mid-stream error events; nginx and envoy write their pages into a stream that has begun',
    wire: `${hello}upstream connect error or disconnect/reset before headers`,
    normal: { problem: 'upstream-failed', says: 'upstream connect error' },
    openAiClient: 'an error',
  },
  {
    what: 'numbers are NaN and Infinity',
    source: 'madroidmaq/mlx-omni-server: Clip logprobs to -100 to avoid JSON encoder errors',
    wire: `data: {"choices":[{"index":0,"delta":{"content":"NaN, Infinity"},"logprobs":{"content":[{"logprob":-Infinity},{"logprob": NaN}]},"finish_reason":null}]}\n\n${end}${done}`,
    normal: { text: 'NaN, Infinity', end: 'stop' },
  },
  {
    what: 'a raw line end and a tab stand in a text of the JSON',
    source: 'madroidmaq/mlx-omni-server: Clip logprobs to -100 to avoid JSON encoder errors',
    wire: `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hel\tlo"},"finish_reason":"stop"}]}`,
    normal: { text: 'Hel\tlo', end: 'stop' },
  },
  {
    what: 'an empty delta stands beside the full message',
    source: 'docs.perplexity.ai, streaming: delta and message in each event',
    wire: data({
      choices: [
        { index: 0, delta: {}, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' },
      ],
    }),
    normal: plain,
  },
  {
    what: 'a delta without words stands beside a call in the full message',
    source: 'docs.perplexity.ai, streaming: delta and message in each event',
    wire: data({
      choices: [
        {
          index: 0,
          delta: { role: 'assistant', content: '' },
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'x', type: 'function', function: a }],
          },
          finish_reason: 'tool_calls',
        },
      ],
    }),
    normal: one,
  },
  {
    what: 'each event has the delta and the message so far',
    source: 'docs.perplexity.ai, streaming: delta and message in each event',
    wire:
      data({ choices: [{ index: 0, delta: { content: 'Hel' }, message: { content: 'Hel' } }] }) +
      data({
        choices: [
          { index: 0, delta: { content: 'lo' }, message: { content: 'Hello' }, finish_reason: 'stop' },
        ],
      }),
    normal: plain,
  },
  {
    what: 'each event has the message so far and no delta',
    source: 'docs.perplexity.ai, streaming: delta and message in each event',
    wire:
      data({ choices: [{ index: 0, message: { role: 'assistant', content: 'Hel' } }] }) +
      data({
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      }),
    normal: plain,
  },
  {
    what: 'names are written in camel case',
    source:
      'alfredapp/openai-workflow: If the finishReason is not returned, then the streaming will not work',
    wire:
      data({ choices: [{ index: 0, delta: { toolCalls: [{ index: 0, id: 'x', function: a }] } }] }) +
      data({
        choices: [{ index: 0, delta: {}, finishReason: 'TOOL_CALLS' }],
        usage: { promptTokens: 10, completionTokens: 2 },
      }),
    normal: { ...one, usage: [10, 2] },
  },
  {
    what: 'the reason for the end is named finishReason',
    source:
      'alfredapp/openai-workflow: If the finishReason is not returned, then the streaming will not work',
    wire: data({ choices: [{ index: 0, delta: { content: 'Hello' }, finishReason: 'length' }] }),
    normal: { text: 'Hello', end: 'length' },
  },
  {
    what: 'the reason for the end is named stop_reason',
    source:
      'alfredapp/openai-workflow: If the finishReason is not returned, then the streaming will not work',
    wire: data({ choices: [{ index: 0, delta: { content: 'Hello' }, stop_reason: 'max_tokens' }] }),
    normal: { text: 'Hello', end: 'length' },
  },
  {
    what: 'the choice is an object and no list',
    source: 'tried: servers that write one entry without its list, as LocalAI does with tool_calls',
    wire: data({ choices: { index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' } }) + done,
    normal: plain,
  },
  {
    what: 'the answer stands in an envelope',
    source: 'developers.cloudflare.com API, responses with result, success, errors and messages',
    wire: JSON.stringify({
      result: { choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }] },
      success: true,
      errors: [],
      messages: [],
    }),
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'the mark of the end has another spelling',
    source:
      'milady-ai/milady: SSE stream parser drops multi-line data fields; tried: a server that ends its events with one line end',
    wire: `${hello}${end}data: [DONE] \r\n\r\ndata: <html>\n\n`,
    normal: plain,
  },
  {
    what: 'an event behind the mark of the end has no JSON',
    source:
      'milady-ai/milady: SSE stream parser drops multi-line data fields; tried: a server that ends its events with one line end',
    wire: `${hello}${end}${done}data: bye\n\n`,
    normal: plain,
  },
  {
    what: 'a null character stands between the events',
    source:
      'milady-ai/milady: SSE stream parser drops multi-line data fields; tried: a server that ends its events with one line end',
    wire: `${hello}\0\n\n${end}${done}`,
    normal: plain,
  },
  {
    what: 'the whole answer is a JSON text in a JSON text',
    source:
      'gabrii/Cursor-Azure-GPT-5: Handle model generating invalid json gracefully (objects one behind the other)',
    wire: JSON.stringify(wholeHello),
    contentType: 'application/json',
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'the events of a whole stream come as one JSON text',
    source:
      'gabrii/Cursor-Azure-GPT-5: Handle model generating invalid json gracefully (objects one behind the other)',
    wire: `${JSON.stringify(choice({ content: 'Hel' }))}${JSON.stringify(choice({ content: 'lo' }, 'stop'))}`,
    contentType: 'application/json',
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'a call comes in one event whose lines lack the blank line behind them',
    source:
      'milady-ai/milady: SSE stream parser drops multi-line data fields; tried: a server that ends its events with one line end',
    wire: `${call({ index: 0, id: 'x', function: a }).trimEnd()}\n${endOfCalls.trimEnd()}\n${done}`,
    normal: one,
  },
]
