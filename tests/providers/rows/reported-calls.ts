import { call, chunk, data, done, end, endOfCalls, one, two, whole } from '../oddity.ts'
import type { Oddity } from '../oddity.ts'

const at = (written: string) => ({ calls: [['look', written]], end: 'tool_calls' }) as const
const named = (piece: object, args: unknown = '') => ({
  index: 0,
  id: 'x',
  type: 'function',
  function: { name: 'look', arguments: args },
  ...piece,
})
const tail = (args: unknown, more: object = {}) => ({ index: 0, function: { arguments: args, ...more } })
const github = (thread: string) => `https://github.com/${thread}`

/** Tool calls as users have reported them; each row names the report. */
export const reportedCalls: readonly Oddity[] = [
  {
    what: 'later pieces of a call have the text null as its name',
    source: github('BerriAI/litellm/issues/12513'),
    wire:
      call({ ...named({ type: 'FUNCTION' }), function: { name: 'look', arguments: '{"at":' } }) +
      call({ index: 0, id: '', type: 'FUNCTION', function: { name: 'null', arguments: '"a"}' } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the text null is the name behind a piece without arguments',
    source: github('BerriAI/litellm/issues/12513'),
    wire:
      call(named({})) +
      call(tail('{"at":"a"}', { name: 'null' })) +
      call(tail('', { name: 'None' })) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'each piece has an empty name',
    source: github('huggingface/tau/pull/715'),
    wire:
      call(named({})) +
      call(tail('{"at"', { name: '' })) +
      call(tail(':"a"}', { name: '' })) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'each piece has id, type and name again, and a name of null beside them',
    source: github('SillyTavern/SillyTavern/pull/5948'),
    wire:
      call(named({ name: null })) +
      call(named({ name: null }, '{"at":')) +
      call(named({ name: null }, '"a"}')) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'a last piece has null in place of arguments and name',
    source: github('QuantumNous/new-api/issues/3326'),
    wire:
      call(named({}, '{"at":"a"}')) +
      call({ index: 0, id: null, type: null, function: { name: null, arguments: null } }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the piece with the reason has empty arguments',
    source: github('vercel/ai/issues/3953'),
    wire: call(named({}, '{"at":"a"}')) + call(tail(''), 'tool_calls') + done,
    normal: one,
  },
  {
    what: 'the last piece has the end of the arguments, the id, the name and the reason',
    source: github('vllm-project/vllm/issues/44098'),
    wire: call(named({})) + call(tail('{"at":')) + call(named({}, '"a"}'), 'tool_calls') + done,
    normal: one,
  },
  {
    what: 'the last bracket comes with the reason',
    source: github('vllm-project/vllm-ascend/issues/8327'),
    wire: call(named({}, '{"at":"a"')) + call(tail('}'), 'tool_calls') + done,
    normal: one,
  },
  {
    what: 'the arguments of a whole answer are written three times',
    source: github('Soju06/codex-lb/issues/284'),
    wire: whole({ content: null, tool_calls: [named({}, '{"at":"a"}'.repeat(3))] }, 'tool_calls'),
    normal: one,
  },
  {
    what: 'the arguments of the second call come under the index of the first',
    source: github('dyedd/lens/issues/49'),
    wire:
      call(named({})) +
      call(tail('{"at":"a"}', { name: '' })) +
      call(tail('{"at":"b"}', { name: '' })) +
      endOfCalls +
      done,
    normal: two,
  },
  {
    what: 'arguments come in pieces without an index, the seal comes alone, and the reason is stop',
    source: github('open-webui/computer/issues/224'),
    wire:
      chunk({
        tool_calls: [
          {
            id: 'f1',
            type: 'function',
            function: { name: 'look', arguments: '{"at":' },
            extra_content: { google: { thought_signature: 'c2VhbA==' } },
          },
        ],
      }) +
      chunk({ tool_calls: [{ function: { arguments: '"a"}' } }] }) +
      chunk({ extra_content: { google: { thought_signature: 'c2VhbDI=' } } }) +
      end +
      done,
    normal: one,
  },
  {
    what: 'every event says stop, also before the call',
    source: github('su-kaka/gcli2api/issues/403'),
    wire:
      chunk({ reasoning_content: 'hm' }, 'stop') +
      chunk({ content: 'Hello' }, 'stop') +
      call(named({}, '{"at":"a"}'), 'stop') +
      done,
    normal: { ...one, text: 'Hello', thought: 'hm' },
  },
  {
    what: 'the stream of a call has a mark of the end and no reason',
    source: github('openclaw/openclaw/pull/98575'),
    wire: call(named({}, '{"at":"a"}')) + done,
    normal: one,
  },
  {
    what: 'the stream of a whole call ends with neither reason nor mark',
    source: github('earendil-works/pi/pull/6225'),
    wire: call(named({}, '{"at":"a"}')),
    normal: one,
  },
  {
    what: 'the stream of a half call ends with neither reason nor mark',
    source: github('anomalyco/opencode/issues/39968'),
    wire: call(named({}, '{"at":"')),
    normal: { problem: 'upstream-failed', says: 'ended its answer early' },
  },
  {
    what: 'the function_call of the first API comes in pieces',
    source: 'platform.openai.com, API reference, function_call of a streamed delta (deprecated)',
    wire:
      chunk({ function_call: { name: 'look', arguments: '' } }) +
      chunk({ function_call: { arguments: '{"at":' } }) +
      chunk({ function_call: { arguments: '"a"}' } }) +
      chunk({}, 'function_call') +
      done,
    normal: one,
  },
  {
    what: 'names are empty and arguments come word by word',
    source: github('lmstudio-ai/lmstudio-bug-tracker/issues/649'),
    wire:
      call(named({})) +
      ['{"', 'at', '":"', 'a', '"}'].map((piece) => call(tail(piece, { name: '' }))).join('') +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'the id has 86 characters and a bar',
    source: github('AstrBotDevs/AstrBot/pull/7735'),
    wire:
      call(named({ id: `call_${'a'.repeat(40)}|fc_${'b'.repeat(37)}` }, '{"at":"a"}')) + endOfCalls + done,
    normal: one,
  },
  {
    what: 'the type of a call is an empty text, and the index of the choice is a text',
    source: 'smallmain/vscode-unify-chat-provider: empty members of calls; tried: the index as a text too',
    wire:
      data({ choices: [{ index: '0', delta: { tool_calls: [named({ type: '' }, '{"at":"a"}')] } }] }) +
      data({ choices: [{ index: '0', delta: {}, finish_reason: 'tool_calls' }] }) +
      done,
    normal: one,
  },
  {
    what: 'a whole object of arguments comes before its name is repeated with a second object',
    source: github('open-webui/computer/issues/224'),
    wire:
      call({ function: { name: 'look', arguments: '{"at":"a"}' } }) +
      call({ function: { name: 'look', arguments: '{"at":"b"}' } }) +
      end +
      done,
    normal: two,
  },
  {
    what: 'the marks of Kimi for a call stand in the words',
    source: github('NousResearch/hermes-agent/issues/24534'),
    wire:
      chunk({
        content:
          '<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"at":"a"}<|tool_call_end|><|tool_calls_section_end|>',
      }) +
      end +
      done,
    normal: {
      text: '<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"at":"a"}<|tool_call_end|><|tool_calls_section_end|>',
      end: 'stop',
    },
  },
  {
    what: 'the marks of Kimi for a call stand in the thinking, and the call is there too',
    source: github('MoonshotAI/Kimi-K2/issues/89'),
    wire:
      chunk({ reasoning_content: 'hm<|tool_calls_section_begin|>' }) +
      call(named({ id: 'functions.look:0' }, '{"at":"a"}')) +
      endOfCalls +
      done,
    normal: { ...one, thought: 'hm<|tool_calls_section_begin|>' },
  },
  {
    what: 'a call of Llama 4 stands in the words as Python',
    source: github('vllm-project/vllm/issues/22917'),
    wire: chunk({ content: '[look(at="a")]' }) + end + done,
    normal: { text: '[look(at="a")]', end: 'stop' },
  },
  {
    what: 'a call stands in the words as bare JSON with parameters',
    source: github('jundot/omlx/pull/1153'),
    wire: whole({ content: '{"name": "look", "parameters": {"at": "a"}}', tool_calls: null }),
    normal: { text: '{"name": "look", "parameters": {"at": "a"}}', end: 'stop' },
  },
  {
    what: 'a call stands in the words between marks of Python',
    source: github('vllm-project/vllm/issues/16214'),
    wire:
      chunk({ content: '<|python_start|>{"name":"look","parameters":{"at":"a"}}<|python_end|>' }) +
      end +
      done,
    normal: { text: '<|python_start|>{"name":"look","parameters":{"at":"a"}}<|python_end|>', end: 'stop' },
  },
  {
    what: 'a line of Ollama has thinking and a call whose arguments are an object',
    source: 'https://github.com/ollama/ollama/blob/main/docs/api.md',
    wire:
      `${JSON.stringify({ model: 'm', created_at: 't', message: { role: 'assistant', content: '', thinking: 'hm' }, done: false })}\n` +
      `${JSON.stringify({ model: 'm', created_at: 't', message: { role: 'assistant', content: '', tool_calls: [{ function: { index: 0, name: 'look', arguments: { at: 'a' } } }] }, done: false })}\n` +
      `${JSON.stringify({ model: 'm', created_at: 't', message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', prompt_eval_count: 10, eval_count: 5 })}\n`,
    normal: { ...one, thought: 'hm', usage: [10, 5] },
    openAiClient: 'the normal form',
  },
  {
    what: 'the call has no arguments at all and the reason comes with it',
    source: github('QwenLM/qwen-code/issues/6249'),
    wire: call(named({}), 'tool_calls') + done,
    normal: at('{}'),
  },
  {
    what: 'roles and ids of later pieces are null',
    source: github('Effect-TS/effect/pull/8333'),
    wire:
      chunk({ role: null, tool_calls: [named({}, '{"at":')] }) +
      chunk({ role: null, tool_calls: [{ index: 0, id: null, function: { arguments: '"a"}' } }] }) +
      endOfCalls +
      done,
    normal: one,
  },
  {
    what: 'an empty list of calls comes with every event of words',
    source: github('The-Vibe-Company/quivr/pull/3514'),
    wire: chunk({ content: 'Hel', tool_calls: [] }) + chunk({ content: 'lo', tool_calls: [] }) + end + done,
    normal: { text: 'Hello', end: 'stop' },
  },
]
