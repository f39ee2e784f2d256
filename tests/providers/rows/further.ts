import { call, choice, chunk, data, done, end, endOfCalls, hello, one, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const a = { name: 'look', arguments: '{"at":"a"}' }
const usageChunk = (usage: object): string => data({ choices: [], usage })
const tokens = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
const plain = { text: 'Hello' } as const

/**
 * Oddities found by tests with answers that the other tables lack, among them silent losses of text, calls and
 * arguments.
 */
export const furtherOddities: readonly Oddity[] = [
  {
    what: 'the usage comes alone in the middle of the words',
    source: 'tried: gateways that tell the usage at intervals, without choices',
    wire: hello + usageChunk(tokens) + chunk({ content: ' there' }, 'stop') + done,
    normal: { text: 'Hello there', usage: [3, 4] },
  },
  {
    what: 'a whole message has no reason of its end',
    source: 'tried: small servers that write the message alone',
    wire: JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Hello' } }] }),
    normal: { text: 'Hello' },
  },
  {
    what: 'it breaks off behind a usage in the middle',
    source: 'tried: gateways that tell the usage at intervals, without choices',
    wire: hello + usageChunk(tokens) + chunk({ content: ' there' }),
    normal: { problem: 'upstream-failed', says: 'ended its answer early' },
    openAiClient: 'an error',
  },
  {
    what: 'the usage stands in the last choice',
    source: 'platform.moonshot.ai API reference, chat completion, streamed usage',
    wire: data({
      choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop', usage: tokens }],
    }),
    normal: { ...plain, usage: [3, 4] },
  },
  {
    what: 'the same call stands in function_call and in tool_calls',
    source: 'tried: proxies that serve clients of both APIs',
    wire: whole({ content: null, function_call: a, tool_calls: [{ id: 'x', function: a }] }, 'tool_calls'),
    normal: one,
  },
  {
    what: 'the arguments are named parameters',
    source: 'docs.vllm.ai, tool calling, Llama models write parameters',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', parameters: { at: 'a' } } }) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'a call has the members of an Anthropic block',
    source: 'docs.claude.com, tool_use blocks, put in tool_calls by a proxy',
    wire: call({ index: 0, id: 'x', type: 'tool_use', name: 'look', input: { at: 'a' } }) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'the input of a call has a number that no float holds',
    source: 'docs.claude.com, tool_use blocks, put in tool_calls by a proxy',
    wire: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","name":"look","input":{"at":9007199254740993}}]},"finish_reason":"tool_calls"}]}\n\n${done}`,
    normal: { calls: [['look', '{"at":9007199254740993}']], end: 'tool_calls' },
  },
  {
    what: 'the call is one of a custom tool',
    source: 'platform.openai.com API reference, custom tool calls',
    wire:
      call({ index: 0, id: 'x', type: 'custom', custom: { name: 'look', input: 'as text' } }) +
      endOfCalls +
      done,
    normal: { calls: [['look', 'as text']], end: 'tool_calls' },
  },
  {
    what: 'the end of a template stands behind the arguments',
    source: 'vllm-project/vllm: Hermes parser leaves </tool_call> in the arguments',
    wire:
      call({ index: 0, id: 'x', function: { ...a, arguments: '{"at":"a"}\n</tool_call><|im_end|>' } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'words stand behind the arguments',
    source: 'tried: small models that go on to talk inside of a call',
    wire: call({ index: 0, id: 'x', function: { ...a, arguments: '{"at":"a"} Done.' } }) + endOfCalls + done,
    normal: { calls: [['look', '{"at":"a"} Done.']], end: 'tool_calls' },
  },
  {
    what: 'indices are negative, and ids tell the calls apart',
    source: 'tried: servers that count calls from -1',
    wire:
      call({ index: -1, id: 'x', function: a }) +
      call({ index: -1, id: 'y', function: { ...a, arguments: '{"at":"b"}' } }) +
      endOfCalls +
      done,
    normal: { ...one, calls: [...one.calls, ['look', '{"at":"b"}']] },
  },
  {
    what: 'the reason is false until the end, which does not come',
    source: 'tried: servers that write false for nothing',
    wire: chunk({ content: 'Hello' }, false),
    normal: { problem: 'upstream-failed', says: 'ended its answer early' },
    openAiClient: 'an error',
  },
  {
    what: 'the refusal is false',
    source: 'tried: servers that write false for nothing',
    wire: whole({ content: 'Hello', refusal: false, reasoning_content: false }),
    normal: plain,
  },
  {
    what: 'a reason of Google stands behind a colon, for a broken call',
    source: 'discuss.ai.google.dev: finish_reason function_call_filter: MALFORMED_FUNCTION_CALL',
    wire: hello + chunk({}, 'function_call_filter: MALFORMED_FUNCTION_CALL') + done,
    normal: { problem: 'upstream-failed', says: 'MALFORMED_FUNCTION_CALL' },
  },
  {
    what: 'a reason of Google stands behind a colon, for a filter',
    source: 'discuss.ai.google.dev: finish_reason content_filter: RECITATION',
    wire: hello + chunk({}, 'content_filter: RECITATION') + done,
    normal: { ...plain, end: 'content_filter' },
  },
  {
    what: 'the model of Bedrock writes a call that cannot be read',
    source: 'docs.aws.amazon.com, Bedrock Converse, stopReason malformed_tool_use',
    wire: hello + chunk({}, 'malformed_tool_use') + done,
    normal: { problem: 'upstream-failed', says: 'malformed_tool_use' },
  },
  {
    what: 'the error is 0 beside an answer',
    source: 'tried: servers whose error is a number and 0 is a success',
    wire: whole({ content: 'Hello' }, 'stop', { error: 0 }),
    normal: plain,
  },
  {
    what: 'the error is an empty list beside an answer',
    source: 'tried: servers that list their errors',
    wire: whole({ content: 'Hello' }, 'stop', { error: [] }),
    normal: plain,
  },
  {
    what: 'errors stand in a list beside an empty result',
    source: 'developers.cloudflare.com API, responses with success, errors and messages',
    wire: JSON.stringify({
      result: null,
      success: false,
      errors: [{ code: 5007, message: 'no such model' }],
    }),
    normal: { problem: 'upstream-failed', says: 'no such model' },
  },
  {
    what: 'an error event has words that are no JSON',
    source: 'tried: proxies that hand the text of a failure on as an event',
    wire: 'event: error\ndata: upstream is overloaded\n\n',
    normal: { problem: 'upstream-failed', says: 'upstream is overloaded' },
  },
  {
    what: 'the last line of Ollama has no reason',
    source: 'github.com/ollama/ollama, docs/api.md, before done_reason',
    wire: '{"message":{"content":"Hel"},"done":false}\n{"message":{"content":"lo"},"done":false}\n{"message":{"content":""},"done":true}\n',
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'half of a surrogate pair stands in the id and in the model',
    source: 'fuzzed; what goes on is read by strict readers',
    wire: `data: {"id":"\\ud83d","model":"\\ud83d","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n${done}`,
    normal: plain,
  },
  {
    what: 'a call stands in the words alone',
    source: 'vllm-project/vllm: [TOOL_CALLS] in the content where no parser is set',
    wire: whole({ content: '[TOOL_CALLS][{"name":"look","arguments":{"at":"a"}}]' }),
    normal: { text: '[TOOL_CALLS][{"name":"look","arguments":{"at":"a"}}]' },
  },
  {
    what: 'words come behind the reason for the end',
    source: 'tried: servers that flush what they held back last',
    wire: hello + end + data(choice({ content: ' there' })) + done,
    normal: { text: 'Hello there' },
  },
  {
    what: 'the answer is packed and does not say so',
    source: 'tried: proxies that drop content-encoding',
    wire: Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 75, 76),
    normal: { problem: 'provider-unreadable', says: 'neither JSON nor a stream' },
    openAiClient: 'an error',
  },
  {
    what: 'an answer of the Responses API comes',
    source: 'platform.openai.com API reference, responses',
    wire: JSON.stringify({ object: 'response', output: [], usage: { input_tokens: 1, output_tokens: 2 } }),
    normal: { problem: 'provider-unreadable', says: 'an object of object, output, usage' },
  },
]
