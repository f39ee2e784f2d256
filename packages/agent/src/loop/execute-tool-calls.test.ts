import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { aState, calls, fakeTool, loopParts } from '../testing/loop-parts.ts'
import type { Tool } from '../tools/tool.ts'
import { parallelCallsMax } from './parallel-calls.ts'
import { readLoopState } from './read-loop-state.ts'
import { executeToolCalls } from './execute-tool-calls.ts'
import { runLoop } from './run-loop.ts'

const signal = new AbortController().signal
/** The clock never advances, so that two records of the same calls are equal. */
const stillClock = createManualClock()
const safe = (tool: ReturnType<typeof fakeTool>): ReturnType<typeof fakeTool> => ({
  ...tool,
  parallelSafe: true,
})
const ask = (...batch: readonly (readonly [name: string, args: string])[]) =>
  calls(...batch.map(([name, args], index) => [`c${index}`, name, args] as const))

/** Counts how many calls are running at once; all wait until `expected` are. */
function gathering(expected: number) {
  let under = 0
  let most = 0
  const open = Promise.withResolvers<void>()
  const tool = safe(
    fakeTool('look', 'none', async (value) => {
      under += 1
      most = Math.max(most, under)
      if (under === expected) open.resolve()
      await open.promise
      under -= 1
      return `saw ${value}`
    }),
  )
  return { tool, most: () => most }
}

