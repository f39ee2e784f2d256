import { call, chunk, data, done, end, endOfCalls, one, two, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const a = { name: 'look', arguments: '{"at":"a"}' }
const b = { name: 'look', arguments: '{"at":"b"}' }

/** Oddities in how tool calls are split, named and numbered. */
export const callOddities: readonly Oddity[] = [
  {
    what: 'parallel calls all have the index 0 and ids of their own',
    source: 'huggingface/smolagents: handle parallel tool calls with same index in streaming mode',
    wire:
      call({ index: 0, id: 'x', function: a }) + call({ index: 0, id: 'y', function: b }) + endOfCalls + done,
    normal: two,
  },
  {
    what: 'parallel calls all have the index 0, ids, and arguments in pieces',
    source: 'LibreChat-AI/agents: repair streamed tool-call indices for OpenAI-compatible providers',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at"' } }) +
      call({ index: 0, id: 'x', function: { arguments: ':"a"}' } }) +
      call({ index: 0, id: 'y', function: { name: 'look', arguments: '{"at"' } }) +
      call({ index: 0, id: 'y', function: { arguments: ':"b"}' } }) +
      endOfCalls +
      done,
    normal: two,
  },
  {
    what: 'parallel calls have neither index nor id',
    source: 'ollama/ollama: index is missing in streamed tool calls',
    wire: call({ function: a }) + call({ function: b }) + endOfCalls + done,
    normal: two,
  },
  {
    what: 'parallel calls share one index and one id, with one object behind the other',
    source: 'open-webui/open-webui: prevent streaming tool call function name and argument duplication',
    wire:
      call({ index: 0, id: 'x', function: a }) +
      call({ index: 0, function: { arguments: b.arguments } }) +
      endOfCalls +
      done,
    normal: two,
  },
  {
    what: 'the pieces of two calls come mixed, with ids in the first piece alone',
    source: 'QwenLM/Qwen-Agent: merge parallel tool call chunks by index',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at":' } }) +
      call({ index: 1, id: 'y', function: { name: 'look', arguments: '{"at":' } }) +
      call({ index: 0, function: { arguments: '"a"}' } }) +
      call({ index: 1, function: { arguments: '"b"}' } }) +
      endOfCalls +
      done,
    normal: two,
  },
  {
    what: 'each piece of one call has another id',
    source: 'vllm-project/vllm: tool call id differs in every streamed delta',
    wire:
      call({ index: 0, id: 'x1', function: { name: 'look', arguments: '{"at"' } }) +
      call({ index: 0, id: 'x2', function: { arguments: ':"a"' } }) +
      call({ index: 0, id: 'x3', function: { arguments: '}' } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'each piece of one call has the name again',
    source: 'NousResearch/hermes-agent: prevent tool name duplication (MiniMax, NVIDIA NIM)',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at"' } }) +
      call({ index: 0, id: 'x', function: { name: 'look', arguments: ':"a"' } }) +
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '}' } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'parallel calls without arguments all have the index 0 and no ids',
    source: 'huggingface/smolagents: handle parallel tool calls with same index in streaming mode',
    wire:
      call({ index: 0, function: { name: 'look', arguments: '' } }) +
      call({ index: 0, function: { name: 'get_time', arguments: '' } }) +
      endOfCalls +
      done,
    normal: {
      calls: [
        ['look', '{}'],
        ['get_time', '{}'],
      ],
      end: 'tool_calls',
    },
  },
  {
    what: 'the name comes in pieces',
    source: 'continuedev/continue: Fix tool call delta name streaming logic',
    wire:
      call({ index: 0, id: 'x', function: { name: 'lo' } }) +
      call({ index: 0, function: { name: 'ok' } }) +
      call({ index: 0, function: { arguments: a.arguments } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the name comes behind the id',
    source:
      'smallmain/vscode-unify-chat-provider: merge streaming functionCall chunks to prevent empty name errors',
    wire:
      call({ index: 0, id: 'x', type: 'function', function: { name: '', arguments: '' } }) +
      call({ index: 0, function: { name: 'look' } }) +
      call({ index: 0, function: { arguments: a.arguments } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the arguments come whole, and whole again',
    source: 'open-webui/open-webui: models re-send complete arguments in follow-up deltas',
    wire:
      call({ index: 0, id: 'x', function: a }) + call({ index: 0, id: 'x', function: a }) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'each piece has all arguments so far',
    source: 'sgl-project/sglang: streamed tool call arguments are cumulative',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at"' } }) +
      call({ index: 0, function: { arguments: '{"at":"a"' } }) +
      call({ index: 0, function: { arguments: '{"at":"a"}' } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the arguments begin with an empty object that is none of them',
    source: 'BerriAI/litellm: tool arguments prefixed with {} in Anthropic streams',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '{}' } }) +
      call({ index: 0, function: { arguments: a.arguments } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the arguments are an object',
    source: 'ggml-org/llama.cpp: llama-server tool_calls returns arguments as JSON object instead of string',
    wire: call({ index: 0, id: 'x', function: { name: 'look', arguments: { at: 'a' } } }) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'the arguments are an object with numbers that no float holds',
    source: 'earendil-works/pi: integers > 2^53 in tool-call arguments are silently rounded by JSON.parse',
    wire: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":"x","function":{"name":"look","arguments":{"id":12345678901234567890,"x":0.10000000000000000001,"__proto__":1.0}}}]},"finish_reason":"tool_calls"}]}\n\n${done}`,
    normal: {
      calls: [['look', '{"id":12345678901234567890,"x":0.10000000000000000001,"__proto__":1.0}']],
      end: 'tool_calls',
    },
  },
  {
    what: 'the arguments are a JSON text in a JSON text',
    source: 'quarkiverse/quarkus-langchain4j: tolerate double-encoded JSON tool arguments',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: JSON.stringify(a.arguments) } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the arguments are null at first',
    source: 'open-webui/open-webui: Streaming crash when tool_call arguments are null',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: null } }) +
      call({ index: 0, id: null, function: { name: null, arguments: a.arguments } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'there are no arguments: an empty text',
    source: 'sigoden/aichat: openai-compatible handles empty tool call arguments',
    wire: call({ index: 0, id: 'x', function: { name: 'look', arguments: '' } }) + endOfCalls + done,
    normal: { calls: [['look', '{}']], end: 'tool_calls' },
  },
  {
    what: 'there are no arguments: the text null',
    source: 'vllm-project/vllm: arguments "null" of tools without parameters',
    wire: call({ index: 0, id: 'x', function: { name: 'look', arguments: 'null' } }) + endOfCalls + done,
    normal: { calls: [['look', '{}']], end: 'tool_calls' },
  },
  {
    what: 'a bracket too many stands behind the arguments',
    source: 'vllm-project/vllm: hermes tool parser streams an extra closing brace',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: `${a.arguments}}` } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the arguments stand between the fences of a code block',
    source: 'langchain-ai/langchain: arguments wrapped in ```json',
    wire:
      call({
        index: 0,
        id: 'x',
        function: { name: 'look', arguments: `\`\`\`json\n${a.arguments}\n\`\`\`` },
      }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the arguments are no JSON, and nobody guesses what was meant',
    source: 'ollama/ollama: model writes a Python dict as arguments',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: "{'at': 'a'}" } }) + endOfCalls + done,
    normal: { calls: [['look', "{'at': 'a'}"]], end: 'tool_calls' },
  },
  {
    what: 'half of a surrogate pair stands in the arguments',
    source: 'anthropics/claude-code: The request body is not valid JSON: no low surrogate in string',
    wire: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"look","arguments":"{\\"at\\":\\"\\\\ud83d\\"}"}}]},"finish_reason":"tool_calls"}]}\n\n${done}`,
    normal: { calls: [['look', '{"at":"\\ufffd"}']], end: 'tool_calls' },
  },
  {
    what: 'the index is a text',
    source: 'LibreChat-AI/agents: repair streamed tool-call indices',
    wire:
      call({ index: '0', id: 'x', function: a }) +
      call({ index: '1', id: 'y', function: b }) +
      endOfCalls +
      done,
    normal: two,
  },
  {
    what: 'the index stands in the function, as Ollama has it',
    source: 'github.com/ollama/ollama, docs/api.md, streaming with tools',
    wire: data({
      message: {
        role: 'assistant',
        content: '',
        tool_calls: [{ function: { index: 0, name: 'look', arguments: { at: 'a' } } }],
      },
      done: true,
      done_reason: 'stop',
    }),
    normal: one,
  },
  {
    what: 'calls start at the index 1',
    source: 'BerriAI/litellm: tool call index starts at 1 behind a text block',
    wire:
      call({ index: 1, id: 'x', function: a }) + call({ index: 2, id: 'y', function: b }) + endOfCalls + done,
    normal: two,
  },
  {
    what: 'calls of a whole answer have no ids',
    source: 'ggml-org/llama.cpp: tool_calls without id',
    wire: whole({ content: null, tool_calls: [{ function: a }, { function: b }] }, 'tool_calls'),
    normal: two,
    openAiClient: 'the normal form',
  },
  {
    what: 'two equal calls of a whole answer are two calls',
    source: 'platform.openai.com guide, function calling, parallel calls',
    wire: whole({ content: null, tool_calls: [{ function: a }, { function: a }] }, 'tool_calls'),
    normal: {
      calls: [
        ['look', '{"at":"a"}'],
        ['look', '{"at":"a"}'],
      ],
      end: 'tool_calls',
    },
    openAiClient: 'the normal form',
  },
  {
    what: 'one call stands where a list belongs',
    source: 'mudler/LocalAI: tool_calls is an object',
    wire: whole({ content: '', tool_calls: { id: 'x', function: a } }, 'tool_calls'),
    normal: one,
    openAiClient: 'the normal form',
  },
  {
    what: 'name and arguments stand beside the id',
    source: 'cohere and older gateways: flat tool calls',
    wire: call({ index: 0, id: 'x', name: 'look', arguments: '{"at":"a"}' }) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'the call is a function_call of the first API',
    source: 'platform.openai.com API reference, function_call (deprecated)',
    wire:
      chunk({ function_call: { name: 'look', arguments: '{"at"' } }) +
      chunk({ function_call: { arguments: ':"a"}' } }) +
      chunk({}, 'function_call') +
      done,
    normal: one,
  },
  {
    what: 'tool_calls is null or an empty list beside words',
    source: 'sgl-project/sglang: delta with tool_calls null',
    wire: chunk({ content: 'Hel', tool_calls: null }) + chunk({ content: 'lo', tool_calls: [] }) + end + done,
    normal: { text: 'Hello', end: 'stop' },
  },
  {
    what: 'an entry of tool_calls is null, or has nothing in it',
    source: 'odysseus-dev/odysseus: null choice, usage and call entries',
    wire:
      chunk({ tool_calls: [null, { index: 0, id: 'x', function: a }] }) +
      chunk({ tool_calls: [{ index: 5 }] }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the name has marks of the model’s own template around it',
    source: 'vllm-project/vllm and openai/gpt-oss: tool names with functions. and <|channel|>',
    wire:
      call({
        index: 0,
        id: 'x',
        function: { name: 'functions.look<|channel|>commentary', arguments: a.arguments },
      }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'a call has no name',
    source: 'NousResearch/hermes-agent: nameless tool calls of small models',
    wire: call({ index: 0, id: 'x', function: { arguments: a.arguments } }) + endOfCalls + done,
    normal: { calls: [['unnamed_call', '{"at":"a"}']], end: 'tool_calls' },
  },
  {
    what: 'tool_calls is a number',
    source: 'fuzzed; what has not the expected type is no empty answer',
    wire: chunk({ tool_calls: 7 }) + endOfCalls + done,
    normal: { problem: 'provider-unreadable', says: 'tool_calls' },
  },
]
