import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../../tests/verifies.ts'
import { briefingFolderName } from './briefings.ts'
import { aWorker, patient } from '../../testing/fleet-harness.ts'
import type { FleetHarness } from '../../testing/fleet-harness.ts'

let world: FleetHarness | null = null
afterEach(async () => {
  await world?.close()
  world = null
})

test('SYSTEM.md is written anew every five minutes', async () => {
  verifies('resources:workspace:system-refreshed')
  world = await aWorker()
  await world.fleet.connection.ensureRunning('w', patient)
  const path = join(world.runtime.started[0]!.briefingDirectory, 'SYSTEM.md')
  const stop = new AbortController()
  const running = world.fleet.lifecycle.run(stop.signal)
  world.grants.set('w', { can_manage_cron: true })
  await world.clock.advance(299_000)
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(await readFile(path, 'utf8')).not.toContain('plan recurring work')
  await world.clock.advance(1000)
  await expect.poll(() => readFile(path, 'utf8'), { timeout: 10_000 }).toContain('plan recurring work')
  stop.abort()
  await running
})

test('what has not changed keeps its time, what a hand changed is mended', async () => {
  world = await aWorker()
  await world.fleet.connection.ensureRunning('w', patient)
  const path = join(world.runtime.started[0]!.briefingDirectory, 'SYSTEM.md')
  const before = await stat(path)
  await world.fleet.briefing.refreshBriefings()
  expect((await stat(path)).ino).toBe(before.ino)
  await writeFile(path, 'you may do everything')
  await world.fleet.briefing.refreshBriefings()
  expect(await readFile(path, 'utf8')).not.toContain('everything you')
  expect(await readFile(path, 'utf8')).toContain('`w`, a worker')
})

test('PROJECT.md holds what the project wants', async () => {
  world = await aWorker({ projectText: (agentId) => `# Goal of ${agentId}` })
  await world.fleet.connection.ensureRunning('w', patient)
  const path = join(world.runtime.started[0]!.briefingDirectory, 'PROJECT.md')
  expect(await readFile(path, 'utf8')).toBe('# Goal of w')
})

test('two changes in one moment leave what the second one made', async () => {
  let text = 'before'
  let second: Promise<void> = Promise.resolve()
  world = await aWorker({
    projectText: () => {
      const seen = text
      // The second change comes as the first one is about to be written.
      if (seen.startsWith('first')) {
        text = 'second'
        second = world!.fleet.briefing.refreshBriefings()
      }
      return seen
    },
  })
  await world.fleet.connection.ensureRunning('w', patient)
  const path = join(world.runtime.started[0]!.briefingDirectory, 'PROJECT.md')
  text = `first ${'x'.repeat(8_000_000)}`
  await world.fleet.briefing.refreshBriefings()
  await second
  expect(await readFile(path, 'utf8')).toBe('second')
})

test('ids that are written alike have folders of their own, also where case is folded', () => {
  heedsLesson(11)
  const ids = ['a-b', 'a_b', 'A-b', 'ab', 'a--b', 'a-_b', 'AB', 'aB', '61']
  expect(new Set(ids.map((id) => briefingFolderName(id).toLowerCase())).size).toBe(ids.length)
})

test('mcp.json is there for an agent with MCP servers alone, and holds no header', async () => {
  world = await aWorker()
  await world.fleet.connection.ensureRunning('w', patient)
  const path = join(world.runtime.started[0]!.briefingDirectory, 'mcp.json')
  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
  world.fleet.registry.mcpServers.put('w', {
    wiki: { url: 'https://wiki.example/$CRED{k}', headers: { 'x-key': '$CRED{k}' } },
  })
  await world.fleet.briefing.refreshBriefings()
  const text = await readFile(path, 'utf8')
  expect(JSON.parse(text)).toMatchObject([
    { kind: 'remote', name: 'wiki', url: 'https://wiki.example/handle' },
  ])
  expect(text).not.toContain('CRED')
  world.fleet.registry.mcpServers.put('w', {})
  await world.fleet.briefing.refreshBriefings()
  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
})
