import { describe, expect, test } from 'vitest'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { aState, calls, fakeTool, loopParts } from '../testing/loop-parts.ts'
import { notices } from './notices.ts'
import { runLoop } from './run-loop.ts'
import { writtenCall } from './written-calls.ts'

const names = new Set(['look', 'send-mail'])

describe('a call of a tool in the words of a model', () => {
  test.each([
    ['Hermes', 'I look.\n<tool_call>\n{"name": "look", "arguments": {"at": "a"}}\n</tool_call>'],
    ['Qwen', '<tool_call>\n<function=look>\n<parameter=at>\na\n</parameter>\n</function>\n</tool_call>'],
    ['Mistral', '[TOOL_CALLS][{"name": "look", "arguments": {"at": "a"}}]'],
    ['newer Mistral', '[TOOL_CALLS]look[ARGS]{"at": "a"}'],
    ['Llama', '<|python_tag|>{"name": "look", "parameters": {"at": "a"}}'],
    ['DeepSeek', '<｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{}\n```'],
    ['newer DeepSeek', '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{}'],
    ['Kimi', '<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{}<|tool_call_end|>'],
    ['Claude', '<function_calls>\n<invoke name="look">\n</invoke>'],
    ['Harmony', 'to=functions.look {"at":"a"}'],
    ['GLM', '<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>a</arg_value>\n</tool_call>'],
    ['newer GLM', '<tool_call>look<arg_key>at</arg_key><arg_value>a</arg_value></tool_call>'],
    ['Hunyuan', '<tool_calls><tool_call>look<tool_sep><arg_key>at</arg_key></tool_call></tool_calls>'],
    ['DeepSeek V3.2', '<｜DSML｜function_calls>\n<｜DSML｜invoke name="look">\n</｜DSML｜invoke>'],
    ['Step', '<｜tool_call_begin｜>function<｜tool_sep｜>look\n{"at":"a"}<｜tool_call_end｜>'],
    ['MiniMax', '<minimax:tool_call>\n<invoke name="look">\n<parameter name="at">a</parameter>\n</invoke>'],
    ['Gemma', '```tool_code\nlook(at="a")\n```'],
    ['Gemini', '```tool_call\ndefault_api.look(at = "a")\n```'],
    ['newer Gemma', '<|tool_call>call:look{at:<|"|>a<|"|>}<tool_call|>'],
    ['Nemotron', '<TOOLCALL>[{"name":"look","arguments":{"at":"a"}}]</TOOLCALL>'],
    ['Jamba', '<tool_calls>[\n{"name":"look","arguments":{"at":"a"}}\n]</tool_calls>'],
    ['Granite', '<|tool_call|>[{"name": "look", "arguments": {"at": "a"}}]'],
    ['Phi', 'functools[{"name":"look","arguments":{"at":"a"}}]'],
    ['InternLM', '<|action_start|><|plugin|>{"name":"look","parameters":{"at":"a"}}<|action_end|>'],
    ['Command', '<|START_ACTION|>[{"tool_call_id":"0","tool_name":"look","parameters":{}}]<|END_ACTION|>'],
    ['LFM', '<|tool_call_start|>[look(at="a")]<|tool_call_end|>'],
    ['Olmo', '<function_calls>look(at="a")</function_calls>'],
    ['LongCat', '<longcat_tool_call>look\n<longcat_arg_key>at</longcat_arg_key>\n</longcat_tool_call>'],
    ['Apertus', '<|tools_prefix|>[{"look": {"at": "a"}}]<|tools_suffix|>'],
    ['older Hunyuan', '<tool_calls><tool_call>look\n```json\n{"at":"a"}\n```\n</tool_call></tool_calls>'],
    ['older Command', 'Action: ```json\n[{"tool_name":"look","parameters":{"at":"a"}}]\n```'],
    ['xLAM', '<tools>\n{"name":"look","arguments":{"at":"a"}}\n</tools>'],
    ['older Hermes', '<function_call>{"name":"look","arguments":{"at":"a"}}</function_call>'],
    ['MiniCPM', '<function name="look"><param name="at">a</param></function>'],
    ['Llama at Groq', '<function=look{"at":"a"}</function>'],
    ['Gemini as Python', 'print(default_api.look(at="a"))'],
    [
      'Cline',
      '<use_mcp_tool>\n<tool_name>look</tool_name>\n<arguments>{"at":"a"}</arguments>\n</use_mcp_tool>',
    ],
    ['older Gemma', '{"function": "look", "parameters": {"at": "a"}}'],
    [
      'Step 3',
      '<steptml:invoke name="look"><steptml:parameter name="at">a</steptml:parameter></steptml:invoke>',
    ],
    ['Functionary', '>>>look\n{"at":"a"}'],
    ['ReAct', 'I look.\nAction: look\nAction Input: {"at":"a"}'],
    ['Python alone', '[look(at="a")]'],
    ['a JSON list alone', '[{"name":"look","arguments":{"at":"a"}}]'],
    ['a message alone', '{"tool_calls":[{"function":{"name":"look","arguments":"{}"}}]}'],
    ['a tool alone', '{"tool":"look","arguments":{"at":"a"}}'],
    ['an action alone', '{"action":"look","action_input":{"at":"a"}}'],
    ['JSON alone', '```json\n{"name": "look", "arguments": {"at": "a"}}\n```'],
  ])('a call of a tool in the words of a model is found in the form of %s', (_form, text) => {
    expect(writtenCall(text, names)).toBe('look')
  })

  test.each([
    ['of a tool that is not offered', '<tool_call>{"name": "erase", "arguments": {}}</tool_call>'],
    ['that is told of', 'I called look with {"at": "a"} and found nothing.'],
    ['whose name is only in its arguments', '{"title": "look", "arguments": {}}'],
    ['that has no arguments', '{"name": "look"}'],
    ['within other JSON', 'The config is {"name": "look", "arguments": {}} by default.'],
  ])('a text is no written call: one %s', (_what, text) => {
    expect(writtenCall(text, names)).toBeNull()
  })

  test('a call of a tool in the words of a model is looked for in time that grows with the text', () => {
    for (const piece of [
      '<tool_call>{',
      '<tool_call>a',
      'functools[{',
      '[a(',
      'Action: a\n',
      '<|tool_call>call:',
    ])
      expect(writtenCall(piece.repeat(5000), names)).toBeNull()
  })
})

