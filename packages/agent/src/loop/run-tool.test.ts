import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { expect, test } from 'vitest'
import { createScriptedModel } from '../llm/scripted-model.ts'
import { systemClock } from '../system-clock.ts'
import { aContextKeeper } from '../testing/context-parts.ts'
import { fakeTool, noMesh, silentHooks } from '../testing/loop-parts.ts'
import type { Tool, ToolEffect } from '../tools/tool.ts'
import { createCheckpoints } from './run-files.ts'
import type { RunContext } from './loop-deps.ts'
import { runTool } from './run-tool.ts'
import { createSessions } from './sessions.ts'
import { runLoop } from './run-loop.ts'

const request = { kind: 'tool', runId: 'run_1', fence: 2, tool: 'tool', params: { value: 'x' } } as const

function aContext(tools: readonly Tool[]): RunContext {
  const data = mkdtempSync(join(tmpdir(), 'tool-'))
  return {
    runLoop,
    inputHash: 'same',
    stepsUsed: 0,
    hooks: silentHooks,
    signal: new AbortController().signal,
    mesh: noMesh,
    model: createScriptedModel([]),
    tools,
    context: aContextKeeper(),
    recordRun: async () => undefined,
    recordHeartbeat: async () => undefined,
    bounds: { taskIterationsMax: 1, chatRoundsPerTurnMax: 1, chatRoundsPerSessionMax: 1 },
    sessions: createSessions({ dataDirectory: data, clock: systemClock }),
    checkpoints: createCheckpoints(data),
    clock: systemClock,
    systemPrompt: async () => sanitizeForPrompt(''),
  }
}

/** Interrupts the call like a crash: its intent is stored and its result never comes; then runs it again. */
async function cutOffAndAgain(effect: ToolEffect) {
  const stuck = fakeTool('tool', effect, () => new Promise(() => undefined))
  const context = aContext([stuck])
  void runTool(context, request)
  while (stuck.keys.length === 0) await systemClock.sleep(5)
  const tool = fakeTool('tool', effect)
  const { result } = await runTool({ ...context, tools: [tool] }, { ...request, fence: 3 })
  return { result, keys: tool.keys }
}

test('a tool is called once and its answer is the result', async () => {
  const { result, lastStep } = await runTool(aContext([fakeTool('tool', 'local', () => ({ n: 1 }))]), request)
  expect(result).toMatchObject({
    status: 'complete',
    result: { n: 1 },
    tool_outputs: [{ step: 1, ok: true }],
  })
  expect(lastStep).toBe(1)
})

test('an unknown tool and wrong parameters are failures with their code', async () => {
  expect((await runTool(aContext([]), request)).result.error?.code).toBe('not-found')
  const wrong = { ...request, params: { other: 1 } }
  expect((await runTool(aContext([fakeTool('tool', 'local')]), wrong)).result.error?.code).toBe('bad-request')
})

test('a local call that was cut off is of unknown outcome and not made again', async () => {
  const { result, keys } = await cutOffAndAgain('local')
  expect(result.error?.code).toBe('outcome-unknown')
  expect(keys).toEqual([])
})

test('a call to the mesh that was cut off is made again under its key', async () => {
  const { result, keys } = await cutOffAndAgain('mesh')
  expect(result).toMatchObject({ status: 'complete', fence: 3 })
  expect(keys).toEqual(['run_1:1'])
})
