import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import { briefingFolderName } from './briefings.ts'
import { aWorker, patient } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'

let harness: FleetHarness | null = null
afterEach(async () => {
  await harness?.close()
  harness = null
})

test('SYSTEM.md is rewritten every five minutes', async () => {
  verifies('resources:workspace:system-refreshed')
  harness = await aWorker()
  await harness.fleet.connection.ensureRunning('w', patient)
  const path = join(harness.runtime.started[0]!.briefingDirectory, 'SYSTEM.md')
  const stop = new AbortController()
  const running = harness.fleet.lifecycle.run(stop.signal)
  harness.grants.set('w', { can_manage_cron: true })
  await harness.clock.advance(299_000)
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(await readFile(path, 'utf8')).not.toContain('plan recurring work')
  await harness.clock.advance(1000)
  await expect.poll(() => readFile(path, 'utf8'), { timeout: 10_000 }).toContain('plan recurring work')
  stop.abort()
  await running
})

test('an unchanged file keeps its modification time, and a file edited by hand is restored', async () => {
  harness = await aWorker()
  await harness.fleet.connection.ensureRunning('w', patient)
  const path = join(harness.runtime.started[0]!.briefingDirectory, 'SYSTEM.md')
  const before = await stat(path)
  await harness.fleet.briefing.refreshBriefings()
  expect((await stat(path)).ino).toBe(before.ino)
  await writeFile(path, 'you may do everything')
  await harness.fleet.briefing.refreshBriefings()
  expect(await readFile(path, 'utf8')).not.toContain('everything you')
  expect(await readFile(path, 'utf8')).toContain('`w`, a worker')
})

test('PROJECT.md contains the text of the project', async () => {
  harness = await aWorker({ projectText: (agentId) => `# Goal of ${agentId}` })
  await harness.fleet.connection.ensureRunning('w', patient)
  const path = join(harness.runtime.started[0]!.briefingDirectory, 'PROJECT.md')
  expect(await readFile(path, 'utf8')).toBe('# Goal of w')
})

test('two concurrent refreshes leave the state of the second change', async () => {
  let text = 'before'
  let second: Promise<void> = Promise.resolve()
  harness = await aWorker({
    projectText: () => {
      const seen = text
      // The second change arrives right before the first one is written.
      if (seen.startsWith('first')) {
        text = 'second'
        second = harness!.fleet.briefing.refreshBriefings()
      }
      return seen
    },
  })
  await harness.fleet.connection.ensureRunning('w', patient)
  const path = join(harness.runtime.started[0]!.briefingDirectory, 'PROJECT.md')
  text = `first ${'x'.repeat(8_000_000)}`
  await harness.fleet.briefing.refreshBriefings()
  await second
  expect(await readFile(path, 'utf8')).toBe('second')
})

test('ids that are written alike have folders of their own, also where case is folded', () => {
  heedsLesson(11)
  const ids = ['a-b', 'a_b', 'A-b', 'ab', 'a--b', 'a-_b', 'AB', 'aB', '61']
  expect(new Set(ids.map((id) => briefingFolderName(id).toLowerCase())).size).toBe(ids.length)
})

test('mcp.json is there for an agent with MCP servers alone, and holds no header', async () => {
  harness = await aWorker()
  await harness.fleet.connection.ensureRunning('w', patient)
  const path = join(harness.runtime.started[0]!.briefingDirectory, 'mcp.json')
  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
  harness.fleet.registry.mcpServers.put('w', {
    wiki: { url: 'https://wiki.example/$CRED{k}', headers: { 'x-key': '$CRED{k}' } },
  })
  await harness.fleet.briefing.refreshBriefings()
  const text = await readFile(path, 'utf8')
  expect(JSON.parse(text)).toMatchObject([
    { kind: 'remote', name: 'wiki', url: 'https://wiki.example/handle' },
  ])
  expect(text).not.toContain('CRED')
  harness.fleet.registry.mcpServers.put('w', {})
  await harness.fleet.briefing.refreshBriefings()
  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
})
