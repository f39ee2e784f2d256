import { describe, expect, it } from 'vitest'
import { aState, fakeTool, loopParts } from '../testing/loop-parts.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import type { Tool } from '../tools/tool.ts'
import { callsPerPromptMax, createMeshToolCalls } from './call-mesh-tool.ts'

const { signal } = new AbortController()

function callsOf(state = aState()) {
  const { deps } = loopParts(createScriptedModel([]), [])
  const failures: string[] = []
  const calls = createMeshToolCalls(deps, {
    state,
    signal,
    save: async () => undefined,
    onFailed: (code) => failures.push(code),
    onCompleted: () => undefined,
  })
  return { ...calls, state, failures }
}

describe('calls of a harness to tools of the mesh', () => {
  it('are refused before the first prompt and after the end of a prompt', async () => {
    const tool = fakeTool('hand_off', 'mesh')
    const { call, beginPrompt, endPrompt } = callsOf()
    expect(await call(tool, JSON.stringify({ value: 'a' }), signal)).toMatchObject({ ok: false })
    beginPrompt()
    expect(await call(tool, JSON.stringify({ value: 'b' }), signal)).toMatchObject({ ok: true })
    endPrompt()
    expect((await call(tool, JSON.stringify({ value: 'c' }), signal)).output).toContain(
      'the turn of this run has ended',
    )
    expect(tool.keys).toHaveLength(1)
  })

  it('have no effect if they were cancelled before they began', async () => {
    const tool = fakeTool('hand_off', 'mesh')
    const { call, beginPrompt } = callsOf()
    beginPrompt()
    expect(await call(tool, JSON.stringify({ value: 'a' }), AbortSignal.abort())).toMatchObject({ ok: false })
    expect(tool.keys).toHaveLength(0)
  })

  it('pass their arguments on as the harness wrote them, and shown with their digits', async () => {
    const got: (string | undefined)[] = []
    const run: Tool['run'] = async (_input, { written }) => {
      got.push(written)
      return { output: 'done', ok: true }
    }
    const tool: Tool = { ...fakeTool('read_page', 'none'), run }
    const { call, beginPrompt, state } = callsOf()
    beginPrompt()
    const written = '{"id":9007199254740993,"part":1.0}'
    expect(await call(tool, written, signal)).toMatchObject({ ok: true })
    expect(await call(tool, '["a"]', signal)).toMatchObject({ ok: false })
    expect(got).toEqual([written])
    expect(state.toolOutputs[0]?.input).toEqual({ id: '9007199254740993', part: 1 })
  })

  it('are bounded in one prompt, and the next prompt counts anew', async () => {
    const tool = fakeTool('list_tasks', 'none')
    const { call, beginPrompt, failures } = callsOf()
    beginPrompt()
    for (let at = 0; at < callsPerPromptMax; at += 1)
      await call(tool, JSON.stringify({ value: `${at}` }), signal)
    const refused = await call(tool, JSON.stringify({ value: 'more' }), signal)
    expect(refused).toMatchObject({
      ok: false,
      output: expect.stringContaining(`${callsPerPromptMax} calls`),
    })
    expect(tool.keys).toHaveLength(callsPerPromptMax)
    beginPrompt()
    expect(await call(tool, JSON.stringify({ value: 'more' }), signal)).toMatchObject({ ok: true })
    expect(failures).toEqual([])
  })

  it('that go on after the refusal end the run', async () => {
    const tool = fakeTool('list_tasks', 'none')
    const { call, beginPrompt, failures } = callsOf()
    beginPrompt()
    for (let at = 0; failures.length === 0; at += 1)
      await call(tool, JSON.stringify({ value: `${at}` }), signal)
    expect(failures).toEqual(['harness-failed'])
    expect(tool.keys).toHaveLength(callsPerPromptMax)
  })
})