describe('a model that writes a call into its words', () => {
  const signal = new AbortController().signal
  const written = { text: '<tool_call>{"name": "tool", "arguments": {"value": "1"}}</tool_call>' }

  test('a model that writes a call into its words is informed of it, and its proper call is made', async () => {
    const tool = fakeTool('tool', 'none')
    const proper = { toolCalls: calls(['c1', 'tool', '{"value":"1"}']) }
    const { deps } = loopParts(createScriptedModel([written, proper, { text: 'done' }]), [tool])
    const state = aState()
    expect(await runLoop(deps, state, signal)).toEqual({ kind: 'answered', text: 'done' })
    expect(tool.keys).toHaveLength(1)
    expect(state.messages.filter(({ content }) => content === notices.writtenCall)).toHaveLength(1)
  })

  test('a model that writes a call into its words is informed once a turn; after that its words are the answer', async () => {
    const tool = fakeTool('tool', 'none')
    const { deps } = loopParts(createScriptedModel([written, written]), [tool])
    const state = aState()
    expect(await runLoop(deps, state, signal)).toEqual({ kind: 'answered', text: written.text })
    expect(tool.keys).toHaveLength(0)
  })
})

test('a long answer that almost is a call is read in one pass', () => {
  const blanks = '\n'.repeat(60_000)
  for (const text of [
    `{"name":"look"}${blanks}x`,
    `${blanks}x`,
    `functools${blanks}x`,
    `[TOOL_CALLS]${blanks}x`,
  ])
    expect(writtenCall(text, names)).toBeNull()
})
