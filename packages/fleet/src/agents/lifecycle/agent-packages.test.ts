import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import { afterEach, expect, test } from 'vitest'
import { createFakePackageImages } from '../../../../testing/src/fake-package-images.ts'
import { aFleet, createManualRuntime, owner, patient } from '../../../../testing/src/fleet-harness.ts'
import type { FleetHarness } from '../../../../testing/src/fleet-harness.ts'

let harness: FleetHarness
afterEach(() => harness?.close())

/** A fleet with the workers `a` and `b`, whose owner lists are in the returned record. */
async function aPackedFleet(lists: Record<string, PackageList>) {
  const packages = createFakePackageImages()
  packages.registry.set('hello', '1').set('jq', '1')
  const runtime = Object.assign(createManualRuntime(), { packages, isolates: true })
  harness = await aFleet({ runtime })
  harness.deps.fleetEvents.packageLists.subscribe((agentId) => [lists[agentId] ?? {}])
  for (const id of ['a', 'b']) await harness.fleet.admin.create(owner, { id, role: 'does work' })
  const start = async (id: string) => harness.fleet.connection.ensureRunning(id, patient)
  return { packages, runtime, start, images: () => runtime.started.map(({ image }) => image) }
}

test('an agent without packages starts from the agent image', async () => {
  const { start, images } = await aPackedFleet({})
  await start('a')
  expect(images()).toEqual([null])
})

test('agents with equal lists share one build, also when they start at once', async () => {
  const { packages, start, images } = await aPackedFleet({ a: { apt: ['hello'] }, b: { apt: ['hello'] } })
  await Promise.all([start('a'), start('b')])
  expect(packages.built).toHaveLength(1)
  expect(new Set(images()).size).toBe(1)
  expect(images()[0]).toMatch(/^sha256:/)
})

test('a module adds packages to those of the owner', async () => {
  const { packages, start } = await aPackedFleet({ a: { apt: ['hello'] } })
  harness.deps.fleetEvents.packageLists.subscribe((agentId) => (agentId === 'a' ? [{ apt: ['jq'] }] : []))
  await start('a')
  expect(packages.built).toEqual([{ apt: ['hello', 'jq'], npm: [], pip: [] }])
})

test('a changed list takes effect before the next run, and the agent runs on until then', async () => {
  const lists: Record<string, PackageList> = { a: { apt: ['hello'] } }
  const { start, images } = await aPackedFleet(lists)
  await start('a')
  await start('a')
  expect(images()).toHaveLength(1)
  lists['a'] = { apt: ['jq'] }
  await start('a')
  expect(new Set(images()).size).toBe(2)
})

test('the lock decides the versions until a rebuild, after which the agent gets the new ones', async () => {
  const { packages, start, images } = await aPackedFleet({ a: { apt: ['hello'] } })
  await start('a')
  packages.registry.set('hello', '2')
  const key = harness.fleet.packages.keyOf('a')
  const before = await readFile(harness.fleet.packages.lockFileOf(key), 'utf8')
  expect(before).toContain('"version": "1"')
  await start('a')
  expect(images()).toHaveLength(1)
  harness.fleet.packages.beginRebuild('a')
  expect(harness.fleet.packages.stateOf(key).state).toBe('building')
  // A start shares the build that is under way.
  expect(await harness.fleet.packages.imageOf('a')).not.toBe(images()[0])
  expect(harness.fleet.packages.stateOf(key).state).toBe('ready')
  await start('a')
  expect(images()).toHaveLength(2)
  expect(await readFile(harness.fleet.packages.lockFileOf(key), 'utf8')).toContain('"version": "2"')
})

test('the bill of materials lists the installed packages', async () => {
  const { start } = await aPackedFleet({ a: { apt: ['hello'] } })
  await start('a')
  const key = harness.fleet.packages.keyOf('a')
  const bom: unknown = JSON.parse(await readFile(join(harness.deps.locksFolder, `${key}.sbom.json`), 'utf8'))
  expect(bom).toMatchObject({
    bomFormat: 'CycloneDX',
    components: [{ name: 'hello', version: '1', purl: 'pkg:deb/debian/hello@1' }],
  })
})

test('a start names the package that the registry lacks, and starts nothing', async () => {
  const { runtime, start } = await aPackedFleet({ a: { apt: ['no-such'] } })
  await expect(start('a')).rejects.toMatchObject({
    code: 'packages-unavailable',
    detail: expect.stringContaining('no-such'),
  })
  expect(runtime.started).toEqual([])
})

test('a damaged lock file is not overwritten', async () => {
  const { packages, start } = await aPackedFleet({ a: { apt: ['hello'] } })
  const path = harness.fleet.packages.lockFileOf(harness.fleet.packages.keyOf('a'))
  await writeFile(path, '{"lock_version": 1')
  await expect(start('a')).rejects.toMatchObject({ code: 'packages-unavailable' })
  expect(packages.built).toEqual([])
  expect(await readFile(path, 'utf8')).toBe('{"lock_version": 1')
})

test('agents with packages do not start where no image can be built', async () => {
  const runtime = Object.assign(createManualRuntime(), { isolates: true })
  harness = await aFleet({ runtime })
  harness.deps.fleetEvents.packageLists.subscribe(() => [{ apt: ['hello'] }])
  await harness.fleet.admin.create(owner, { id: 'a', role: 'does work' })
  await expect(harness.fleet.connection.ensureRunning('a', patient)).rejects.toMatchObject({
    code: 'packages-unavailable',
  })
})
