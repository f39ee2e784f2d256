import { call, chunk, data, done, end, endOfCalls, hello, one, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const look = { index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"a"}' } }

/** Oddities in finish reasons, usage and thinking. */
export const endOddities: readonly Oddity[] = [
  {
    what: 'the reason is an empty text in every chunk',
    source: 'sgl-project/sglang: return finish_reason as empty string instead of null',
    wire: chunk({ content: 'Hel' }, '') + chunk({ content: 'lo' }, '') + end + done,
    normal: plain,
  },
  {
    what: 'the reason is the text null',
    source: 'PowerShell/AIShell: KoboldCpp uses the string "null" for finish_reason',
    wire: chunk({ content: 'Hel' }, 'null') + chunk({ content: 'lo' }, 'stop') + done,
    normal: plain,
  },
  {
    what: 'the reason is eos',
    source: 'huggingface/text-generation-inference: finish_reason eos_token',
    wire: hello + chunk({}, 'eos_token') + done,
    normal: plain,
  },
  {
    what: 'the reason is one that nobody has heard of',
    source: 'looplj/axonhub and others: finish reasons of their own',
    wire: hello + chunk({}, 'all_good') + done,
    normal: plain,
  },
  {
    what: 'the reason is an object',
    source: 'sgl-project/sglang: finish_reason as {"type":"stop","matched":…}',
    wire: hello + chunk({}, { type: 'stop', matched: 151_645 }) + done,
    normal: plain,
  },
  {
    what: 'the reason is stop although a tool is called',
    source: 'Blaizzy/mlx-vlm: return finish_reason=tool_calls when tool calls detected',
    wire: call(look) + end + done,
    normal: one,
  },
  {
    what: 'the reason is tool_use',
    source: 'BerriAI/litellm: cannot get finish_reason tool_calls',
    wire: call(look) + chunk({}, 'tool_use') + done,
    normal: one,
  },
  {
    what: 'the reason is tool_calls although none is called',
    source: 'mudler/LocalAI: Ai uses tool_calls as finish_reason despite it being a simple response',
    wire: hello + endOfCalls + done,
    normal: plain,
  },
  {
    what: 'the answer is cut off in the middle of a call',
    source: 'MiqroForge-Desktop: tool arguments cut by the limit of output are recognized and not executed',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"' } }) +
      chunk({}, 'length') +
      done,
    normal: { calls: [['look', '{"at":"']], end: 'length' },
  },
  {
    what: 'the answer is cut off at the end of the context',
    source: 'docs.claude.com, handling stop reasons, model_context_window_exceeded',
    wire: hello + chunk({}, 'model_context_window_exceeded') + done,
    normal: { text: 'Hello', end: 'length' },
  },
  {
    what: 'a filter ends it',
    source: 'learn.microsoft.com, Azure OpenAI, content filtering',
    wire: hello + chunk({}, 'content_filter') + done,
    normal: { text: 'Hello', end: 'content_filter' },
  },
  {
    what: 'a filter of Google ends it',
    source: 'ai.google.dev API reference, FinishReason',
    wire: hello + chunk({}, 'SAFETY') + done,
    normal: { text: 'Hello', end: 'content_filter' },
  },
  {
    what: 'the model writes a call that its provider cannot read',
    source: 'google-gemini/gemini-cli: account for MALFORMED_FUNCTION_CALL as one of the finish reasons',
    wire: chunk({}, 'MALFORMED_FUNCTION_CALL') + done,
    normal: { problem: 'upstream-failed', says: 'MALFORMED_FUNCTION_CALL' },
  },
  {
    what: 'the provider has no room to go on',
    source: 'api-docs.deepseek.com API reference, finish_reason insufficient_system_resource',
    wire: hello + chunk({}, 'insufficient_system_resource') + done,
    normal: { problem: 'upstream-failed', says: 'insufficient_system_resource' },
  },
  {
    what: 'it refuses in a place of its own',
    source: 'platform.openai.com guide, structured outputs, refusals',
    wire: chunk({ refusal: 'I may ' }) + chunk({ refusal: 'not.' }) + end + done,
    normal: { text: 'I may not.', end: 'content_filter' },
  },
  {
    what: 'numbers of the usage are texts',
    source: 'langgenius/dify plugins: usage tokens as strings',
    wire: hello + end + data({ choices: [], usage: { prompt_tokens: '10', completion_tokens: '2' } }) + done,
    normal: { ...plain, usage: [10, 2] },
  },
  {
    what: 'numbers of the usage are negative or beyond belief',
    source: 'BerriAI/litellm: negative completion tokens',
    wire: hello + end + data({ choices: [], usage: { prompt_tokens: -1, completion_tokens: 1e30 } }) + done,
    normal: plain,
  },
  {
    what: 'the usage stands beside the answer, under a name of the provider',
    source: 'console.groq.com documentation, x_groq usage',
    wire:
      hello +
      data({
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        x_groq: { id: 'r', usage: { prompt_tokens: 10, completion_tokens: 2 } },
      }) +
      done,
    normal: { ...plain, usage: [10, 2] },
  },
  {
    what: 'thinking stands in reasoning_content',
    source: 'api-docs.deepseek.com guide, thinking mode',
    wire: chunk({ reasoning_content: 'hm', content: null }) + hello + end + done,
    normal: { ...plain, thought: 'hm' },
  },
  {
    what: 'thinking stands in reasoning',
    source: 'ollama/ollama and vllm-project/vllm: reasoning field of the chat API',
    wire: chunk({ reasoning: 'hm' }) + hello + end + done,
    normal: { ...plain, thought: 'hm' },
  },
  {
    what: 'thinking stands twice, as a text and in signed pieces',
    source: 'openrouter.ai documentation, reasoning tokens, reasoning_details',
    wire:
      chunk({
        reasoning: 'hm',
        reasoning_details: [
          { type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0 },
        ],
      }) +
      hello +
      end +
      done,
    normal: { ...plain, thought: 'hm' },
  },
  {
    what: 'thinking stands in blocks of Anthropic’s',
    source: 'docs.litellm.ai, reasoning content, thinking_blocks',
    wire:
      chunk({
        reasoning_content: 'hm',
        thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 's' }],
      }) +
      hello +
      end +
      done,
    normal: { ...plain, thought: 'hm' },
  },
  {
    what: 'thinking stands between tags in the words',
    source: 'vllm-project/vllm and ollama users: <think> left in content',
    wire:
      chunk({ content: '<thi' }) +
      chunk({ content: 'nk>h' }) +
      chunk({ content: 'm</th' }) +
      chunk({ content: 'ink>\n\nHello' }) +
      end +
      done,
    normal: { ...plain, thought: 'hm' },
  },
  {
    what: 'words and thinking come as parts in a list',
    source: 'BerriAI/litellm: Magistral reasoning not working with streaming',
    wire:
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'h' }] }] }) +
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'm' }] }] }) +
      chunk({ content: [{ type: 'text', text: 'Hello' }] }) +
      end +
      done,
    normal: { ...plain, thought: 'hm' },
  },
  {
    what: 'words come as a list of texts',
    source: 'openai/openai-python and gateways: content as a list of parts',
    wire: whole({ content: ['Hel', { type: 'text', text: 'lo' }] }),
    normal: plain,
    openAiClient: 'the normal form',
  },
  {
    what: 'there is thinking and no word',
    source: 'ollama/ollama: empty content, all text in reasoning',
    wire: chunk({ content: null, reasoning_content: 'hm' }) + end + done,
    normal: { text: '', thought: 'hm', end: 'stop' },
  },
  {
    what: 'all parts are of a type that nobody knows',
    source: 'docs.claude.com, versioning: new types of content may be added',
    wire: chunk({ content: [{ type: 'hologram', url: 'x' }] }) + end + done,
    normal: { problem: 'provider-unreadable', says: 'hologram' },
  },
  {
    what: 'a part of an unknown type stands beside words',
    source: 'docs.claude.com, versioning: new types of content may be added',
    wire:
      chunk({
        content: [
          { type: 'hologram', url: 'x' },
          { type: 'text', text: 'Hello' },
        ],
      }) +
      end +
      done,
    normal: plain,
  },
  {
    what: 'the words are a number',
    source: 'vllm-project/vllm: content 7 where the model answered a number',
    wire: chunk({ content: 7 }) + end + done,
    normal: { text: '7', end: 'stop' },
  },
  {
    what: 'the words are an object without a text',
    source: 'fuzzed; what has not the expected type is no empty answer',
    wire: chunk({ content: { a: 1 } }) + end + done,
    normal: { problem: 'provider-unreadable' },
  },
  {
    what: 'the last event repeats the whole message',
    source: 'docs.perplexity.ai, streaming: delta and message in each event',
    wire:
      chunk({ content: 'Hel' }) +
      chunk({ content: 'lo' }) +
      data({
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      }) +
      done,
    normal: plain,
  },
  {
    what: 'a zero character and a half of a surrogate pair stand in the words',
    source: 'anthropics/claude-code: no low surrogate in string; postgres users: \\u0000 cannot be converted',
    wire: `data: {"choices":[{"index":0,"delta":{"content":"He\\u0000l\\ud83dlo"},"finish_reason":"stop"}]}\n\n${done}`,
    normal: { text: 'He\u0000l\ufffdlo', end: 'stop' },
  },
  {
    what: 'a character is cut between two chunks',
    source: 'vllm-project/vllm and llama.cpp users: emoji split over two deltas',
    wire: `data: {"choices":[{"index":0,"delta":{"content":"Hi \\ud83d"}}]}\n\ndata: {"choices":[{"index":0,"delta":{"content":"\\ude00"},"finish_reason":"stop"}]}\n\n${done}`,
    normal: { text: 'Hi \u{1F600}', end: 'stop' },
  },
  {
    what: 'the role is missing or another one',
    source: 'sgl-project/sglang: role null in every chunk',
    wire: chunk({ role: null, content: 'Hel' }) + chunk({ role: 'bot', content: 'lo' }) + end + done,
    normal: plain,
  },
  {
    what: 'the text stands in the choice, as completions had it',
    source: 'oobabooga/text-generation-webui: text in choices of the chat API',
    wire: data({ choices: [{ index: 0, text: 'Hello', finish_reason: 'stop' }] }) + done,
    normal: plain,
  },
  {
    what: 'objects are nested beyond all reason',
    source: 'fuzzed; every reader of JSON has a bound',
    wire: `data: {"choices":[{"delta":{"x":${'['.repeat(5000)}${']'.repeat(5000)}}}]}\n\n${done}`,
    normal: { problem: 'provider-unreadable', says: 'nested' },
  },
]
