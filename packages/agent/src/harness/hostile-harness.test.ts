import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { asked, harnessParts } from '../testing/harness-parts.ts'
import { fakeTool, noMesh } from '../testing/loop-parts.ts'
import type { Tool } from '../tools/tool.ts'
import { callsPerPromptMax } from './call-mesh-tool.ts'
import { openRequestsMax } from './guard-messages.ts'

const { signal } = new AbortController()

function attack(mode: string, tools: readonly Tool[] = []) {
  const parts = harnessParts({ program: 'hostile-harness.mjs', args: [mode], tools })
  const state = asked('begin')
  return { ...parts, state, end: () => parts.run(state, signal) }
}

describe('a harness that was taken over', () => {
  it.each(['noise', 'shapes', 'forged-answers', 'same-request', 'deep', 'mesh-long-line'])(
    'what no correct harness sends is dropped: %s',
    async (mode) => {
      expect(await attack(mode).end()).toEqual({ kind: 'answered', text: 'still here' })
    },
  )

  it('calls to tools of the mesh in wrong forms are refused', async () => {
    const tool = fakeTool('tool', 'none')
    expect(await attack('mesh-shapes', [tool]).end()).toMatchObject({ text: 'still here' })
    expect(tool.keys).toHaveLength(1)
  })

  it('a call that reuses an open identifier is a call of its own', async () => {
    const tool = fakeTool('tool', 'mesh')
    expect(await attack('mesh-same-id', [tool]).end()).toMatchObject({ text: 'still here' })
    expect(new Set(tool.keys).size).toBe(tool.keys.length)
  })

  it('a call to a tool of the mesh after the end of the turn is refused', async () => {
    const tool = fakeTool('tool', 'mesh')
    expect(await attack('mesh-late-call', [tool]).end()).toMatchObject({ text: 'still here' })
    expect(tool.keys).toHaveLength(1)
  })

  it('the calls of one turn to tools of the mesh are bounded, and the run ends with the reason', async () => {
    const tool = fakeTool('tool', 'mesh')
    const end = await attack('mesh-many-calls', [tool]).end()
    expect(end).toMatchObject({ kind: 'failed', code: 'harness-failed' })
    expect(end.kind === 'failed' ? end.detail : '').toContain('calls to tools of the fleet in one turn')
    expect(tool.keys).toHaveLength(callsPerPromptMax)
  })

  it.each(['long-line', 'many-forged-answers', 'wrong-answer'])(
    'ends its own run as failed: %s',
    async (mode) => {
      expect(await attack(mode).end()).toMatchObject({ kind: 'failed', code: 'harness-failed' })
    },
  )

  it('an error that it answers with is shown without control characters', async () => {
    const end = await attack('error-answer').end()
    expect(end.kind === 'failed' ? end.detail : '').not.toContain('\u001b')
    expect(end).toMatchObject({ code: 'harness-failed' })
  })

  it('updates of another session are not its answer', async () => {
    expect(await attack('other-session').end()).toMatchObject({ text: 'still here' })
  })

  it('requests to write files and to run terminals outside of its own process are refused', async () => {
    const { end, directory } = attack('own-files')
    expect(await end()).toMatchObject({ text: 'w -32601 t -32601' })
    expect(existsSync(join(directory, 'x'))).toBe(false)
  })

  it('only a few of its requests wait at the same time', async () => {
    const mesh = { call: () => new Promise<never>(() => undefined), open: noMesh.open }
    const parts = harnessParts({ program: 'hostile-harness.mjs', args: ['many-requests'], changes: { mesh } })
    expect(await parts.run(asked('begin'), signal)).toMatchObject({ text: `${40 - openRequestsMax} refused` })
  })

  it('an answer is cut at its limit, and words after its end belong to nothing', async () => {
    const { end, state } = attack('many-words')
    const answered = await end()
    expect(answered.kind === 'answered' ? answered.text.length : 0).toBe(200_000)
    expect(state.messages.at(-1)?.content).not.toContain('too late')
  })

  it('calls beyond the limit are shown and not stored', async () => {
    const { end, state, frames } = attack('many-calls')
    expect(await end()).toMatchObject({ text: 'still here' })
    expect(frames.filter(({ type }) => type === 'tool_result')).toHaveLength(1500)
    expect(state.toolOutputs).toHaveLength(300)
  })

  it.each(['flood', 'deaf'])('a run is cancelled in the middle of an attack: %s', async (mode) => {
    const controller = new AbortController()
    const parts = harnessParts({ program: 'hostile-harness.mjs', args: [mode] })
    const running = parts.run(asked('begin'), controller.signal)
    await expect.poll(() => parts.frames.length, { timeout: 20_000 }).toBeGreaterThan(0)
    controller.abort(new Problem('cancelled'))
    await expect(running).rejects.toMatchObject({ code: 'cancelled' })
  })

  it('calls to tools of the mesh are made one by one, and only a few wait', async () => {
    let open = 0
    let most = 0
    const tool = fakeTool('tool', 'none', async (value) => {
      open += 1
      most = Math.max(most, open)
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
      open -= 1
      return value
    })
    expect(await attack('mesh-flood', [tool]).end()).toMatchObject({ text: '28 refused' })
    expect(most).toBe(1)
  })
})
