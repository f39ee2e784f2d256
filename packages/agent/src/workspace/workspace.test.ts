import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { refuseIdentityFile } from '../builtin-tools/files.ts'
import { workspaceTools } from '../builtin-tools/workspace.ts'
import { createDataFiles } from '../files/data-files.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { noMesh } from '../testing/loop-parts.ts'
import { createDailyLog, dailyLogMaxBytes } from './daily-log.ts'
import { defaultHeartbeats } from './default-heartbeat.ts'
import { readHeartbeatContext } from './heartbeat-context.ts'
import { readBootstrapFiles } from '../prompt/bootstrap-files.ts'
import { createWorkspace } from './workspace.ts'

const now = Date.UTC(2030, 4, 10, 12)
const clock = createManualClock(now)

function aWorkspace(initialInstructions = '') {
  const data = mkdtempSync(join(tmpdir(), 'workspace-'))
  const briefing = mkdtempSync(join(tmpdir(), 'briefing-'))
  const files = createDataFiles(data)
  const workspace = createWorkspace({ files, briefingDirectory: briefing, initialInstructions, clock })
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
    // AGENTS.md is in another folder, and the mesh's files stay where it wrote them.
    const six = ['HEARTBEAT', 'INSTRUCTIONS', 'INTERFACE', 'MEMORY', 'SOUL', 'USER'].map(
      (name) => `${name}.md`,
    )
    expect(readdirSync(join(data, 'workspace')).toSorted()).toEqual(six)
    expect(readdirSync(data)).toContain('AGENTS.md')
  })

  test('initial instructions seed their file once', async () => {
    const { data, briefing, files, workspace } = aWorkspace('count things')
    expect(await workspace.read('INSTRUCTIONS.md')).toBe('count things')
    await workspace.write('INSTRUCTIONS.md', 'changed')
    const later = createWorkspace({
      files,
      briefingDirectory: briefing,
      initialInstructions: 'count things',
      clock,
    })
    expect(await later.read('INSTRUCTIONS.md')).toBe('changed')
    expect(existsSync(join(data, 'workspace'))).toBe(true)
  })

  test.each([
    ['SOUL.md', 4000],
    ['INSTRUCTIONS.md', 12_000],
    ['USER.md', 4000],
    ['MEMORY.md', 16_000],
    ['INTERFACE.md', 4000],
    ['AGENTS.md', 12_000],
  ])('%s takes %i characters and no more', async (name, maxChars) => {
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
  })

  test('HEARTBEAT.md has no cap of its own, and is bounded at 1 MiB as every text is', async () => {
    verifies('resources:workspace:heartbeat-uncapped')
    const { workspace } = aWorkspace()
    expect((await workspace.list()).find(({ name }) => name === 'HEARTBEAT.md')).toMatchObject({ cap: null })
    const most = 'x'.repeat(1_048_576)
    expect(await workspace.write('HEARTBEAT.md', most)).toMatchObject({ size: 1_048_576 })
    expect(await workspace.read('HEARTBEAT.md')).toBe(most)
    await expect(workspace.write('HEARTBEAT.md', `${most}x`)).rejects.toMatchObject({
      code: 'body-too-large',
    })
  })

  test('PROJECT.md and SYSTEM.md come from the bootstrap files and cannot be written', async () => {
    verifies('resources:workspace:project')
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

describe('what a workspace file was before', () => {
  const backups = (data: string): string[] => readdirSync(join(data, 'workspace', 'backups')).toSorted()

  test('what a workspace file was before is kept under its time, the newest twenty of each file, and a scaffold is not', async () => {
    let at = now
    const { data, briefing, files } = aWorkspace()
    const ticking = { ...clock, now: () => (at += 1000) }
    const workspace = createWorkspace({
      files,
      briefingDirectory: briefing,
      initialInstructions: '',
      clock: ticking,
    })
    await workspace.write('SOUL.md', 'version 0')
    expect(existsSync(join(data, 'workspace', 'backups'))).toBe(false)
    await workspace.write('SOUL.md', 'version 0')
    expect(existsSync(join(data, 'workspace', 'backups'))).toBe(false)
    await workspace.write('USER.md', 'me')
    for (let version = 1; version <= 25; version += 1) await workspace.write('SOUL.md', `version ${version}`)
    await workspace.write('USER.md', 'you')
    const kept = backups(data)
    expect(kept.filter((name) => name.startsWith('SOUL.md.2030-05-10T12-'))).toHaveLength(20)
    expect(kept.filter((name) => name.startsWith('USER.md.'))).toHaveLength(1)
    const texts = kept.map((name) => readFileSync(join(data, 'workspace', 'backups', name), 'utf8'))
    expect(texts).toContain('version 24')
    expect(texts).toContain('version 5')
    expect(texts).not.toContain('version 4')
  })

  test('two changes in one millisecond are two backups', async () => {
    const { data, workspace } = aWorkspace()
    for (const content of ['a', 'b', 'c']) await workspace.write('SOUL.md', content)
    expect(backups(data)).toHaveLength(2)
  })
})

test('an empty file of the workspace is no part of the prompt, and one with text is', async () => {
  const { workspace } = aWorkspace()
  await workspace.write('SOUL.md', sanitizeForPrompt('  \n'))
  await workspace.write('USER.md', sanitizeForPrompt('Ann'))
  const texts = await readBootstrapFiles(workspace)
  expect(texts.map(({ file }) => file.name)).toEqual(['USER.md'])
})

test('AGENTS.md is at the root of the data directory, where programs look for it', async () => {
  verifies('resources:workspace:agents-at-root')
  const { data, files, workspace } = aWorkspace()
  await workspace.write('AGENTS.md', 'use npm')
  expect(readFileSync(join(data, 'AGENTS.md'), 'utf8')).toBe('use npm')
  expect(existsSync(join(data, 'workspace', 'AGENTS.md'))).toBe(false)
  const refused = files.write('AGENTS.md', Buffer.from('x'), { refuse: refuseIdentityFile })
  await expect(refused).rejects.toMatchObject({ code: 'path-refused' })
})

describe('update_workspace', () => {
  const [tool] = workspaceTools({ workspace: aWorkspace().workspace })
  const call = (filename: string, content = 'x') =>
    tool?.run(
      { filename, content },
      { mesh: noMesh, idempotencyKey: '', taskId: null, signal: new AbortController().signal },
    )

  test.each(['INSTRUCTIONS.md', 'SOUL.md', 'USER.md', 'MEMORY.md', 'HEARTBEAT.md'])(
    'update_workspace changes %s',
    async (name) => {
      expect(await call(name)).toMatchObject({ ok: true })
    },
  )

  test.each(['PROJECT.md', 'SYSTEM.md', 'AGENTS.md', 'INTERFACE.md', 'OTHER.md', '../x'])(
    'update_workspace does not change %s',
    async (name) => {
      await expect(call(name)).rejects.toMatchObject({ code: 'bad-request' })
    },
  )

  test('update_workspace takes 32,000 characters where the file has no cap of its own', async () => {
    expect(await call('HEARTBEAT.md', 'x'.repeat(32_000))).toMatchObject({ ok: true })
    await expect(call('HEARTBEAT.md', 'x'.repeat(32_001))).rejects.toMatchObject({ code: 'bad-request' })
  })
})

describe('the log of the day', () => {
  const aLog = (at: Clock = clock) => {
    const parts = aWorkspace()
    return { ...parts, log: createDailyLog({ files: parts.files, clock: at }) }
  }
  const dayFile = (data: string): string =>
    readFileSync(join(data, 'workspace', 'memory', '2030-05-10.md'), 'utf8')

  test('the log of the day gets a line for each entry, once, cleaned and bounded', async () => {
    const { data, log } = aLog()
    await Promise.all(
      ['run_1', 'run_2', 'run_1'].map((mark) =>
        log.append({ mark, text: sanitizeForPrompt(`did a\u202Eb ${mark}`) }),
      ),
    )
    await log.append({ mark: 'run_3', text: sanitizeForPrompt('x'.repeat(10_000)) })
    const lines = dayFile(data).trim().split('\n')
    expect(lines.slice(0, 2)).toEqual(['- 12:00 did ab run_1 (run_1)', '- 12:00 did ab run_2 (run_2)'])
    expect(lines.slice(2).join('').length).toBeLessThan(4100)
  })

  test('the log of the day that grows beyond its bound loses its older half and says so', async () => {
    const { data, log } = aLog()
    mkdirSync(join(data, 'workspace', 'memory'), { recursive: true })
    const path = join(data, 'workspace', 'memory', '2030-05-10.md')
    const entry = `- 11:00 ${'x'.repeat(991)}\n`
    writeFileSync(path, `- 10:00 the first\n${entry.repeat(Math.ceil(dailyLogMaxBytes / entry.length))}`)
    await log.append({ mark: 'run_9', text: sanitizeForPrompt('the newest') })
    const text = dayFile(data)
    expect(text.length).toBeLessThan(dailyLogMaxBytes)
    expect(text.startsWith('[older entries of this day were left out]\n- 11:00')).toBe(true)
    expect(text.endsWith('the newest (run_9)\n')).toBe(true)
  })

  test('words that leave a conversation are kept whole, in at most a hundred files', async () => {
    let at = now
    const { data, log } = aLog({ ...clock, now: () => (at += 1) })
    const place = await log.keepTranscript('run_1-../../x', sanitizeForPrompt('w'.repeat(300_000)))
    expect(place).toBe('workspace/memory/transcripts/2030-05-10T12-00-00-001Z-run_1-------x.md')
    expect(readFileSync(join(data, place), 'utf8')).toHaveLength(300_000)
    // Ids of runs are random, so the newest file of a day may have the first name.
    for (let run = 203; run >= 100; run -= 1) await log.keepTranscript(`run_x${run}`, sanitizeForPrompt('w'))
    const names = readdirSync(join(data, 'workspace', 'memory', 'transcripts'))
    const kept = names.map((name) => name.slice(-'run_x100.md'.length))
    expect(kept.toSorted()).toEqual(Array.from({ length: 100 }, (_, run) => `run_x${100 + run}.md`))
  })
})

const context = (parts: ReturnType<typeof aWorkspace>) =>
  readHeartbeatContext({ workspace: parts.workspace, files: parts.files, dataDirectory: parts.data, clock })

describe('the heartbeat context', () => {
  test('an untouched agent has default rules and nothing recent', async () => {
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

describe('the default of HEARTBEAT.md', () => {
  const [newest, ...older] = defaultHeartbeats

  test.each(older)('%j of an earlier release becomes the newest', async (text) => {
    heedsLesson(80)
    const { data, workspace } = aWorkspace()
    mkdirSync(join(data, 'workspace'))
    writeFileSync(join(data, 'workspace', 'HEARTBEAT.md'), text)
    expect(await workspace.read('HEARTBEAT.md')).toBe(newest)
    expect(await workspace.isDefault('HEARTBEAT.md')).toBe(true)
  })

  test.each(['look at the disk', `${newest}\n- and the weather`, ''])(
    '%j is its owner’s, and stays',
    async (text) => {
      heedsLesson(80)
      const { data, workspace } = aWorkspace()
      mkdirSync(join(data, 'workspace'))
      writeFileSync(join(data, 'workspace', 'HEARTBEAT.md'), text)
      expect(await workspace.read('HEARTBEAT.md')).toBe(text)
      expect(await workspace.isDefault('HEARTBEAT.md')).toBe(text === '')
    },
  )
})
