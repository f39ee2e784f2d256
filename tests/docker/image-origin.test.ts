import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ensureAgentImage } from '../../packages/fleet/src/sandbox/image/agent-image.ts'
import { ensureBaseImage } from '../../packages/fleet/src/sandbox/image/base-image.ts'
import { followEngine } from '../../packages/fleet/src/sandbox/image/engine-images.ts'
import { imageId } from '../../packages/fleet/src/sandbox/image/known-images.ts'
import { writeSubject } from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import { tarArchive, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'
import { startImageRegistry } from '../support/image-registry.ts'
import type { ImageRegistry } from '../support/image-registry.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { imageCaches } from './image-caches.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const root = fileURLToPath(new URL('../..', import.meta.url))
const tarOf = async (text: string) =>
  buffer(Readable.from(tarArchive([tarFile('word', Buffer.from(text), { uid: 0, mode: 0o644 })])))

withEngine(
  'what agents stand on',
  (engine) => {
    let directory: string
    let registry: ImageRegistry
    let tars: ReadonlyMap<string, Uint8Array>
    const planted: string[] = []

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'flotilla-base-'))
      const words = ['first', 'second', 'third']
      tars = new Map(await Promise.all(words.map(async (word) => [word, await tarOf(word)] as const)))
      registry = await startImageRegistry((word) => tars.get(word) ?? new Uint8Array())
    })
    afterAll(async () => {
      for (const reference of planted)
        await engine.docker
          .getImage(reference)
          .remove({ force: true })
          .catch(() => {})
      await registry.close()
      await rm(directory, { recursive: true, force: true })
    })

    /** Gives this name to an image without Flotilla's content, as any user who may load images can. */
    async function plant(reference: string): Promise<string> {
      const tar = await tarOf(`planted ${reference}`)
      await followEngine(engine, await engine.docker.importImage(Readable.from([tar]), { repo: reference }))
      planted.push(reference)
      return (await imageId(engine, reference)) ?? ''
    }
    const steps: string[] = []
    const base = (cache: string) =>
      ensureBaseImage({
        engine,
        packages: ['never-made-here'],
        cacheDirectory: join(directory, cache),
        registryBase: registry.name,
        noInstall: true,
        uid: 1000,
        progress: (step) => steps.push(step),
      })

    it('a local image that merely has the name of the base is not taken, and what the registry gave first is kept by its digest', async () => {
      const digest = registry.publish('first')
      const stranger = await plant(registry.name)
      const first = await base('a')
      planted.push(first)
      expect(first).not.toBe(stranger)
      expect(steps.at(-1)).toContain(`${digest} from now on`)

      // The name is given to another image, here and in the registry.
      expect(await plant(registry.name)).not.toBe(first)
      registry.publish('second')
      expect(await base('a')).toBe(first)

      // A base image that was removed from the engine is fetched by its digest, and not by the present meaning of
      // its name.
      await engine.docker.getImage(first).remove({ force: true })
      registry.asked.length = 0
      expect(await base('a')).toBe(first)
      // The engine may still have the layers, but in no case does it request the name.
      expect(registry.asked).not.toContain('stable')
      expect(steps.at(-1)).toBe(`Fetching ${registry.name.replace(':stable', '')}@${digest}`)

      // A mesh that never fetched the image gets what the name refers to now.
      const fresh = await base('b')
      planted.push(fresh)
      expect(fresh).not.toBe(first)
    })

    it('an image that has the very name of the agent’s is not run, and an own one that lost its name still is', async () => {
      const bundlePath = await writeSubject(directory)
      const ensure = () =>
        ensureAgentImage({
          engine,
          recipeDirectory: join(root, 'images', 'agent'),
          packageDirectory: root,
          bundle: [{ name: 'agent.cjs', path: bundlePath }],
          cacheDirectory: imageCaches,
          noInstall: true,
          homeId: 'home_of_origin_test',
          volumesFolder: join(directory, 'volumes'),
          uid: process.getuid?.() ?? 0,
          clock: systemClock,
          progress: (step) => steps.push(step),
        })
      const own = await ensure()
      const stranger = await plant(own.reference)
      expect(await imageId(engine, own.reference)).toBe(stranger)
      expect(await ensure()).toEqual({ ...own, built: false })
      await engine.docker.getImage(own.reference).remove()
      await engine.docker
        .getImage(own.id)
        .remove({ force: true })
        .catch(() => {})

      const later = await plant(own.reference)
      const again = await ensure()
      planted.pop()
      expect(again.id).not.toBe(later)
      expect((await engine.docker.getImage(again.id).inspect()).Config.Labels).toMatchObject({
        'flotilla.image': 'agent',
      })
    })
  },
  found,
)
