import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permissionActions } from '@flotilla/protocol/permission-actions'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { explain } from './explain.ts'
import { createPermissionFile } from './permission-file.ts'

const text = `{
  "permissions": {
    "scout": {
      "can_message": [
        "operator",
        "auditor"
      ],
      "allowed_apis": ["llm"]
    }
  }
}
`

async function asked(
  content: string | null,
  action: string,
  [resource = null, agentId = 'scout']: readonly [(string | null)?, string?] = [],
) {
  const path = join(await mkdtemp(join(tmpdir(), 'explain-')), 'permissions.json')
  if (content !== null) await writeFile(path, content)
  const store = await createPermissionFile({
    path,
    editor: createFileEditor(),
    clock: createManualClock(),
    log: silentLog,
    onBroken: () => {},
  })
  await store.close()
  const as = action.startsWith('program:') ? 'program' : 'door'
  return explain(store.snapshot(), { agentId, action: action.replace('program:', ''), resource, as })
}

describe('an explanation', () => {
  test('an explanation names the line of the very entry that allows', async () => {
    expect(await asked(text, 'message-agent', ['auditor'])).toEqual({
      allowed: true,
      reason: 'can_message of scout allows the action',
      field: 'can_message',
      file: 'config/permissions.json',
      line: 6,
      repair: '',
    })
  })

  test('an explanation names the default where it is what allows, and what takes it away', async () => {
    const operators =
      '{\n  "permissions": {\n    "operator": {\n      "can_route_tasks": true\n    }\n  }\n}\n'
    expect(await asked(operators, 'manage-fleet', [null, 'operator'])).toMatchObject({
      allowed: true,
      reason: 'the entry of operator does not name can_manage_fleet, which operator has by default',
      field: 'can_manage_fleet',
      line: 3,
    })
    expect(await asked(operators, 'route-tasks', [null, 'operator'])).toMatchObject({
      reason: 'can_route_tasks of operator allows the action',
      line: 4,
    })
    const browsing = text.replace('"allowed_apis"', '"can_use_browser": true,\n      "allowed_apis"')
    expect(await asked(browsing, 'use-browser', ['click'])).toMatchObject({
      allowed: true,
      reason: expect.not.stringContaining('default'),
    })
  })

  test('an explanation names the line of the field that does not list it, and the command that would', async () => {
    expect(await asked(text, 'call-api', ['http'])).toMatchObject({
      allowed: false,
      line: 8,
      repair: "Allow the action: flotilla permissions set scout 'allowed_apis+=http'",
    })
  })

  test('an explanation names the line of the record where the field is absent', async () => {
    expect(await asked(text, 'spawn-agent')).toMatchObject({
      allowed: false,
      field: 'can_spawn',
      line: 3,
      repair: 'Allow the action: flotilla permissions set scout can_spawn=true',
    })
  })

  test('an explanation gives the error of an invalid file and its place', async () => {
    const broken = text.replace('"allowed_apis"', 'allowed_apis')
    expect(await asked(broken, 'call-api', ['llm'])).toMatchObject({
      allowed: false,
      line: 8,
      reason: expect.stringContaining('denied everything'),
      repair: expect.stringContaining('by hand'),
    })
    expect(await asked(null, 'call-api', ['llm'])).toMatchObject({ allowed: false, line: null })
  })

  test('an explanation knows agents without a record', async () => {
    expect(await asked(text, 'call-api', ['llm', 'ghost'])).toMatchObject({ allowed: false, line: null })
  })

  test('an explanation decides for a program as the guard does', async () => {
    expect(await asked(text, 'program:call-api', ['llm'])).toMatchObject({ allowed: true })
    expect(await asked(text, 'program:message-agent', ['auditor'])).toMatchObject({ allowed: false })
  })

  test('an explanation lists the actions where one is unknown, and asks for a resource where one is missing', async () => {
    await expect(asked(text, 'fly')).rejects.toMatchObject({
      code: 'bad-request',
      message: expect.stringContaining('spawn-agent'),
    })
    await expect(asked(text, 'message-agent')).rejects.toMatchObject({ code: 'bad-request' })
    await expect(asked(text, 'spawn-agent', ['x'])).rejects.toMatchObject({ code: 'bad-request' })
  })

  test('an explanation answers for every action there is', async () => {
    for (const { name, example } of permissionActions) {
      const told = await asked(text, name, [example])
      expect(told.reason, name).not.toBe('')
    }
  })
})
