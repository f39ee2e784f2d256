import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PackageList } from '@flotilla/protocol/agent-packages'
import { afterEach, expect, test } from 'vitest'
import { createFakePackageImages } from '../../../../testing/src/fake-package-images.ts'
import { SandboxError } from '../../sandbox/sandbox-error.ts'
import { aFleet, createManualRuntime, owner, patient, waitOf } from '../../../../testing/src/fleet-harness.ts'
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

/** Rebuilds the image of an agent; resolves when the rebuild has ended. */
async function rebuilt(agentId: string): Promise<void> {
  harness.fleet.packages.beginRebuild(agentId)
  await buildEnded(agentId)
}

async function buildEnded(agentId: string): Promise<void> {
  const { packages } = harness.fleet
  while (packages.stateOf(packages.keyOf(agentId)).state === 'building')
    await new Promise((resolve) => setImmediate(resolve))
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
  await rebuilt('a')
  await start('a')
  expect(images()).toHaveLength(2)
  expect(await readFile(harness.fleet.packages.lockFileOf(key), 'utf8')).toContain('"version": "2"')
})

test('a start during a rebuild uses the image of the stored lock', async () => {
  const { packages, start, images } = await aPackedFleet({ a: { apt: ['hello'] }, b: { apt: ['hello'] } })
  await start('a')
  packages.registry.set('hello', '2')
  const installing = Promise.withResolvers<void>()
  packages.beforeInstall = () => installing.promise
  harness.fleet.packages.beginRebuild('a')
  expect(harness.fleet.packages.stateOf(harness.fleet.packages.keyOf('a')).state).toBe('building')
  await start('b')
  expect(new Set(images()).size).toBe(1)
  installing.resolve()
  await buildEnded('a')
})

test('a failed rebuild leaves lock and image in use', async () => {
  const { packages, start, images } = await aPackedFleet({ a: { apt: ['hello'] }, b: { apt: ['hello'] } })
  await start('a')
  packages.registry.delete('hello')
  await rebuilt('a')
  const key = harness.fleet.packages.keyOf('a')
  expect(harness.fleet.packages.stateOf(key)).toEqual({
    state: 'failed',
    detail: expect.stringContaining('hello'),
  })
  await start('b')
  expect(new Set(images()).size).toBe(1)
})

test('a mesh that starts again knows that an agent runs from an image before the rebuild', async () => {
  const { packages, start, images } = await aPackedFleet({ a: { apt: ['hello'] } })
  await start('a')
  packages.registry.set('hello', '2')
  await rebuilt('a')
  const next = harness.again()
  expect((await next.lifecycle.reconcile()).adopted).toEqual(['a'])
  await next.connection.ensureRunning('a', patient)
  expect(new Set(images()).size).toBe(2)
  await next.connection.ensureRunning('a', patient)
  expect(images()).toHaveLength(2)
})

test('stopping an agent cuts its build off, unless another agent waits for it', async () => {
  const { packages, start } = await aPackedFleet({ a: { apt: ['hello'] }, b: { apt: ['hello'] } })
  const signals: AbortSignal[] = []
  let began = Promise.withResolvers<void>()
  const installing = Promise.withResolvers<void>()
  packages.beforeInstall = async (signal) => {
    if (signal) signals.push(signal)
    began.resolve()
    await installing.promise
  }
  const starts = ['a', 'b'].map((id) => start(id).catch((error: unknown) => error))
  await began.promise
  await harness.fleet.lifecycle.stop('a', 'not needed')
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  began = Promise.withResolvers<void>()
  await harness.fleet.lifecycle.stop('b', 'not needed')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  expect(await Promise.all(starts)).toMatchObject([
    { code: 'agent-unavailable' },
    { code: 'agent-unavailable' },
  ])
  installing.resolve()
  expect(packages.built).toEqual([])
})

test('a failure that may pass is tried again, and then delays the starts with this list', async () => {
  const { packages, runtime, start } = await aPackedFleet({ a: { apt: ['hello'] } })
  let tries = 0
  packages.beforeInstall = async () => {
    tries += 1
    throw new SandboxError('registries-unreachable', 'The registry does not answer.\nRepair: wait.')
  }
  const first = start('a').catch((error: unknown) => error)
  const { clock } = harness
  for (const tried of [1, 2]) {
    await expect.poll(() => [tries, clock.sleepers()]).toEqual([tried, 1])
    await clock.advance(20_000)
  }
  expect(await first).toMatchObject({ code: 'packages-delayed', detail: 'The registry does not answer.' })
  expect(tries).toBe(3)
  await expect(start('a')).rejects.toMatchObject({ code: 'packages-delayed' })
  expect(tries).toBe(3)
  packages.beforeInstall = async () => {}
  await harness.clock.advance(10 * 60_000)
  await start('a')
  expect(runtime.started).toHaveLength(1)
})

