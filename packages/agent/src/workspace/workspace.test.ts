import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@flotilla/protocol/limits'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { createDataFiles } from '../files/data-files.ts'
import { readHeartbeatContext } from './heartbeat-context.ts'
import { createWorkspace } from './workspace.ts'

const now = Date.UTC(2030, 4, 10, 12)
const clock = { now: () => now, sleep: () => Promise.resolve() }

function aWorkspace(initialInstructions = '') {
  const data = mkdtempSync(join(tmpdir(), 'workspace-'))
  const briefing = mkdtempSync(join(tmpdir(), 'briefing-'))
  const files = createDataFiles(data)
  const workspace = createWorkspace({ files, briefingDirectory: briefing, initialInstructions })
  return { data, briefing, files, workspace }
}

describe('the workspace', () => {
  test('nine files, scaffolded on the first use and not before', async () => {
    verifies('resources:workspace:folder')
    const { data, workspace } = aWorkspace()
    expect(existsSync(join(data, 'workspace'))).toBe(false)
    const listed = await workspace.list()
    expect(listed.map((file) => file.name)).toHaveLength(9)
    expect(listed.every((file) => file.is_default)).toBe(true)
    expect(readFileSync(join(data, 'workspace', 'SOUL.md'), 'utf8')).toBe('# SOUL\n')
    expect(existsSync(join(data, 'workspace', 'SYSTEM.md'))).toBe(false)
  })

  test('initial instructions seed their file once', async () => {
    const { data, briefing, files, workspace } = aWorkspace('count things')
    expect(await workspace.read('INSTRUCTIONS.md')).toBe('count things')
    await workspace.write('INSTRUCTIONS.md', 'changed')
    const later = createWorkspace({ files, briefingDirectory: briefing, initialInstructions: 'count things' })
    expect(await later.read('INSTRUCTIONS.md')).toBe('changed')
    expect(existsSync(join(data, 'workspace'))).toBe(true)
  })

  test.each(Object.entries(limits.workspaceFileMaxChars).filter(([name]) => name !== 'SYSTEM.md'))(
    '%s takes %i characters and no more',
    async (name, maxChars) => {
      verifies(
        'limits:workspace-files',
        'resources:workspace:soul',
        'resources:workspace:instructions',
        'resources:workspace:user',
        'resources:workspace:memory',
        'resources:workspace:interface',
        'resources:workspace:agents',
      )
      const { workspace } = aWorkspace()
      expect(await workspace.write(name, 'x'.repeat(maxChars))).toEqual({ filename: name, size: maxChars })
      await expect(workspace.write(name, 'x'.repeat(maxChars + 1))).rejects.toMatchObject({
        code: 'body-too-large',
      })
      expect(await workspace.isDefault(name)).toBe(false)
    },
  )

  test('HEARTBEAT.md has no cap of its own', async () => {
    verifies('resources:workspace:heartbeat-uncapped')
    const { workspace } = aWorkspace()
    expect(await workspace.write('HEARTBEAT.md', 'x'.repeat(100_000))).toMatchObject({ size: 100_000 })
  })

  test('PROJECT.md and SYSTEM.md come from the briefing and cannot be written', async () => {
    verifies('resources:workspace:system-read-only')
    const { data, briefing, workspace } = aWorkspace()
    mkdirSync(join(data, 'workspace'))
    writeFileSync(join(data, 'workspace', 'SYSTEM.md'), 'mine')
    writeFileSync(join(briefing, 'SYSTEM.md'), 'theirs')
    expect(await workspace.read('SYSTEM.md')).toBe('theirs')
    expect(await workspace.read('PROJECT.md')).toBe('')
    await expect(workspace.write('SYSTEM.md', 'x')).rejects.toMatchObject({ code: 'denied' })
    await expect(workspace.write('PROJECT.md', 'x')).rejects.toMatchObject({ code: 'denied' })
  })

  test.each(['', 'OTHER.md', '../x', 'soul.md', '.flotilla/door-token'])(
    '%j is no workspace file',
    async (name) => {
      await expect(aWorkspace().workspace.read(name)).rejects.toMatchObject({ code: 'not-found' })
    },
  )

  test('what is written is cleaned', async () => {
    const { workspace } = aWorkspace()
    await workspace.write('SOUL.md', 'a\u202Eb')
    expect(await workspace.read('SOUL.md')).toBe('ab')
  })

  test('only its own heading is default', async () => {
    const { workspace } = aWorkspace()
    await workspace.write('SOUL.md', '  # SOUL \n')
    expect(await workspace.isDefault('SOUL.md')).toBe(true)
    await workspace.write('SOUL.md', '# Something else')
    expect(await workspace.isDefault('SOUL.md')).toBe(false)
  })
})

const context = (parts: ReturnType<typeof aWorkspace>) =>
  readHeartbeatContext({ workspace: parts.workspace, files: parts.files, dataDirectory: parts.data, clock })

describe('the heartbeat context', () => {
  test('an untouched agent has default rules and nothing recent', async () => {
    verifies('endpoints:agent:get-heartbeat-context')
    const found = await context(aWorkspace())
    expect(found).toMatchObject({ is_default_heartbeat: true, has_recent_activity: false, daily_logs: '' })
    expect(found.disk_used_percent).toBeGreaterThan(0)
    expect(found.disk_used_percent).toBeLessThanOrEqual(100)
  })

  test('the logs of two days are given, the newest lines of them when they are long', async () => {
    verifies('resources:workspace:heartbeat-rules')
    const parts = aWorkspace()
    await parts.workspace.write('HEARTBEAT.md', 'look at the disk')
    await parts.files.write('workspace/memory/2030-05-08.md', Buffer.from('too old'))
    await parts.files.write('workspace/memory/2030-05-09.md', Buffer.from(`first${'x'.repeat(9000)}`))
    await parts.files.write('workspace/memory/2030-05-10.md', Buffer.from('newest'))
    const found = await context(parts)
    expect(found).toMatchObject({ heartbeat_rules: 'look at the disk', is_default_heartbeat: false })
    expect(found.has_recent_activity).toBe(true)
    expect(found.daily_logs).toHaveLength(8000)
    expect(found.daily_logs.endsWith('newest')).toBe(true)
    expect(found.daily_logs).not.toContain('too old')
  })
})
