import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { unlessStatus } from '../../packages/fleet/src/sandbox/docker/unless-status.ts'
import { followEngine } from '../../packages/fleet/src/sandbox/image/engine-images.ts'
import { tarArchive, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'
import { startImageRegistry } from '../support/image-registry.ts'
import type { ImageRegistry } from '../support/image-registry.ts'
import { baseImageOf, engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const owner = { uid: 0, mode: 0o755 }
const login = { username: 'owner', password: 'a-password-of-the-owner' }

withEngine(
  'images of the owner in a registry',
  (engine) => {
    const home = useDockerHome(engine)
    const { docker } = engine
    /** All files of the base image and one more, as one layer. */
    let layer: Uint8Array = new Uint8Array()
    const small = new Map<string, Uint8Array>()
    let open: ImageRegistry
    let closed: ImageRegistry
    const pulled: string[] = []
    beforeAll(async () => {
      for (const text of ['one', 'two', 'three'])
        small.set(text, await buffer(Readable.from(tarArchive([tarFile('own', Buffer.from(text), owner)]))))
      layer = await filesOfBase()
      const tarOf = (text: string) => small.get(text) ?? layer
      open = await startImageRegistry(tarOf)
      closed = await startImageRegistry(tarOf, login)
    })
    afterAll(async () => {
      for (const name of pulled)
        await docker
          .getImage(name)
          .remove({ force: true })
          .catch(unlessStatus([404]))
      await open?.close()
      await closed?.close()
    })

    async function filesOfBase(): Promise<Uint8Array> {
      const Image = await baseImageOf(engine)
      const name = `flotilla-test-${randomBytes(6).toString('hex')}`
      const container = await docker.createContainer({ Image, Cmd: ['/never-started'], name })
      try {
        return await buffer(Readable.from(await container.export()))
      } finally {
        await container.remove({ force: true })
      }
    }
    const referenceOf = ({ name }: ImageRegistry, digest: string): string => {
      const reference = `${name.slice(0, name.lastIndexOf(':'))}@${digest}`
      pulled.push(reference)
      return reference
    }
    const ensure = (reference: string) => home().runtime.ownImages!.ensure(reference, { progress: () => {} })

    it('an image that the engine lacks is pulled by its digest', { timeout: 300_000 }, async () => {
      const digest = open.publish('all files')
      const reference = referenceOf(open, digest)
      const image = await ensure(reference)
      expect(open.asked).toContain(digest)
      const state = await home().start({ agentId: 'pulled', image })
      expect((await home().run(state, 'id -un; . /etc/os-release; echo $ID')).text.trim()).toBe(
        'agent\ndebian',
      )
    })

    it('a digest that the registry does not have, or answers with another image, is refused', async () => {
      const unknown = referenceOf(open, `sha256:${'0'.repeat(64)}`)
      await expect(ensure(unknown)).rejects.toThrow(
        /the registry has no image with that name .*\nRepair: compare the digest/s,
      )
      const asked = open.publish('one')
      open.lieAbout(asked, open.publish('two'))
      await expect(ensure(referenceOf(open, asked))).rejects.toThrow(
        /the engine said: .*verification failed.*\nRepair: compare the digest/s,
      )
    })

    it('a registry that requires a login is named, and the image is used once the owner has pulled it', async () => {
      const reference = referenceOf(closed, closed.publish('three'))
      await expect(ensure(reference)).rejects.toThrow(
        /requires a login .*\nRepair: .*use docker login and docker pull/s,
      )
      await followEngine(engine, await docker.pull(reference, { authconfig: login }))
      // It is found now, and has nothing that an agent could run.
      await expect(ensure(reference)).rejects.toMatchObject({ id: 'own-image-refused' })
    })

    it('a registry that does not answer is named, with what the owner can do', async () => {
      const away = await startImageRegistry((text) => small.get(text) ?? layer)
      const reference = referenceOf(away, away.publish('one'))
      await away.close()
      await expect(ensure(reference)).rejects.toThrow(
        /the engine cannot reach the registry of the image .*\nRepair: /s,
      )
    })
  },
  found,
)
