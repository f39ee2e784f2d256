import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  labelKeys,
  volumeLabels,
  volumeName,
} from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { lostHomes } from '../../packages/fleet/src/sandbox/docker/lost-homes.ts'
import { unusedInEngine } from '../../packages/fleet/src/sandbox/docker/unused-in-engine.ts'
import { followEngine } from '../../packages/fleet/src/sandbox/image/engine-images.ts'
import { noteUse } from '../../packages/fleet/src/sandbox/image/image-uses.ts'
import { imageId } from '../../packages/fleet/src/sandbox/image/known-images.ts'
import { networkNames } from '../../packages/fleet/src/sandbox/network/private-network.ts'
import { homeTag } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { tarArchive, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const twoHoursMs = 7_200_000

withEngine(
  'what nobody uses of a home',
  (engine) => {
    const { docker } = engine
    const [own, other] = [randomBytes(8).toString('hex'), randomBytes(8).toString('hex')]
    let cacheDirectory: string
    let image: string
    const volumes: string[] = []
    const containers: string[] = []

    beforeAll(async () => {
      cacheDirectory = await mkdtemp(join(tmpdir(), 'flotilla-unused-'))
      const word = tarFile('word', Buffer.from(own), { uid: 0, mode: 0o755 })
      const tar = await buffer(Readable.from(tarArchive([word])))
      const repo = `localhost/flotilla-test/unused:${own}`
      await followEngine(engine, await docker.importImage(Readable.from([tar]), { repo }))
      image = (await imageId(engine, repo)) ?? ''
    })
    afterAll(async () => {
      for (const id of containers)
        await docker
          .getContainer(id)
          .remove({ force: true })
          .catch(() => undefined)
      for (const name of volumes)
        await docker
          .getVolume(name)
          .remove({ force: true })
          .catch(() => undefined)
      await docker
        .getImage(image)
        .remove({ force: true })
        .catch(() => undefined)
      await rm(cacheDirectory, { recursive: true, force: true })
    })

    async function volume(home: string, agentId: string): Promise<string> {
      const name = volumeName(home, agentId)
      await docker.createVolume({ Name: name, Labels: volumeLabels(home, agentId) })
      volumes.push(name)
      return name
    }
    async function container(home: string, role: string, agentId?: string): Promise<string> {
      const labels = {
        [labelKeys.home]: homeTag(home),
        [labelKeys.role]: role,
        ...(agentId === undefined ? {} : { [labelKeys.agent]: agentId }),
      }
      const Mounts =
        agentId === undefined
          ? []
          : [{ Type: 'volume' as const, Source: volumeName(home, agentId), Target: '/data' }]
      const made = await docker.createContainer({
        Image: image,
        Cmd: ['/word'],
        Labels: labels,
        HostConfig: { Mounts },
      })
      containers.push(made.id)
      return made.id
    }
    const names = async (now: number) => {
      const hints = {
        uid: process.getuid?.() ?? 0,
        engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
        dockerHost: process.env['DOCKER_HOST'],
      }
      const isAgent = (agentId: string) => agentId === 'living'
      const things = await unusedInEngine({ hints, homeId: own, isAgent, cacheDirectory, now })
      if (things === null) throw new Error('an engine answers')
      return things
    }

    it('the list of unused objects is what deleted agents left, and none of a living agent or of another home', async () => {
      const [gone, held] = [await volume(own, 'gone'), await volume(own, 'held')]
      const stays = [await volume(own, 'living'), await volume(other, 'gone')]
      const orphan = await container(own, 'agent', 'held')
      const probe = await container(own, 'probe')
      const kept = [await container(own, 'agent', 'living'), await container(other, 'agent', 'gone')]

      // A container of a probe that is only a minute old counts as in use.
      const now = await names(Date.now())
      expect(now.map(({ name }) => name).toSorted()).toEqual([gone, held, orphan.slice(0, 12)].toSorted())
      const later = await names(Date.now() + twoHoursMs)
      expect(later.map(({ name }) => name)).toContain(probe.slice(0, 12))

      // A volume cannot be removed while a container uses it; after the container was removed, it can.
      expect(await later.find(({ name }) => name === held)?.remove()).toBe(false)
      for (const thing of later) if (thing.name !== held) expect(await thing.remove(), thing.name).toBe(true)
      expect(await later.find(({ name }) => name === held)?.remove()).toBe(true)
      expect(await names(Date.now() + twoHoursMs)).toEqual([])
      for (const name of stays) await docker.getVolume(name).inspect()
      for (const id of kept) await docker.getContainer(id).inspect()
    })

    it('leftovers of a deleted home are named with their path and removed completely, and nothing of an existing home', async () => {
      const [gone, moved, there] = [randomBytes(8), randomBytes(8), randomBytes(8)].map((id) =>
        id.toString('hex'),
      ) as [string, string, string]
      const folders = new Map([gone, moved, there].map((id) => [id, join(cacheDirectory, `home-${id}`)]))
      for (const [id, folder] of folders) await noteUse(cacheDirectory, { id, folder }, 'sha256:0')
      // By now the folder of the second home contains another home.
      for (const id of [moved, there]) {
        await mkdir(folders.get(id) ?? '', { recursive: true })
        await writeFile(join(folders.get(id) ?? '', 'home-id'), `${id === moved ? own : id}\n`)
      }
      const stays = [await volume(there, 'a'), await volume(own, 'a')]
      for (const id of [gone, moved]) {
        await volume(id, 'a')
        await container(id, 'agent', 'a')
        await docker.createNetwork({
          Name: networkNames(homeTag(id)).name,
          Internal: true,
          IPAM: {
            Driver: 'default',
            Config: [{ Subnet: id === gone ? '10.127.248.0/29' : '10.127.248.8/29' }],
          },
          Labels: { [labelKeys.home]: homeTag(id), [labelKeys.role]: 'network' },
        })
      }
      const look = async () => {
        const hints = {
          uid: process.getuid?.() ?? 0,
          engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
          dockerHost: process.env['DOCKER_HOST'],
        }
        const found = (await lostHomes({ hints, homeId: own, cacheDirectory })) ?? []
        return new Map(found.map((home) => [home.tag, home]))
      }
      const found = await look()
      for (const id of [gone, moved])
        expect(found.get(homeTag(id))).toMatchObject({
          place: folders.get(id),
          networks: 1,
          containers: 1,
          running: 0,
          volumes: 1,
        })
      for (const id of [own, there]) expect(found.has(homeTag(id))).toBe(false)
      await found.get(homeTag(gone))?.erase()
      const left = await look()
      expect(left.has(homeTag(gone))).toBe(false)
      expect(left.get(homeTag(moved))).toMatchObject({ networks: 1, containers: 1, volumes: 1 })
      await left.get(homeTag(moved))?.erase()
      expect((await look()).has(homeTag(moved))).toBe(false)
      for (const name of stays) await docker.getVolume(name).inspect()
    })
  },
  found,
)
