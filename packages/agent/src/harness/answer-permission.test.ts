import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { permittingMesh } from '../testing/harness-parts.ts'
import { answerPermission } from './answer-permission.ts'
import { readRequestedCall, readUpdate } from './read-update.ts'
import type { StatedCall } from './stated-call.ts'

/** Returns what the mesh is asked for a call, after the call that the harness reported before, if it reported one. */
async function questionFor(toolCall: JsonObject, reported?: JsonObject): Promise<JsonObject> {
  const { mesh, asked } = permittingMesh()
  const earlier: StatedCall | null =
    reported === undefined ? null : (readRequestedCall({ toolCallId: 'c', ...reported })?.stated ?? null)
  await answerPermission(
    { sessionId: 's', toolCall: { toolCallId: 'c', ...toolCall }, options: [] },
    {
      mesh,
      sessionId: 's',
      statedOf: (id) => (id === 'c' ? earlier : null),
      signal: new AbortController().signal,
      onWait: () => undefined,
    },
  )
  return asked[0] ?? {}
}

const command = (middle: string) => ({
  kind: 'execute',
  title: 'A script',
  rawInput: { command: `set -e\n${'a'.repeat(3000)}${middle}${'z'.repeat(3000)}` },
})
const diff = (newText: string) => ({
  kind: 'edit',
  content: [{ type: 'diff', path: '/data/a', oldText: 'old', newText }],
})

describe('what a harness asks the mesh', () => {
  it('two commands with the same beginning and end and another middle are two questions', async () => {
    const [one, other, again] = await Promise.all(
      ['rm a', 'rm b', 'rm a'].map((m) => questionFor(command(m))),
    )
    expect(one?.['input']).toBe(other?.['input'])
    expect(one).toMatchObject({ is_cut: true })
    expect(one?.['sha256']).not.toBe(other?.['sha256'])
    expect(again).toEqual(one)
  })

  it('two long titles and two long changes that differ where they are cut are two questions', async () => {
    const titled = (middle: string) => ({ title: `${'a'.repeat(900)}${middle}${'z'.repeat(900)}` })
    const changed = (middle: string) => diff(`${'a'.repeat(4500)}${middle}${'z'.repeat(4500)}`)
    for (const of of [titled, changed]) {
      const [one, other] = await Promise.all(['1', '2'].map((middle) => questionFor(of(middle))))
      expect(one).toMatchObject({ is_cut: true })
      expect(one?.['sha256']).not.toBe(other?.['sha256'])
    }
  })

  it('a call that is shown whole is not marked as cut', async () => {
    expect(await questionFor(diff('new'))).toMatchObject({ input: '/data/a\n-old\n+new', is_cut: false })
  })

  it('what the request leaves out is taken from the call that was reported before', async () => {
    const reported = { kind: 'execute', title: 'npm test', rawInput: { command: 'npm test' } }
    const whole = await questionFor(reported)
    expect(await questionFor({}, reported)).toEqual(whole)
    expect(await questionFor({ rawInput: {} }, reported)).toEqual(whole)
    expect(await questionFor({ title: 'other' }, reported)).toMatchObject({
      kind: 'execute',
      subject: 'other',
    })
  })

  it('a call without a kind, or with one that is not known, names none', async () => {
    expect(await questionFor({ title: 'x' })).toMatchObject({ kind: null })
    expect(await questionFor({ title: 'x', kind: 'run_anything' })).toMatchObject({ kind: null })
    expect(await questionFor({ title: 'x', kind: 'run_anything' }, { kind: 'execute' })).toMatchObject({
      kind: 'execute',
    })
  })
})

it('a long change and further parts of a result are shown with a mark of what is left out', () => {
  const content = [...diff('n'.repeat(9000)).content, ...Array.from({ length: 60 }, () => ({ type: 'x' }))]
  const update = { sessionUpdate: 'tool_call_update', toolCallId: 'c', content }
  const read = readUpdate({ sessionId: 's', update }, 's')
  const output = read?.kind === 'call' ? read.output : ''
  expect(output.length).toBeLessThanOrEqual(4000)
  expect(output).toMatch(/characters omitted\]/)
  expect(output).toContain('[11 more parts omitted]')
})
