import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { followEngine } from '../../packages/mesh/src/sandbox/image/engine-images.ts'
import { noteUse } from '../../packages/mesh/src/sandbox/image/image-uses.ts'
import { imageId, knownImages, noteImage } from '../../packages/mesh/src/sandbox/image/known-images.ts'
import { agentImageName, pruneAgentImages } from '../../packages/mesh/src/sandbox/image/prune-images.ts'
import { tarArchive, tarFile } from '../../packages/mesh/src/sandbox/tar-archive.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

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

    /** A tiny image that bears such a name as an agent's. */
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

    it('go, but for the last two of each home, those a container stands on, and those of others', async () => {
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

      expect(await pruneAgentImages(engine, directory)).toEqual([oldest])
      expect(await isHeld(oldest)).toBe(false)
      for (const id of [standing, shared, before, now, stranger.id, named])
        expect(await isHeld(id)).toBe(true)
      expect((await knownImages(directory)).map(({ id }) => id)).not.toContain(oldest)

      // A home that is gone needs none, and a container that is gone stands on none.
      await rm(other.folder, { recursive: true })
      await container.remove({ force: true })
      expect([...(await pruneAgentImages(engine, directory))].toSorted()).toEqual(
        [standing, shared].toSorted(),
      )
    })
  },
  found,
)
