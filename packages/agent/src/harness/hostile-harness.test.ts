import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Problem } from '@flotilla/protocol/problem'
import { asked, harnessParts } from '../testing/harness-parts.ts'
import { fakeTool, noMesh } from '../testing/loop-parts.ts'
import type { Tool } from '../tools/tool.ts'
import { openRequestsMax } from './guard-messages.ts'

const { signal } = new AbortController()

function attack(mode: string, tools: readonly Tool[] = []) {
  const parts = harnessParts({ program: 'hostile-harness.mjs', args: [mode], tools })
  const state = asked('begin')
  return { ...parts, state, end: () => parts.run(state, signal) }
}

describe('a harness that was taken over', () => {
  it.each(['noise', 'shapes', 'forged-answers', 'same-request', 'mesh-long-line'])(
    'what no correct harness sends is dropped: %s',
    async (mode) => {
      expect(await attack(mode).end()).toEqual({ kind: 'answered', text: 'still here' })
    },
  )

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
