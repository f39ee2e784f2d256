import { expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { browserActionNames } from '@flotilla/protocol/browser-actions'
import type { RunMeshCall } from '../mesh/run-mesh.ts'
import { browserTools } from './browser.ts'

const tools = browserTools()

function asked(reply: unknown) {
  const calls: RunMeshCall[] = []
  const mesh = {
    call: async (call: RunMeshCall) => {
      calls.push(call)
      return reply
    },
    open: async () => {
      throw new Error('nothing is streamed')
    },
  }
  const context = { mesh, idempotencyKey: 'run_1:1', taskId: null, signal: new AbortController().signal }
  const use = async (name: string, input: Record<string, string | number | boolean>) => {
    const tool = tools.find(({ definition }) => definition.name === name)
    if (!tool) throw new Error(`no tool ${name}`)
    return tool.run(input, context)
  }
  return { calls, use }
}

test('there is a tool for every action, each with one user at a time and none beside another', () => {
  verifies('limits:subagents:no-concurrent-browser')
  expect(tools.map(({ definition }) => definition.name)).toEqual(
    browserActionNames.map((action) => `browser_${action}`),
  )
  expect(tools.every(({ exclusive, parallelSafe }) => exclusive === 'browser' && !parallelSafe)).toBe(true)
})

test('what changes something is sent under its key, what only looks is not', async () => {
  const { calls, use } = asked({ ok: true, data: {}, notes: [] })
  await use('browser_click', { ref: 'e1' })
  await use('browser_snapshot', {})
  expect(calls.map(({ params, body, idempotencyKey }) => [params, body, idempotencyKey])).toEqual([
    [{ action: 'click' }, { ref: 'e1' }, 'run_1:1'],
    [{ action: 'snapshot' }, {}, undefined],
  ])
})

test('a screenshot is a picture that the model sees, and no text', async () => {
  const { use } = asked({
    ok: true,
    data: { width: 1 },
    notes: [],
    picture: { media_type: 'image/png', base64: 'AA==' },
  })
  expect(await use('browser_screenshot', {})).toEqual({
    ok: true,
    output: { data: { width: 1 }, notes: [] },
    images: [{ mediaType: 'image/png', base64: 'AA==' }],
  })
})

test('a refusal of the browser is reported as a failed call', async () => {
  const { use } = asked({ ok: false, code: 'stale-reference', message: 'take a snapshot' })
  expect(await use('browser_click', { ref: 'e1' })).toEqual({
    ok: false,
    output: { code: 'stale-reference', message: 'take a snapshot' },
  })
})

test('what does not fit is refused before anything is asked', async () => {
  const { calls, use } = asked({})
  await expect(use('browser_click', {})).rejects.toMatchObject({ code: 'bad-request' })
  await expect(use('browser_scroll', { direction: 'sideways' })).rejects.toMatchObject({
    code: 'bad-request',
  })
  expect(calls).toEqual([])
})
