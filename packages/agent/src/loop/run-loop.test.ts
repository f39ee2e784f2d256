import { describe, expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ContextKeeper } from '../context/context-keeper.ts'
import type { LanguageModel } from '../llm/language-model.ts'
import { aContextKeeper, aModelFactStore } from '../testing/context-parts.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { choice } from '../tools/parameters.ts'
import { defineTool, succeeded } from '../tools/tool.ts'
import { aState, calls, fakeTool, loopParts } from '../testing/loop-parts.ts'
import { readLoopState } from './read-loop-state.ts'
import { runLoop } from './run-loop.ts'

const signal = new AbortController().signal
const use = (value: string, id = 'c1') => ({ toolCalls: calls([id, 'tool', JSON.stringify({ value })]) })

describe('the loop', () => {
  test('equal calls of one answer are judged one after the other, and none is left without a result', async () => {
    const tool = fakeTool('tool', 'none')
    const batch = Array.from({ length: 12 }, (_, index) => [`b${index}`, 'tool', '{"value":"1"}'] as const)
    const model = createScriptedModel([{ toolCalls: calls(...batch) }])
    const state = aState()
    const { deps, checkpoints } = loopParts(model, [tool])
    const end = await runLoop(deps, state, signal)
    expect(end).toMatchObject({ kind: 'failed', code: 'tool-loop-terminated' })
    expect(tool.keys).toHaveLength(4)
    expect(state.toolOutputs.map(({ ok }) => ok)).toEqual([...Array(4).fill(true), ...Array(5).fill(false)])
    expect(readLoopState(JSON.parse(checkpoints.at(-1) ?? ''))).toEqual(state)
  })

  test.each([
    ['alternate', 2],
    ['go round in a circle of four', 4],
  ])('calls that %s end like one that is repeated', async (_name, period) => {
    const tool = fakeTool('tool', 'none')
    const answers = Array.from({ length: 200 }, (_, index) => use(String(index % period), `c${index}`))
    const state = aState()
    const bounds = { kind: 'chat', perTurnMax: 200, perSessionMax: 1000 } as const
    const { deps, checkpoints } = loopParts(createScriptedModel(answers), [tool], { bounds })
    const end = await runLoop(deps, state, signal)
    expect(end).toMatchObject({ kind: 'failed', code: 'tool-loop-terminated' })
    expect(tool.keys).toHaveLength(4 * period)
    expect(state.toolOutputs).toHaveLength(9 * period)
    expect(readLoopState(JSON.parse(checkpoints.at(-1) ?? ''))?.calls).toEqual(state.calls)
  })

  test('calls are made in order and their results are read before the answer', async () => {
    const tool = fakeTool('tool', 'local')
    const model = createScriptedModel([
      { text: 'wait', toolCalls: calls(['a', 'tool', '{"value":"1"}'], ['b', 'tool', '{"value":"2"}']) },
      { text: 'done' },
    ])
    const state = aState()
    const { deps, frames } = loopParts(model, [tool])
    expect(await runLoop(deps, state, signal)).toEqual({ kind: 'answered', text: 'done' })
    expect(model.asked[1]?.messages.slice(3)).toEqual([
      { role: 'tool', toolCallId: 'a', content: 'ran 1' },
      { role: 'tool', toolCallId: 'b', content: 'ran 2' },
    ])
    expect(frames.map((frame) => frame.type)).toEqual([
      'text_delta',
      'tool_start',
      'tool_result',
      'tool_start',
      'tool_result',
      'text_delta',
    ])
    expect(state).toMatchObject({ tokens: 20, costUsd: 0.002, step: 4 })
    expect(tool.keys).toEqual(['run_1:2', 'run_1:3'])
  })

  test.each([
    ['cut off', '{"value":"12'],
    ['no object', '[1]'],
    ['a text', '"x"'],
    ['a text that holds an object', '"{}"'],
    ['null', 'null'],
    ['a number', '7'],
    ['cut off before the first', '', true],
  ])(
    'arguments that are %s are reported with the expected form and never executed',
    async (_name, args, cutOff = false) => {
      heedsLesson(101, 132)
      const tool = fakeTool('tool', 'local')
      const model = createScriptedModel([{ toolCalls: calls(['a', 'tool', args]), cutOff }, { text: 'done' }])
      const state = aState()
      await runLoop(loopParts(model, [tool]).deps, state, signal)
      expect(tool.keys).toEqual([])
      expect(state.toolOutputs[0]).toMatchObject({ ok: false, input: {} })
      expect(state.toolOutputs[0]?.output).toContain('"value"')
      expect(model.asked[1]?.messages[2]).toMatchObject({ toolCalls: [{ arguments: '{}' }] })
    },
  )

  test('the expected form names the values that may be chosen', async () => {
    heedsLesson(132)
    const made: string[] = []
    const tool = defineTool({
      name: 'paint',
      description: 'paint',
      parameters: { color: choice('which', ['red', 'blue']) },
      effect: 'local',
      timeoutMs: 5000,
      run: async ({ color }) => succeeded(made.push(color)),
    })
    const wrong = ['["red"]', 'null', '"red"', '{"color":"green"}', '{"color":["red"]}', '{"color":null}']
    const model = createScriptedModel([
      { toolCalls: calls(...wrong.map((args, index) => [`c${index}`, 'paint', args] as const)) },
      { text: 'done' },
    ])
    const state = aState()
    await runLoop(loopParts(model, [tool]).deps, state, signal)
    expect(made).toEqual([])
    for (const { ok, output } of state.toolOutputs) {
      expect(ok).toBe(false)
      expect(output).toContain('"enum":["red","blue"]')
    }
    expect(state.toolOutputs).toHaveLength(wrong.length)
  })

  test.each([
    ['an unknown tool', 'nothing', '{}', 'Your tools: tool'],
    ['an unknown parameter', 'tool', '{"value":"1","more":2}', 'no parameter more'],
    ['a missing parameter', 'tool', '{}', '`value`: expected a text'],
    ['a value out of bounds', 'tool', '{"value":"12345678901"}', '0 to 10 characters'],
  ])('the model is informed of %s', async (...[, name, args, words]) => {
    const model = createScriptedModel([{ toolCalls: calls(['a', name, args]) }, { text: 'done' }])
    const state = aState()
    await runLoop(loopParts(model, [fakeTool('tool', 'local')]).deps, state, signal)
    expect(state.toolOutputs[0]?.output).toContain(words)
  })

  test('a tool that fails is words for the model, never the end of the loop', async () => {
    const tool = fakeTool('tool', 'local', () => {
      throw new Error('it broke')
    })
    const model = createScriptedModel([use('1'), { text: 'sorry' }])
    const state = aState()
    expect(await runLoop(loopParts(model, [tool]).deps, state, signal)).toMatchObject({ text: 'sorry' })
    expect(state.toolOutputs[0]).toMatchObject({ ok: false, output: 'Error (internal-error): it broke' })
  })

  test('what a tool returns is cleaned and cut before the model reads it', async () => {
    const tool = fakeTool('tool', 'local', () => `a\u200Bb${'x'.repeat(50_000)}end`)
    const state = aState()
    await runLoop(loopParts(createScriptedModel([use('1'), { text: 'ok' }]), [tool]).deps, state, signal)
    const output = state.toolOutputs[0]?.output ?? ''
    expect(output.length).toBeLessThanOrEqual(20_000)
    expect(output.startsWith('abx')).toBe(true)
    expect(output.endsWith('xend')).toBe(true)
  })

  test('reminders follow the conversation at each step and are not part of it', async () => {
    const model = createScriptedModel([use('1'), { text: 'ok' }])
    const state = aState()
    const reminders = (messages: readonly { readonly role: string }[]) =>
      messages.some(({ role }) => role === 'tool') ? [sanitizeForPrompt('mind the gap')] : []
    await runLoop(loopParts(model, [fakeTool('tool', 'none')], { reminders }).deps, state, signal)
    expect(model.asked[0]?.messages.at(-1)).toMatchObject({ role: 'user' })
    expect(model.asked[1]?.messages.at(-1)).toEqual({ role: 'system', content: 'mind the gap' })
    expect(JSON.stringify(state.messages)).not.toContain('mind the gap')
  })

  test('a recorded turn goes on behind an answer where something was said then, and says it once', async () => {
    const model = createScriptedModel([{ text: 'first' }, use('1'), { text: 'last' }, { text: 'too much' }])
    const said = [
      { answers: 1, text: sanitizeForPrompt('close it') },
      { answers: 2, text: sanitizeForPrompt('and look') },
    ]
    const state = aState()
    const { deps, checkpoints } = loopParts(model, [fakeTool('tool', 'none')], { said })
    expect(await runLoop(deps, state, signal)).toEqual({ kind: 'answered', text: 'last' })
    const roles = ['user', 'assistant', 'user', 'assistant', 'tool', 'user', 'assistant']
    expect(state.messages.map(({ role }) => role)).toEqual(roles)
    // If the agent is killed right after this checkpoint, the next attempt does not repeat the message.
    const behind = checkpoints
      .map((text) => readLoopState(JSON.parse(text)))
      .find((kept) => kept?.messages.at(-1)?.content === 'close it')
    const again = createScriptedModel([use('1'), { text: 'last' }])
    await runLoop(loopParts(again, [fakeTool('tool', 'none')], { said }).deps, behind!, signal)
    expect(behind?.messages.map(({ role }) => role)).toEqual(roles)
  })

  test('repetition is warned about, skipped and in the end terminated', async () => {
    verifies('errors:tool-loop:fourth-repeat', 'errors:tool-loop:ninth-repeat')
    const tool = fakeTool('tool', 'none')
    const model = createScriptedModel(Array.from({ length: 20 }, () => use('1')))
    const state = aState()
    const end = await runLoop(loopParts(model, [tool]).deps, state, signal)
    expect(end).toMatchObject({ kind: 'failed', code: 'tool-loop-terminated' })
    expect(tool.keys).toHaveLength(4)
    expect(state.toolOutputs.map((output) => output.ok)).toEqual([
      ...Array(4).fill(true),
      ...Array(5).fill(false),
    ])
    expect(model.asked[3]?.messages.at(-1)).toMatchObject({ role: 'system' })
    expect(model.asked[2]?.messages.at(-1)).toMatchObject({ role: 'tool' })
    expect(state.toolOutputs[4]?.output).toContain('skipped')
  })

  test('calls that are wrong in the same way again and again are a circle too', async () => {
    const wrong = { toolCalls: calls(['a', 'nothing', '{']) }
    const model = createScriptedModel(Array.from({ length: 20 }, () => wrong))
    expect(await runLoop(loopParts(model, []).deps, aState(), signal)).toMatchObject({
      code: 'tool-loop-terminated',
    })
    expect(model.asked).toHaveLength(10)
  })

  test('an empty answer is asked for once more', async () => {
    const model = createScriptedModel([{}, { text: 'here' }])
    expect(await runLoop(loopParts(model, []).deps, aState(), signal)).toMatchObject({ text: 'here' })
  })

  test('an empty answer that a filter ended is a failure at once, and its words name the filter', async () => {
    const model = createScriptedModel([{ isFiltered: true }, { text: 'never asked for' }])
    expect(await runLoop(loopParts(model, []).deps, aState(), signal)).toMatchObject({
      kind: 'failed',
      code: 'model-failed',
      detail: expect.stringContaining('filter'),
    })
    expect(model.asked).toHaveLength(1)
  })

  test('an empty answer that its limit ended is a failure whose words name the limit', async () => {
    const model = createScriptedModel([{ cutOff: true }, { cutOff: true }])
    expect(await runLoop(loopParts(model, []).deps, aState(), signal)).toMatchObject({
      kind: 'failed',
      code: 'model-failed',
      detail: expect.stringContaining('output tokens'),
    })
  })

  test('two empty answers are a failure of the model', async () => {
    const model = createScriptedModel([{}, {}, { text: 'late' }])
    expect(await runLoop(loopParts(model, []).deps, aState(), signal)).toMatchObject({
      code: 'model-failed',
    })
  })

  test('what the mesh says of the model is the reason of the failure', async () => {
    const model = createScriptedModel([new Problem('budget-exhausted', { detail: 'no money' })])
    expect(await runLoop(loopParts(model, []).deps, aState(), signal)).toEqual({
      kind: 'failed',
      code: 'budget-exhausted',
      detail: 'no money',
    })
  })

  test('at the limit of a turn one answer without tools is asked for', async () => {
    const tool = fakeTool('tool', 'none')
    const model = createScriptedModel([use('1'), use('2'), { text: 'so far', toolCalls: use('3').toolCalls }])
    const bounds = { kind: 'chat', perTurnMax: 2, perSessionMax: 200 } as const
    const end = await runLoop(loopParts(model, [tool], { bounds }).deps, aState(), signal)
    expect(end).toEqual({ kind: 'answered', text: 'so far' })
    expect(model.asked.map((request) => request.mayCallTools)).toEqual([true, true, false])
    expect(tool.keys).toHaveLength(2)
  })

  test('when nothing comes at the limit the rounds are exhausted', async () => {
    const model = createScriptedModel([use('1'), {}])
    const bounds = { kind: 'chat', perTurnMax: 1, perSessionMax: 200 } as const
    const end = await runLoop(loopParts(model, [fakeTool('tool', 'none')], { bounds }).deps, aState(), signal)
    expect(end).toMatchObject({ kind: 'failed', code: 'rounds-exhausted' })
  })

  test('a session at its limit goes on after a prompt', async () => {
    const model = createScriptedModel([{ text: 'on' }])
    const state = { ...aState(), rounds: { turn: 0, session: 200, continues: 2 } }
    await runLoop(loopParts(model, []).deps, state, signal)
    expect(model.asked[0]?.messages.at(-1)).toMatchObject({ role: 'user' })
    expect(state.rounds).toEqual({ turn: 1, session: 1, continues: 3 })
  })

  test('a session is compacted at its limit five times, and after 1,201 rounds ends for good', async () => {
    heedsLesson(111)
    verifies('limits:chat-rounds-per-session', 'limits:session-continues')
    let asked = 0
    const model: LanguageModel = {
      answer: async (request) => {
        const answer = { cutOff: false, tokens: 10, promptTokens: 0, answeredBy: null, costUsd: 0 }
        // A summary is requested as an aside, without tools.
        if (request.tools.length === 0) {
          summaries += 1
          return { ...answer, text: 'what was done so far', toolCalls: [] }
        }
        asked += 1
        if (!request.mayCallTools) return { ...answer, text: 'this is all', toolCalls: [] }
        return { ...answer, text: '', toolCalls: calls([`c${asked}`, 'tool', `{"value":"${asked}"}`]) }
      },
    }
    const keeper = aContextKeeper({ modelFacts: aModelFactStore(8000) })
    let summaries = 0
    let compactions = 0
    const context: ContextKeeper = {
      ...keeper,
      compact: async (turn) => {
        compactions += 1
        await keeper.compact(turn)
      },
    }
    const tool = fakeTool('tool', 'none')
    const bounds = { kind: 'chat', perTurnMax: 5000, perSessionMax: 200 } as const
    const state = aState()
    const { deps } = loopParts(model, [tool], { bounds, context, saveCheckpoint: async () => undefined })
    expect(await runLoop(deps, state, signal)).toEqual({ kind: 'answered', text: 'this is all' })
    expect([asked, compactions, tool.keys.length]).toEqual([1201, 5, 1200])
    expect(summaries).toBeGreaterThanOrEqual(5)
    // Without compaction the conversation had 2,408 messages.
    expect(state.messages.length).toBeLessThan(1000)
    // Whatever is sent next, the model is not called any more.
    state.messages.push({ role: 'user', content: sanitizeForPrompt('and now?') })
    expect(await runLoop(deps, state, signal)).toMatchObject({ code: 'rounds-exhausted' })
    expect(asked).toBe(1201)
  })

  test.each([
    ['tokens', { maxTokens: 15, maxCostUsd: 9 }],
    ['money', { maxTokens: 999, maxCostUsd: 0.0015 }],
  ])('a task stops when its %s are used', async (_name, spending) => {
    const model = createScriptedModel([use('1'), use('2'), use('3'), { text: 'x' }])
    const end = await runLoop(
      loopParts(model, [fakeTool('tool', 'none')], { spending }).deps,
      aState(),
      signal,
    )
    expect(end).toMatchObject({ kind: 'failed', code: 'budget-exhausted' })
    expect(model.asked).toHaveLength(2)
    expect(model.asked[1]?.answerTokensMax).toBe(spending.maxTokens - 10)
  })

  test('a cap in money alone bounds no answer', async () => {
    const model = createScriptedModel([use('1'), use('2'), use('3')])
    const spending = { maxTokens: null, maxCostUsd: 0.0015 }
    const end = await runLoop(
      loopParts(model, [fakeTool('tool', 'none')], { spending }).deps,
      aState(),
      signal,
    )
    expect(end).toMatchObject({ kind: 'failed', code: 'budget-exhausted' })
    expect(model.asked.map(({ answerTokensMax }) => answerTokensMax)).toEqual([null, null])
  })

  test('an abort leaves the intent of the call that it cut off', async () => {
    const controller = new AbortController()
    const tool = fakeTool('tool', 'local', () => {
      controller.abort(new Problem('cancelled'))
      return 'too late'
    })
    const { deps, checkpoints } = loopParts(createScriptedModel([use('1')]), [tool])
    await expect(runLoop(deps, aState(), controller.signal)).rejects.toMatchObject({ code: 'cancelled' })
    expect(JSON.parse(checkpoints.at(-1) ?? '')).toMatchObject({
      pending: [{ callId: 'c1', step: 2 }],
      toolOutputs: [],
    })
  })
})

