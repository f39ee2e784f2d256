import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { agentEditSchema } from '@flotilla/protocol/agent-edit'
import { Problem } from '@flotilla/protocol/problem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { anEditsHarness, atTerminal, inChat, operator } from '../../../../../tests/support/edits-harness.ts'
import type { EditsHarness } from '../../../../../tests/support/edits-harness.ts'

let made: EditsHarness
beforeEach(async () => {
  made = await anEditsHarness()
})
afterEach(() => made.close())

const edit = (set: object, remove: readonly string[] = []): AgentEdit =>
  agentEditSchema.parse({ field: 'mcpServers', value: { set, remove } })
const files = { command: 'files' }
const wiki = { url: 'https://wiki.example/mcp' }
const names = () => Object.keys(made.harness.fleet.registry.mcpServers.of('w'))

describe('MCP servers of an agent', () => {
  test('MCP servers of an agent are given by a person alone, one by one, and can be taken back', async () => {
    const { edits, journal } = made
    const env = { KEY: 'a private value' }
    await edits.apply(atTerminal, 'w', { edit: edit({ files: { ...files, env } }) })
    expect(JSON.stringify(journal)).not.toContain('private')
    expect(journal.at(-1)).toMatchObject({ detail: { before: { files: false }, after: { files: true } } })
    const second = await edits.apply(atTerminal, 'w', { edit: edit({ wiki }) })
    expect(names()).toEqual(['files', 'wiki'])
    expect(second).toMatchObject({ before: { wiki: null }, takes_effect: 'next-run' })
    await edits.undo(atTerminal, second.undo_token)
    expect(names()).toEqual(['files'])
  })

  test('MCP servers of an agent are not the operator’s to give, nor a chat’s, also not by undoing; it may take one away', async () => {
    const { edits } = made
    for (const caller of [operator, inChat]) {
      await expect(edits.apply(caller, 'w', { edit: edit({ files }) })).rejects.toMatchObject({
        code: 'human-only',
      })
    }
    await edits.apply(atTerminal, 'w', { edit: edit({ files }) })
    const gone = await edits.apply(operator, 'w', { edit: edit({}, ['files']) })
    expect(names()).toEqual([])
    await expect(edits.undo(operator, gone.undo_token)).rejects.toMatchObject({ code: 'human-only' })
    expect(names()).toEqual([])
    await edits.undo(atTerminal, gone.undo_token)
    expect(names()).toEqual(['files'])
  })

  test('MCP servers of an agent are shown to the operator by name alone, also through edits and undoing', async () => {
    const { edits } = made
    const secret = { ...files, env: { KEY: 'a private value' } }
    await edits.apply(atTerminal, 'w', { edit: edit({ files: secret }) })
    const gone = await edits.apply(operator, 'w', { edit: edit({}, ['files']) })
    await edits.apply(atTerminal, 'w', { edit: edit({ files: secret }) })
    const refused = await edits.undo(operator, gone.undo_token).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'undo-overtaken' })
    const seen = [
      gone,
      edits.list(operator, { limit: 10 }),
      refused instanceof Problem ? [refused.detail, refused.extra] : [],
    ]
    expect(gone).toMatchObject({ before: { files: true }, after: { files: false } })
    expect(JSON.stringify(seen)).not.toContain('private')
    expect(JSON.stringify(edits.list(atTerminal, { limit: 10 }))).toContain('private')
  })

  test('MCP servers of an agent that do not exist cannot be removed, and invalid ones are refused before a write', async () => {
    const { edits } = made
    await expect(edits.apply(atTerminal, 'w', { edit: edit({}, ['none']) })).rejects.toMatchObject({
      code: 'not-found',
    })
    expect(() => edit({ a: { command: 'x', env: { KEY: '$CRED{a}' } } })).toThrow('a handle is refused')
    await edits.apply(atTerminal, 'w', {
      edit: edit(Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`s${at}`, files]))),
    })
    await expect(edits.apply(atTerminal, 'w', { edit: edit({ more: files }) })).rejects.toMatchObject({
      code: 'bad-request',
    })
    expect(names()).toHaveLength(16)
  })
})
