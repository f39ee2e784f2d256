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
    const hostile = '<tool_call>{'.repeat(5000)
    expect(writtenCall(hostile, names)).toBeNull()
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
