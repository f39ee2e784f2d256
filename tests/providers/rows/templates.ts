import { call, chunk, data, done, end, endOfCalls, hello, one, plain, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const thought = { ...plain, thought: 'hm' } as const

function said(...pieces: readonly string[]): string {
  return pieces.map((content) => chunk({ content })).join('') + end + done
}

/** Marks of a model's chat template that its server leaves in the text. */
export const templateOddities: readonly Oddity[] = [
  {
    what: 'thinking has a closing tag and no opening one',
    source:
      'QwenLM/qwen-code: Parse tagged thinking for GLM responses (a stray closing tag); nbramia/LifeOS: closing-only tag leaks reasoning',
    wire: said('hm', '</think>Hello'),
    normal: thought,
  },
  {
    what: 'thinking has a closing tag alone, cut in pieces',
    source:
      'QwenLM/qwen-code: Parse tagged thinking for GLM responses (a stray closing tag); nbramia/LifeOS: closing-only tag leaks reasoning',
    wire: said('h', 'm\n</th', 'ink>\n', '\nHel', 'lo'),
    normal: { ...thought, thought: 'hm\n' },
  },
  {
    what: 'thinking has a closing tag alone, in a whole answer',
    source:
      'QwenLM/qwen-code: Parse tagged thinking for GLM responses (a stray closing tag); nbramia/LifeOS: closing-only tag leaks reasoning',
    wire: whole({ content: 'hm</think>\n\nHello' }),
    normal: thought,
    openAiClient: 'the normal form',
  },
  {
    what: 'thinking has a closing tag alone and is long',
    source:
      'QwenLM/qwen-code: Parse tagged thinking for GLM responses (a stray closing tag); nbramia/LifeOS: closing-only tag leaks reasoning',
    wire: said('hm '.repeat(500), 'x</think>\n\nHello'),
    normal: { ...plain, thought: `${'hm '.repeat(500)}x` },
    anthropicClient: 'sees the thinking as words',
  },
  {
    what: 'a closing tag stands in the words as an example',
    source:
      'QwenLM/qwen-code: Parse tagged thinking for GLM responses (a stray closing tag); nbramia/LifeOS: closing-only tag leaks reasoning',
    wire: said('The tag `</think>` ends it.'),
    normal: { text: 'The tag `</think>` ends it.', end: 'stop' },
  },
  {
    what: 'both tags stand in the words as an example',
    source:
      'QwenLM/qwen-code: Parse tagged thinking for GLM responses (a stray closing tag); nbramia/LifeOS: closing-only tag leaks reasoning',
    wire: said('Write <think>x</think> first.'),
    normal: { text: 'Write <think>x</think> first.', end: 'stop' },
  },
  {
    what: 'thinking begins a second time behind the first',
    source:
      'bytedance/deer-flow: strip unclosed <think> tags from streaming AI content; LibreChat-AI/agents: Improve <think>/<thinking> tag identification',
    wire: said('<think>h</think>', '\n<think>m</think>\n\nHello'),
    normal: thought,
  },
  {
    what: 'thinking begins a second time in the middle of the words',
    source:
      'bytedance/deer-flow: strip unclosed <think> tags from streaming AI content; LibreChat-AI/agents: Improve <think>/<thinking> tag identification',
    wire: said('<think>h</think>Hel', '<thi', 'nk>m</think>lo'),
    normal: thought,
  },
  {
    what: 'a second thinking is never closed',
    source:
      'bytedance/deer-flow: strip unclosed <think> tags from streaming AI content; LibreChat-AI/agents: Improve <think>/<thinking> tag identification',
    wire: said('<think>hm</think>Hello ', '<think> there'),
    normal: { text: 'Hello <think> there', thought: 'hm', end: 'stop' },
  },
  {
    what: 'thinking stands in the tags and in its own field',
    source:
      'bytedance/deer-flow: strip unclosed <think> tags from streaming AI content; LibreChat-AI/agents: Improve <think>/<thinking> tag identification',
    wire: chunk({ reasoning_content: 'hm' }) + said('</think>\n\nHello'),
    normal: thought,
  },
  {
    what: 'the tags have capital letters',
    source:
      'bytedance/deer-flow: strip unclosed <think> tags from streaming AI content; LibreChat-AI/agents: Improve <think>/<thinking> tag identification',
    wire: said('<THINK>hm</THINK>Hello'),
    normal: thought,
  },
  {
    what: 'thinking stands between the tags of Kimi',
    source: 'MoonshotAI and ByteDance model cards, chat templates; docs.cohere.com, reasoning',
    wire: said('◁think▷hm◁/think▷Hello'),
    normal: thought,
  },
  {
    what: 'thinking stands between the tags of Seed',
    source: 'MoonshotAI and ByteDance model cards, chat templates; docs.cohere.com, reasoning',
    wire: said('<seed:think>hm</seed:think>Hello'),
    normal: thought,
  },
  {
    what: 'thinking stands between the tags of Command',
    source: 'MoonshotAI and ByteDance model cards, chat templates; docs.cohere.com, reasoning',
    wire: said('<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Hello<|END_RESPONSE|>'),
    normal: thought,
  },
  {
    what: 'thinking stands between the tags named reasoning',
    source: 'MoonshotAI and ByteDance model cards, chat templates; docs.cohere.com, reasoning',
    wire: said('<reasoning>hm</reasoning>\nHello'),
    normal: thought,
  },
  {
    what: 'the channels of Harmony stand in the words',
    source:
      'cookbook.openai.com, OpenAI harmony response format; users of llama.cpp and LM Studio see its marks in the words',
    wire: said(
      '<|channel|>analysis<|message|>h',
      'm<|end|><|start|>assistant<|chan',
      'nel|>final<|message|>Hello<|return|>',
    ),
    normal: thought,
  },
  {
    what: 'the channels of Harmony stand in the words, with no mark at their end',
    source:
      'cookbook.openai.com, OpenAI harmony response format; users of llama.cpp and LM Studio see its marks in the words',
    wire: said(
      '<|start|>assistant<|channel|>analysis<|message|>hm<|end|>',
      '<|start|>assistant<|channel|>final<|message|>Hello',
    ),
    normal: thought,
  },
  {
    what: 'the words have only the final channel of Harmony',
    source:
      'cookbook.openai.com, OpenAI harmony response format; users of llama.cpp and LM Studio see its marks in the words',
    wire: said('<|channel|>final<|message|>Hello'),
    normal: plain,
  },
  {
    what: 'a call stands in the commentary channel of Harmony',
    source:
      'cookbook.openai.com, OpenAI harmony response format; users of llama.cpp and LM Studio see its marks in the words',
    wire: said('<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"at":"a"}<|call|>'),
    normal: { text: 'to=functions.look {"at":"a"}', end: 'stop' },
  },
  {
    what: 'the end of the turn stands behind the words',
    source:
      'osaurus-ai/vmlx-swift: Stop strings: discard post-stop buffers at end-of-stream; users of vLLM and Ollama: <|im_end|> in the words',
    wire: said('Hello', '<|im', '_end|>'),
    normal: plain,
  },
  {
    what: 'the end of a sequence stands behind the words',
    source:
      'osaurus-ai/vmlx-swift: Stop strings: discard post-stop buffers at end-of-stream; users of vLLM and Ollama: <|im_end|> in the words',
    wire: said('Hello</s>'),
    normal: plain,
  },
  {
    what: 'several marks of an end stand behind the words',
    source:
      'osaurus-ai/vmlx-swift: Stop strings: discard post-stop buffers at end-of-stream; users of vLLM and Ollama: <|im_end|> in the words',
    wire: said('Hello<|eot_id|>', '\n<|endoftext|>', '\n'),
    normal: plain,
  },
  {
    what: 'the end of DeepSeek stands behind the words',
    source:
      'osaurus-ai/vmlx-swift: Stop strings: discard post-stop buffers at end-of-stream; users of vLLM and Ollama: <|im_end|> in the words',
    wire: said('Hello<｜end▁of▁sentence｜>'),
    normal: plain,
  },
  {
    what: 'the end of Gemma stands behind the words',
    source:
      'osaurus-ai/vmlx-swift: Stop strings: discard post-stop buffers at end-of-stream; users of vLLM and Ollama: <|im_end|> in the words',
    wire: said('Hello<end_of_turn>'),
    normal: plain,
  },
  {
    what: 'the words are HTML that ends in a closing tag s',
    source:
      'osaurus-ai/vmlx-swift: Stop strings: discard post-stop buffers at end-of-stream; users of vLLM and Ollama: <|im_end|> in the words',
    wire: said('<s>old</s>'),
    normal: { text: '<s>old</s>', end: 'stop' },
  },
  {
    what: 'a mark of an end stands in the middle of the words',
    source:
      'osaurus-ai/vmlx-swift: Stop strings: discard post-stop buffers at end-of-stream; users of vLLM and Ollama: <|im_end|> in the words',
    wire: said('The mark <|im_end|> ends a turn.'),
    normal: { text: 'The mark <|im_end|> ends a turn.', end: 'stop' },
  },
  {
    what: 'a mark of an end is all that is said',
    source:
      'osaurus-ai/vmlx-swift: Stop strings: discard post-stop buffers at end-of-stream; users of vLLM and Ollama: <|im_end|> in the words',
    wire: said('<|im_end|>'),
    normal: { end: 'stop' },
  },
  {
    what: 'a call stands in the words, in the form of Hermes',
    source:
      'NousResearch/hermes-agent: recover tool calls output as text by Hermes models; sgl-project/sglang tool parsers',
    wire: said('<tool_call>\n{"name":"look","arguments":{"at":"a"}}\n</tool_call>'),
    normal: { text: '<tool_call>\n{"name":"look","arguments":{"at":"a"}}\n</tool_call>', end: 'stop' },
  },
  {
    what: 'a call stands in the words, in the form of Qwen Coder',
    source:
      'NousResearch/hermes-agent: recover tool calls output as text by Hermes models; sgl-project/sglang tool parsers',
    wire: said('<tool_call>\n<function=look>\n<parameter=at>\na\n</parameter>\n</function>\n</tool_call>'),
    normal: {
      text: '<tool_call>\n<function=look>\n<parameter=at>\na\n</parameter>\n</function>\n</tool_call>',
      end: 'stop',
    },
  },
  {
    what: 'a call stands in the words, in the form of DeepSeek',
    source:
      'NousResearch/hermes-agent: recover tool calls output as text by Hermes models; sgl-project/sglang tool parsers',
    wire: said(
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{"at":"a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ),
    normal: {
      text: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{"at":"a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      end: 'stop',
    },
  },
  {
    what: 'a call stands in the words, in the form of Llama',
    source:
      'NousResearch/hermes-agent: recover tool calls output as text by Hermes models; sgl-project/sglang tool parsers',
    wire: said('<|python_tag|>{"name":"look","parameters":{"at":"a"}}'),
    normal: { text: '<|python_tag|>{"name":"look","parameters":{"at":"a"}}', end: 'stop' },
  },
  {
    what: 'a part of the words is a call in the form of Anthropic',
    source:
      'docs.claude.com, tool_use blocks, handed on in the content by a proxy; signalnine/q27: tool calls as plain text',
    wire: whole(
      {
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'a' } },
        ],
      },
      'tool_use',
    ),
    normal: { ...one, text: 'Hello' },
    openAiClient: 'the normal form',
  },
  {
    what: 'tool_calls is an object of calls by their index',
    source: 'mudler/LocalAI: tool_calls is an object; tried: by index, and encoded twice',
    wire: whole(
      {
        content: null,
        tool_calls: {
          '0': { id: 'x', function: { name: 'look', arguments: '{"at":"a"}' } },
          '1': { id: 'y', function: { name: 'look', arguments: '{"at":"b"}' } },
        },
      },
      'tool_calls',
    ),
    normal: { calls: [...one.calls, ['look', '{"at":"b"}']], end: 'tool_calls' },
    openAiClient: 'the normal form',
  },
  {
    what: 'tool_calls is a JSON text',
    source: 'mudler/LocalAI: tool_calls is an object; tried: by index, and encoded twice',
    wire: whole(
      {
        content: null,
        tool_calls: JSON.stringify([{ id: 'x', function: { name: 'look', arguments: '{"at":"a"}' } }]),
      },
      'tool_calls',
    ),
    normal: one,
    openAiClient: 'the normal form',
  },
  {
    what: 'the calls have numbers as ids that no float holds',
    source: 'earendil-works/pi: integers > 2^53 in tool-call arguments are silently rounded by JSON.parse',
    wire: `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":9007199254740992,"function":{"name":"look","arguments":"{\\"at\\":\\"a\\"}"}}]}}]}\n\ndata: {"choices":[{"index":0,"delta":{"tool_calls":[{"id":9007199254740993,"function":{"name":"look","arguments":"{\\"at\\":\\"b\\"}"}}]},"finish_reason":"tool_calls"}]}\n\n`,
    normal: { calls: [...one.calls, ['look', '{"at":"b"}']], end: 'tool_calls' },
  },
  {
    what: 'a comma stands behind the last argument',
    source:
      'ggml-org/llama.cpp: tool calling sometimes emits malformed/incomplete JSON arguments for simple object schemas',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"a, }",}' } }) +
      endOfCalls +
      done,
    normal: { calls: [['look', '{"at":"a, }"}']], end: 'tool_calls' },
  },
  {
    what: 'raw line ends and tabs stand in a text of the arguments',
    source:
      'ggml-org/llama.cpp: tool calling sometimes emits malformed/incomplete JSON arguments for simple object schemas',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"a\n\tb"}' } }) +
      endOfCalls +
      done,
    normal: { calls: [['look', '{"at":"a\\n\\tb"}']], end: 'tool_calls' },
  },
  {
    what: 'arguments are cut off although the reason is tool_calls',
    source:
      'earendil-works/pi: OpenAI-compatible streams accept truncated tool arguments when finish_reason is tool_calls',
    wire: call({ index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"a' } }) + endOfCalls + done,
    normal: { calls: [['look', '{"at":"a']], end: 'tool_calls' },
  },
  {
    what: 'the arguments are a list with one object',
    source:
      'ggml-org/llama.cpp: tool calling sometimes emits malformed/incomplete JSON arguments for simple object schemas',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: '[{"at":"a"}]' } }) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'the name of the tool stands in the arguments too',
    source:
      'ggml-org/llama.cpp: tool calling sometimes emits malformed/incomplete JSON arguments for simple object schemas',
    wire:
      call({ index: 0, id: 'x', function: { name: 'look', arguments: { at: 'a' } }, type: null }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'words and thinking come in one event with a call',
    source: 'open-webui/open-webui and docs.perplexity.ai: what was said is repeated in the last event',
    wire:
      data({
        choices: [
          {
            index: 0,
            delta: {
              content: 'Hello',
              reasoning_content: 'hm',
              tool_calls: [{ index: 0, id: 'x', function: { name: 'look', arguments: '{"at":"a"}' } }],
            },
            finish_reason: 'tool_calls',
          },
        ],
      }) + done,
    normal: { ...one, text: 'Hello', thought: 'hm' },
  },
  {
    what: 'the thinking is repeated whole behind its pieces',
    source: 'open-webui/open-webui and docs.perplexity.ai: what was said is repeated in the last event',
    wire:
      chunk({ reasoning_content: 'h' }) +
      chunk({ reasoning_content: 'm' }) +
      hello +
      data({
        choices: [
          { index: 0, message: { content: 'Hello', reasoning_content: 'hm' }, finish_reason: 'stop' },
        ],
      }) +
      done,
    normal: thought,
  },
]
