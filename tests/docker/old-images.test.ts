import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { ensureAgentImage } from '../../packages/fleet/src/sandbox/image/agent-image.ts'
import { followEngine } from '../../packages/fleet/src/sandbox/image/engine-images.ts'
import { noteUse } from '../../packages/fleet/src/sandbox/image/image-uses.ts'
import { imageId, knownImages, noteImage } from '../../packages/fleet/src/sandbox/image/known-images.ts'
import { agentImageName, pruneImages } from '../../packages/fleet/src/sandbox/image/prune-images.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { writeSubject } from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import { tarArchive, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { imageCaches } from './image-caches.ts'
import { engineOfThisMachine, openDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const root = fileURLToPath(new URL('../..', import.meta.url))
const dayMs = 24 * 3_600_000

withEngine(
  'agent images that are needed no longer',
  (engine) => {
    let directory: string
    const mark = randomBytes(6).toString('hex')
    const planted: string[] = []
    const containers: string[] = []

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'flotilla-old-images-'))
    })
    afterAll(async () => {
      for (const id of containers)
        await engine.docker
          .getContainer(id)
          .remove({ force: true })
          .catch(() => {})
      for (const id of planted)
        await engine.docker
          .getImage(id)
          .remove({ force: true })
          .catch(() => {})
      await rm(directory, { recursive: true, force: true })
    })

    /** Creates a tiny image with a name like that of an agent image. */
    async function plant(word: string): Promise<{ reference: string; id: string }> {
      const reference = `${agentImageName}${mark}-${word}`
      const file = tarFile('word', Buffer.from(`${mark} ${word}`), { uid: 0, mode: 0o644 })
      const tar = await buffer(Readable.from(tarArchive([file])))
      await followEngine(engine, await engine.docker.importImage(Readable.from([tar]), { repo: reference }))
      const id = (await imageId(engine, reference)) ?? ''
      planted.push(id)
      return { reference, id }
    }
    async function made(word: string): Promise<string> {
      const image = await plant(word)
      await noteImage(directory, { ...image, digest: null })
      return image.id
    }
    async function aHome(id: string): Promise<{ id: string; folder: string }> {
      const folder = join(directory, id)
      await mkdir(folder)
      return { id, folder }
    }
    const isHeld = async (id: string) => (await imageId(engine, id)) !== null

    it('old images are deleted, except the last two of each home, those used by a container, and those of other homes', async () => {
      const [own, other] = [await aHome('own'), await aHome('other')]
      const [oldest, standing, shared, before, now] = await Promise.all(
        ['oldest', 'standing', 'shared', 'before', 'now'].map(made),
      )
      if (!oldest || !standing || !shared || !before || !now) throw new Error('five images were made')
      const stranger = await plant('stranger')
      const named = await made('named')
      await engine.docker.getImage(named).tag({ repo: `someone/${mark}`, tag: 'kept' })
      const container = await engine.docker.createContainer({ Image: standing, Cmd: ['/word'] })
      containers.push(container.id)
      for (const image of [oldest, standing, before, now]) await noteUse(directory, own, image)
      await noteUse(directory, other, shared)

      expect(await pruneImages(engine, directory, Date.now())).toEqual([oldest])
      expect(await isHeld(oldest)).toBe(false)
      for (const id of [standing, shared, before, now, stranger.id, named])
        expect(await isHeld(id)).toBe(true)
      expect((await knownImages(directory)).map(({ id }) => id)).not.toContain(oldest)

      // A deleted home needs no image, and no container uses one.
      await rm(other.folder, { recursive: true })
      await container.remove({ force: true })
      expect([...(await pruneImages(engine, directory, Date.now()))].toSorted()).toEqual(
        [standing, shared].toSorted(),
      )
    })

    it('images without a record, such as of a home of an earlier release, are kept for fourteen days', async () => {
      const unnoted = await made('unnoted')
      expect(await pruneImages(engine, directory, Date.now())).not.toContain(unnoted)
      expect(await isHeld(unnoted)).toBe(true)
      expect(await pruneImages(engine, directory, Date.now() + 14 * dayMs)).toContain(unnoted)
    })

    it('unused agent images are not taken away from a mesh that looks for one while another cleans up', async () => {
      const cacheDirectory = await mkdtemp(join(tmpdir(), 'flotilla-old-race-'))
      onTestFinished(() => rm(cacheDirectory, { recursive: true, force: true }))
      const home = await aHome('racing')
      const options = {
        engine,
        recipeDirectory: join(root, 'images', 'agent'),
        packageDirectory: root,
        bundle: [{ name: 'agent.cjs', path: await writeSubject(directory) }],
        noInstall: true,
        homeId: home.id,
        volumesFolder: join(home.folder, 'volumes'),
        uid: process.getuid?.() ?? 0,
        clock: systemClock,
        progress: () => {},
      }
      const { reference } = await ensureAgentImage({ ...options, cacheDirectory: imageCaches })
      // A tiny image in a separate cache takes the role of an image that a deleted home recorded.
      const { id } = await plant('looked-for')
      await noteImage(cacheDirectory, { reference, id, digest: null })
      await noteUse(cacheDirectory, { id: 'gone', folder: join(directory, 'gone') }, id)
      const cleaned: string[] = []
      const docker = Object.create(engine.docker, {
        getImage: {
          value: (name: string) => ({
            inspect: async () => {
              cleaned.push(...(await pruneImages(engine, cacheDirectory, Date.now())))
              return engine.docker.getImage(name).inspect()
            },
          }),
        },
      }) as typeof engine.docker
      expect(await ensureAgentImage({ ...options, cacheDirectory, engine: { ...engine, docker } })).toEqual({
        reference,
        id,
        built: false,
      })
      expect(cleaned).toEqual([])
    })

    it('an image that was deleted while the mesh runs is rebuilt for the next start', async () => {
      const entry = join(directory, 'own-subject.cjs')
      await writeFile(entry, `${await readFile(await writeSubject(directory), 'utf8')}\n// ${mark}\n`)
      const home = await openDockerHome(engine, { agentEntry: entry })
      onTestFinished(() => home.close())
      await home.start({ agentId: 'before' })
      const container = engine.docker.getContainer(sandboxName(home.homeId, 'before'))
      const { Image } = await container.inspect()
      planted.push(Image)
      await home.runtime.remove('before', { data: false })
      await engine.docker.getImage(Image).remove({ force: true })
      expect(await isHeld(Image)).toBe(false)

      const states = await Promise.all([home.start({ agentId: 'one' }), home.start({ agentId: 'two' })])
      expect(states.map(({ running }) => running)).toEqual([true, true])
      const used = await engine.docker.getContainer(sandboxName(home.homeId, 'one')).inspect()
      planted.push(used.Image)
    })
  },
  found,
)