describe('calls of one answer', () => {
  test('calls of one answer that change nothing are under way together, and their results come in the order they were asked for', async () => {
    const { tool, most } = gathering(3)
    const batch = ask(['look', '{"value":"1"}'], ['look', '{"value":"2"}'], ['look', '{"value":"3"}'])
    const model = createScriptedModel([{ toolCalls: batch }, { text: 'done' }])
    const state = aState()
    const { deps, frames } = loopParts(model, [tool])
    expect(await runLoop(deps, state, signal)).toEqual({ kind: 'answered', text: 'done' })
    expect(most()).toBe(3)
    expect(model.asked[1]?.messages.slice(3)).toMatchObject([
      { role: 'tool', toolCallId: 'c0', content: 'saw 1' },
      { role: 'tool', toolCallId: 'c1', content: 'saw 2' },
      { role: 'tool', toolCallId: 'c2', content: 'saw 3' },
    ])
    expect(tool.keys).toEqual(['run_1:2', 'run_1:3', 'run_1:4'])
    expect(state.toolOutputs.map(({ step }) => step)).toEqual([2, 3, 4])
    expect(frames.map((frame) => frame.type)).toEqual([
      ...Array(3).fill('tool_start'),
      ...Array(3).fill('tool_result'),
      'text_delta',
    ])
  })

  test('calls of one answer are no more than four at once', async () => {
    const { tool, most } = gathering(parallelCallsMax)
    const batch = ask(...Array.from({ length: 8 }, (_, index) => ['look', `{"value":"${index}"}`] as const))
    const model = createScriptedModel([{ toolCalls: batch }, { text: 'done' }])
    const state = aState()
    await runLoop(loopParts(model, [tool]).deps, state, signal)
    expect([most(), state.toolOutputs.length]).toEqual([parallelCallsMax, 8])
  })

  test('calls of one answer never overtake a call that has an effect', async () => {
    const order: string[] = []
    const note = (word: string) => async (value: string) => {
      order.push(`${word} ${value}`)
      await Promise.resolve()
      order.push(`${word} ${value} ends`)
    }
    const tools = [safe(fakeTool('look', 'none', note('look'))), fakeTool('write', 'local', note('write'))]
    const batch = ask(['look', '{"value":"1"}'], ['write', '{"value":"2"}'], ['look', '{"value":"3"}'])
    const model = createScriptedModel([{ toolCalls: batch }, { text: 'done' }])
    await runLoop(loopParts(model, tools).deps, aState(), signal)
    expect(order).toEqual(['look 1', 'look 1 ends', 'write 2', 'write 2 ends', 'look 3', 'look 3 ends'])
  })

  test('all hear that the run is cancelled, and none of them is taken for done', async () => {
    const stop = new AbortController()
    const heard: string[] = []
    let begun = 0
    const tool = safe(
      fakeTool('look', 'none', async (value, context) => {
        context.signal.addEventListener('abort', () => heard.push(value))
        begun += 1
        if (begun === 3) stop.abort(new Problem('cancelled'))
        await new Promise(() => undefined)
      }),
    )
    const batch = ask(['look', '{"value":"1"}'], ['look', '{"value":"2"}'], ['look', '{"value":"3"}'])
    const state = aState()
    const { deps } = loopParts(createScriptedModel([{ toolCalls: batch }]), [tool])
    await expect(runLoop(deps, state, stop.signal)).rejects.toMatchObject({ code: 'cancelled' })
    expect(heard).toEqual(['1', '2', '3'])
    expect(state.toolOutputs).toEqual([])
  })

  test('calls of one answer cut off by a crash are made again under the same keys', async () => {
    const stop = new AbortController()
    const tool = safe(
      fakeTool('look', 'none', async (value) => {
        if (value === '2' && !stop.signal.aborted) stop.abort(new Error('the power went'))
        return `saw ${value}`
      }),
    )
    const batch = ask(['look', '{"value":"1"}'], ['look', '{"value":"2"}'])
    const model = createScriptedModel([{ toolCalls: batch }, { text: 'done' }])
    const { deps, checkpoints } = loopParts(model, [tool])
    await expect(runLoop(deps, aState(), stop.signal)).rejects.toThrow('the power went')
    const state = readLoopState(JSON.parse(checkpoints.at(-1) ?? ''))
    expect(state?.toolOutputs).toEqual([])
    expect(await runLoop(deps, state ?? aState(), signal)).toMatchObject({ text: 'done' })
    expect(tool.keys).toEqual(['run_1:2', 'run_1:3', 'run_1:2', 'run_1:3'])
  })

  test('calls of one answer leave the same conversation behind as if they had been made one after the other', async () => {
    const name = fc.constantFrom('look', 'peek', 'write', 'memory_search', 'nothing')
    const args = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('{"value":"1"}', '{"value":"2"}', '{"value":"3"}') },
      { weight: 1, arbitrary: fc.constantFrom('', '{', '[]', '{"value":7}', '{"other":"x"}') },
    )
    // A looping model repeats the same call.
    const times = fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      { arbitrary: fc.integer({ min: 2, max: 7 }), weight: 1 },
    )
    const batch = fc
      .array(fc.tuple(name, args, times), { maxLength: 6 })
      .map((asked) =>
        asked.flatMap(([of, text, count]) => Array.from({ length: count }, () => [of, text] as const)),
      )
    const answers = fc.array(batch, { minLength: 1, maxLength: 3 })
    const made = async (batches: readonly (readonly (readonly [string, string])[])[], parallel: boolean) => {
      const waits = [3, 1, 2, 0]
      let next = 0
      const work = async (value: string, of: string) => {
        for (let turn = waits[next++ % waits.length] ?? 0; turn > 0; turn -= 1) await Promise.resolve()
        if (of === 'peek' && value === '2') throw new Problem('not-found', { detail: 'nothing there' })
        return `${of} ${value}`
      }
      const tool = (of: string, effect: 'none' | 'local'): Tool => {
        const plain = fakeTool(of, effect, (value) => work(value, of))
        return parallel && effect === 'none' ? safe(plain) : plain
      }
      const tools = [tool('look', 'none'), tool('peek', 'none'), tool('write', 'local')]
      tools.push(tool('memory_search', 'none'))
      const state = aState()
      const failures: unknown[] = []
      const { deps } = loopParts(createScriptedModel([]), tools, {
        clock: stillClock,
        learnings: {
          recordToolFailure: async (failure) => void failures.push(failure),
          recordCorrection: async () => false,
          takeFeedback: async () => {},
        },
      })
      const ends: unknown[] = []
      for (const [index, batch] of batches.entries()) {
        const toolCalls = batch.map(([of, text], at) => ({
          id: `a${index}c${at}`,
          name: of,
          arguments: text,
        }))
        state.step += 1
        state.messages.push({ role: 'assistant', content: deps.work.systemPrompt, toolCalls })
        ends.push(await executeToolCalls(deps, state, signal))
        if (ends.at(-1) !== null) break
      }
      return { state, ends, failures }
    }
    await fc.assert(
      fc.asyncProperty(answers, async (batches) => {
        expect(await made(batches, true)).toEqual(await made(batches, false))
      }),
      { numRuns: 200 },
    )
  })

  test('calls of one answer that fail are recorded with the digits that the model wrote', async () => {
    const failures: unknown[] = []
    const state = aState()
    const { deps } = loopParts(createScriptedModel([]), [], {
      clock: stillClock,
      learnings: {
        recordToolFailure: async (failure) => void failures.push(failure),
        recordCorrection: async () => false,
        takeFeedback: async () => {},
      },
    })
    const toolCalls = [{ id: 'a', name: 'nothing', arguments: '{"id":9007199254740993}' }]
    state.messages.push({ role: 'assistant', content: deps.work.systemPrompt, toolCalls })
    await executeToolCalls(deps, state, signal)
    expect(failures).toMatchObject([{ tool: 'nothing', input: { id: '9007199254740993' } }])
  })
})