test('a rebuild that fails because a registry does not answer delays no start with the stored lock', async () => {
  const { packages, start, images } = await aPackedFleet({ a: { apt: ['hello'] }, b: { apt: ['hello'] } })
  await start('a')
  packages.registry.set('hello', '2')
  let tries = 0
  packages.beforeInstall = async () => {
    tries += 1
    throw new SandboxError('registries-unreachable', 'The registry does not answer.\nRepair: wait.')
  }
  harness.fleet.packages.beginRebuild('a')
  const { clock } = harness
  for (const tried of [1, 2]) {
    await expect.poll(() => [tries, clock.sleepers()]).toEqual([tried, 1])
    await clock.advance(20_000)
  }
  await buildEnded('a')
  const key = harness.fleet.packages.keyOf('a')
  expect(harness.fleet.packages.stateOf(key)).toEqual({
    state: 'failed',
    detail: 'The registry does not answer.',
  })
  await start('b')
  expect(images()).toHaveLength(2)
  expect(new Set(images()).size).toBe(1)
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

test('an image that another home built gets a bill of materials, too', async () => {
  const { packages, start } = await aPackedFleet({ a: { apt: ['hello'] } })
  const progress = (): void => {}
  const { lock } = await packages.ensure({ apt: ['hello'], npm: [], pip: [] }, { lock: null, progress })
  const key = harness.fleet.packages.keyOf('a')
  await writeFile(harness.fleet.packages.lockFileOf(key), JSON.stringify(lock))
  await start('a')
  expect(packages.built).toHaveLength(1)
  expect(await readFile(join(harness.deps.locksFolder, `${key}.sbom.json`), 'utf8')).toContain('hello')
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

test('an agent starts from the image of its owner, and again when the owner names another', async () => {
  const digest = (one: string) => `tools@sha256:${one.repeat(64)}`
  let image: string | undefined = digest('a')
  const made: string[] = []
  const runtime = Object.assign(createManualRuntime(), {
    isolates: true,
    ownImages: {
      ensure: async (reference: string) => {
        made.push(reference)
        return `sha256:${reference.slice(-4)}`
      },
    },
  })
  harness = await aFleet({ runtime, imageSetting: () => image })
  await harness.fleet.admin.create(owner, { id: 'a', role: 'does work' })
  const start = () => harness.fleet.connection.ensureRunning('a', patient)
  await start()
  await start()
  image = digest('b')
  await start()
  image = undefined
  await start()
  expect(runtime.started.map((spec) => spec.image)).toEqual(['sha256:aaaa', 'sha256:bbbb', null])
  expect(made).toEqual([digest('a'), digest('b')])
})

test('an image that cannot be used ends the start with its reason, and packages beside it as well', async () => {
  const lists: Record<string, PackageList> = {}
  const runtime = Object.assign(createManualRuntime(), {
    isolates: true,
    packages: createFakePackageImages(),
    ownImages: {
      ensure: async () => {
        throw new SandboxError('own-image-refused', 'The image x has no shell.\nRepair: name another.')
      },
    },
  })
  harness = await aFleet({ runtime, imageSetting: () => `x@sha256:${'a'.repeat(64)}` })
  harness.deps.fleetEvents.packageLists.subscribe((agentId) => [lists[agentId] ?? {}])
  await harness.fleet.admin.create(owner, { id: 'a', role: 'does work' })
  const start = () => harness.fleet.connection.ensureRunning('a', patient)
  await expect(start()).rejects.toMatchObject({
    code: 'packages-unavailable',
    detail: expect.stringContaining('has no shell'),
    repair: 'name another.',
  })
  lists['a'] = { apt: ['jq'] }
  await expect(start()).rejects.toMatchObject({
    code: 'packages-unavailable',
    detail: expect.stringContaining('has packages and an image of the owner'),
  })
  expect(runtime.started).toEqual([])
})

test('people see the step of the image that an agent waits for, until a stop ends the wait', async () => {
  const { packages, start } = await aPackedFleet({ a: { apt: ['hello'] } })
  const begun = Promise.withResolvers<void>()
  packages.beforeInstall = (signal) => {
    begun.resolve()
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const started = start('a')
  started.catch(() => undefined)
  await begun.promise
  expect(waitOf(harness.fleet, 'a')).toBe('Installing the downloaded packages without a network')
  expect(waitOf(harness.fleet, 'b')).toBe(null)
  await harness.fleet.lifecycle.stop('a', 'the owner stops it')
  await expect(started).rejects.toMatchObject({ code: 'agent-unavailable' })
  expect(waitOf(harness.fleet, 'a')).toBe(null)
})

test('an agent waits for its own image of the owner, and not for the image of another agent', async () => {
  const images: Record<string, string> = { a: 'one', b: 'two' }
  const begun = Promise.withResolvers<void>()
  const ensure = async (
    reference: string,
    { progress, signal }: { progress: (step: string) => void; signal?: AbortSignal },
  ) => {
    progress(`Waiting for the image ${reference}`)
    begun.resolve()
    return new Promise<string>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const runtime = Object.assign(createManualRuntime(), { ownImages: { ensure }, isolates: true })
  harness = await aFleet({ runtime, imageSetting: (agentId) => images[agentId] })
  for (const id of ['a', 'b']) await harness.fleet.admin.create(owner, { id, role: 'does work' })
  const started = harness.fleet.connection.ensureRunning('a', patient)
  started.catch(() => undefined)
  await begun.promise
  expect([waitOf(harness.fleet, 'a'), waitOf(harness.fleet, 'b')]).toEqual([
    'Waiting for the image one',
    null,
  ])
  await harness.fleet.lifecycle.stop('a', 'the owner stops it')
  await expect(started).rejects.toMatchObject({ code: 'agent-unavailable' })
})

test('a delayed image says what the owner can do, also while it cools down', async () => {
  const ensure = async () => {
    throw new SandboxError(
      'own-image-missing',
      'The registry requires a login.\nRepair: Pull the image first.',
    )
  }
  const runtime = Object.assign(createManualRuntime(), { ownImages: { ensure }, isolates: true })
  harness = await aFleet({ runtime, imageSetting: () => 'one' })
  await harness.fleet.admin.create(owner, { id: 'a', role: 'does work' })
  for (const _ of ['made', 'cooling down'])
    await expect(harness.fleet.connection.ensureRunning('a', patient)).rejects.toMatchObject({
      code: 'packages-delayed',
      detail: 'The registry requires a login.',
      repair: 'Pull the image first.',
    })
  expect(waitOf(harness.fleet, 'a')).toBe('The registry requires a login.')
})