const script = () => [
  { text: 'both', toolCalls: calls(['a', 'tool', '{"value":"1"}'], ['b', 'tool', '{"value":"2"}']) },
  { text: 'done' },
]

/** Runs once to the end, then again from every checkpoint that was written on the way. */
async function cutEverywhere(effect: 'local' | 'mesh' | 'none') {
  const whole = loopParts(createScriptedModel(script()), [fakeTool('tool', effect)])
  await runLoop(whole.deps, aState(), signal)
  return Promise.all(
    whole.checkpoints.map(async (checkpoint) => {
      const state = readLoopState(JSON.parse(checkpoint))
      if (!state) throw new Error('the checkpoint cannot be read')
      const before = { pending: state.pending[0] ?? null, results: state.toolOutputs.length }
      const tool = fakeTool('tool', effect)
      const end = await runLoop(
        loopParts(createScriptedModel([{ text: 'done' }]), [tool]).deps,
        state,
        signal,
      )
      return { before, end, keys: tool.keys, outputs: state.toolOutputs }
    }),
  )
}

describe('a loop that goes on from a checkpoint', () => {
  test('a loop that goes on from a checkpoint ends the same wherever it was cut, and every call has one result', async () => {
    for (const cut of await cutEverywhere('mesh')) {
      expect(cut.end).toEqual({ kind: 'answered', text: 'done' })
      expect(cut.outputs.map((output) => output.step)).toEqual([2, 3])
    }
  })

  test('a call to the mesh is sent again under the same key', async () => {
    const cuts = (await cutEverywhere('mesh')).filter((cut) => cut.before.pending)
    expect(cuts.map((cut) => cut.keys)).toEqual([['run_1:2', 'run_1:3'], ['run_1:3']])
  })

  test('a local call is reported as of unknown outcome and not repeated', async () => {
    const cuts = (await cutEverywhere('local')).filter((cut) => cut.before.pending)
    expect(cuts.map((cut) => cut.keys)).toEqual([['run_1:3'], []])
    expect(cuts[0]?.outputs[0]).toMatchObject({ ok: false })
    expect(cuts[0]?.outputs[0]?.output).toContain('outcome-unknown')
  })

  test('a call with a result is never made again', async () => {
    for (const cut of await cutEverywhere('local')) {
      const made = cut.before.results + (cut.before.pending ? 1 : 0)
      expect(cut.keys).toHaveLength(2 - made)
    }
  })

  test('a checkpoint of an earlier release, which names one call without a list, is read', () => {
    const state = readLoopState({ ...aState(), pending: { callId: 'c1', step: 2 } })
    expect(state?.pending).toEqual([{ callId: 'c1', step: 2 }])
  })

  test('a checkpoint that a program has changed is ignored', () => {
    expect(readLoopState({ runId: 'run_1', messages: 'x' })).toBeNull()
    expect(readLoopState(null)).toBeNull()
    expect(readLoopState({ ...aState(), messages: [{ role: 'tool', content: 'x' }] })).toBeNull()
  })

  test('hidden characters written into a checkpoint do not reach the model', () => {
    const state = aState()
    const tampered = { ...state, messages: [{ role: 'user', content: 'a\u202Eb' }] }
    expect(readLoopState(tampered)?.messages[0]?.content).toBe('ab')
  })
})
