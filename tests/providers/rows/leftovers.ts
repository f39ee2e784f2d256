import { call, chunk, data, done, end, endOfCalls, hello, one, plain, whole } from '../oddity.ts'
import type { NormalAnswer, Oddity } from '../oddity.ts'

const a = '{"at":"a"}'
const named = (name: string, written: string = a): string =>
  call({ index: 0, id: 'x', type: 'function', function: { name, arguments: written } }) + endOfCalls + done
type Row = readonly [what: string, source: string, wire: string, normal: NormalAnswer]
const row = (...[what, source, wire, normal]: Row): Oddity => ({ what, source, wire, normal })
const words = (text: string): string => chunk({ content: text }) + end + done

/** Marks of templates, roles and parsers that servers leave in words, names and arguments. */
export const leftoverOddities: readonly Oddity[] = [
  row(
    'the head of a message of Llama 3 stands before the words',
    'https://github.com/huggingface/chat-ui/issues/1423',
    words('<|start_header_id|>assistant<|end_header_id|>\n\nHello'),
    plain,
  ),
  row(
    'the head of a message of ChatML stands before the words, token by token',
    'Qwen on servers whose template has no generation prompt',
    ['<|im_start|>', 'assistant', '\n', 'Hello'].map((content) => chunk({ content })).join('') + end + done,
    plain,
  ),
  row(
    'the role of GLM stands before the words',
    'zai-org GLM-4 on servers without its template',
    words('<|assistant|>\nHello'),
    plain,
  ),
  row(
    'the words stand in the box of GLM',
    'zai-org GLM-4.5V: begin_of_box and end_of_box',
    words('<|begin_of_box|>Hello<|end_of_box|>'),
    plain,
  ),
  row(
    'the words stand in the box of GLM behind thinking',
    'zai-org GLM-4.1V: think, then a box',
    words('<think>hm</think><|begin_of_box|>Hello<|end_of_box|>'),
    { ...plain, thought: 'hm' },
  ),
  row(
    'the end of a turn of Exaone stands behind the words',
    'LGAI-EXAONE chat template',
    words('Hello[|endofturn|]'),
    plain,
  ),
  row(
    'the next turn of DeepSeek begins behind the words',
    'deepseek-ai chat template',
    words('Hello<｜User｜>'),
    plain,
  ),
  row(
    'the name of a call is the head of a Harmony message',
    'openai/harmony: recipient in the role or the channel of a head',
    named('assistant<|channel|>commentary to=functions.look'),
    one,
  ),
  row(
    'the name of a call begins with function=',
    'QwenLM/Qwen3-Coder: the parser of <function=look>',
    named('function=look>'),
    one,
  ),
  row(
    'the text null stands directly before the arguments',
    'a router that joins null with the pieces as text',
    named('look', `null${a}`),
    one,
  ),
  row(
    'two quotes come before the arguments',
    'a server that prints an empty text as JSON first',
    call({ index: 0, id: 'x', function: { name: 'look', arguments: '""' } }) +
      call({ index: 0, function: { arguments: a } }) +
      endOfCalls +
      done,
    one,
  ),
  row(
    'a search of the provider stands among the calls of a whole answer',
    'docs.bigmodel.cn, tool_calls of type web_search with a search_result',
    whole({
      role: 'assistant',
      content: 'Hello',
      tool_calls: [{ id: 's', type: 'web_search', web_search: { output: [] } }],
    }),
    plain,
  ),
  row(
    'the usage has the names of Anthropic and its cached tokens beside the prompt',
    'gateways that pass the usage of the Messages API on in a chat',
    hello +
      end +
      data({
        choices: [],
        usage: {
          input_tokens: 3,
          output_tokens: 2,
          cache_read_input_tokens: 100,
          cache_creation_input_tokens: 7,
        },
      }) +
      done,
    { ...plain, usage: [110, 2] },
  ),
  {
    what: 'an error has an errorCode and an errorMessage',
    source: 'gateways of companies on Java, error bodies in camel case',
    wire: JSON.stringify({ errorCode: 'E17', errorMessage: 'the backend is gone' }),
    normal: { problem: 'upstream-failed', says: 'the backend is gone' },
    openAiClient: 'an error',
  },
]
